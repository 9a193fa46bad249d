package search

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"slices"
	"time"
)

// WriteSnapshot writes the index for ReadSnapshot, with a time that the caller chooses. Changes
// wait until it returns, searches do not. It fails with the error of w, and if Metadata has values
// that Parse does not return.
func (ix *Index) WriteSnapshot(w io.Writer, when time.Time) error {
	ix.writing.Lock()
	defer ix.writing.Unlock()
	if ix.live < len(ix.chunks) {
		ix.mu.Lock()
		ix.dropDeleted()
		ix.mu.Unlock()
	}
	sw := &snapshotWriter{w: w, ix: ix, places: make(map[*entry]uint32, len(ix.docs))}
	sw.contents.ChunkSize, sw.contents.Language = uint64(ix.chunkSize), uint64(ix.language)
	sw.write([]byte(snapshotMagic))
	for _, part := range []func(){sw.documents, sw.order, sw.terms, sw.tallies, sw.postings, sw.counts} {
		if sw.err == nil {
			part()
		}
	}
	sw.finish(when)
	if sw.err != nil {
		return fmt.Errorf("write a snapshot of the index: %w", sw.err)
	}
	return nil
}

// snapshotWriter writes one kind of parts after the other. After an error it writes nothing more.
type snapshotWriter struct {
	w        io.Writer
	ix       *Index
	places   map[*entry]uint32 // of the documents, for the order
	err      error
	offset   uint64
	contents contents
	buf      []byte // the current part
	count    uint64 // items in it
	total    uint64 // items of its kind before it
	chunks   uint64 // of the documents so far
	before   uint64 // chunks of the documents before the current part
}

func (sw *snapshotWriter) write(data []byte) {
	if sw.err == nil {
		_, sw.err = sw.w.Write(data)
		sw.offset += uint64(len(data))
	}
}

// item ends one item of a part, and the part if it is large enough.
func (sw *snapshotWriter) item(kind partKind) {
	sw.count++
	if len(sw.buf) >= partSize {
		sw.endPart(kind)
	}
}

func (sw *snapshotWriter) endPart(kind partKind) {
	if sw.count == 0 {
		return
	}
	sw.contents.parts = append(sw.contents.parts, part{
		Kind: kind, CRC: crc32.Checksum(sw.buf, castagnoli()),
		Offset: sw.offset, Length: uint64(len(sw.buf)),
		First: sw.total, Count: sw.count, Chunks: sw.before,
	})
	sw.write(sw.buf)
	sw.total += sw.count
	sw.before = sw.chunks
	sw.count, sw.buf = 0, sw.buf[:0]
}

// endKind ends the last part of a kind and returns the number of its items.
func (sw *snapshotWriter) endKind(kind partKind) uint64 {
	sw.endPart(kind)
	n := sw.total
	sw.total = 0
	return n
}

// documents writes each document at its first chunk.
func (sw *snapshotWriter) documents() {
	ix := sw.ix
	write := func(doc *entry) {
		sw.places[doc] = uint32(len(sw.places))
		var err error
		if sw.buf, err = ix.appendDocument(sw.buf, doc); err != nil && sw.err == nil {
			sw.err = err
		}
		sw.chunks += uint64(doc.count)
		sw.item(documentsPart)
	}
	for n := range ix.chunks {
		if ix.chunks[n].ordinal == 0 && sw.err == nil {
			write(ix.chunks[n].doc)
		}
	}
	for _, doc := range ix.docs {
		if doc.count == 0 {
			write(doc)
		}
	}
	sw.contents.Documents = sw.endKind(documentsPart)
	sw.contents.Chunks = uint64(len(ix.chunks))
}

func (sw *snapshotWriter) order() {
	for _, block := range sw.ix.order.blocks {
		for _, doc := range block {
			sw.buf = binary.LittleEndian.AppendUint32(sw.buf, sw.places[doc])
			sw.item(orderPart)
		}
	}
	sw.endKind(orderPart)
}

func (sw *snapshotWriter) terms() {
	for t, name := range sw.ix.names {
		sw.buf = appendString(sw.buf, name)
		sw.buf = binary.AppendUvarint(sw.buf, uint64(len(sw.ix.postings[t].chunks)))
		sw.item(termsPart)
	}
	sw.contents.Terms = sw.endKind(termsPart)
}

func (sw *snapshotWriter) tallies() {
	for _, t := range sw.ix.tallies.list[uncounted+1:] {
		sw.buf = append(sw.buf, t[:]...)
		sw.item(talliesPart)
	}
	sw.contents.Tallies = sw.endKind(talliesPart)
}

func (sw *snapshotWriter) postings() {
	for _, p := range sw.ix.postings {
		for _, n := range p.chunks {
			sw.buf = binary.LittleEndian.AppendUint32(sw.buf, n)
			sw.item(postingsPart)
		}
	}
	sw.contents.Postings = sw.endKind(postingsPart)
}

func (sw *snapshotWriter) counts() {
	for _, p := range sw.ix.postings {
		for _, n := range p.tallies {
			sw.buf = append(sw.buf, n)
			sw.item(countsPart)
		}
	}
	sw.endKind(countsPart)
}

func (sw *snapshotWriter) finish(when time.Time) {
	sw.contents.When = when.UnixNano()
	buf, err := binary.Append(nil, binary.LittleEndian, sw.contents.header)
	if err == nil {
		buf, err = binary.Append(buf, binary.LittleEndian, sw.contents.parts)
	}
	end := trailer{Offset: sw.offset, Length: uint32(len(buf)), CRC: crc32.Checksum(buf, castagnoli()), Version: snapshotVersion}
	copy(end.Magic[:], snapshotMagic)
	if err == nil {
		buf, err = binary.Append(buf, binary.LittleEndian, end)
	}
	sw.err = cmp.Or(sw.err, err)
	sw.write(buf)
}

// Flags of a document.
const (
	generatedFlag = 1 << iota
	badDateFlag
)

// appendDocument encodes a document and its chunks: path, title, source, text; flags and language,
// a byte each; date; tags; metadata; the number of its chunks, and for each the offset and length
// of its text, its headings, the number of its terms by field, and its sequence.
func (ix *Index) appendDocument(buf []byte, doc *entry) ([]byte, error) {
	for _, s := range []string{doc.Path, doc.Title, doc.Source, doc.Text} {
		buf = appendString(buf, s)
	}
	flags := byte(0)
	if doc.Generated {
		flags |= generatedFlag
	}
	if doc.BadDate {
		flags |= badDateFlag
	}
	buf = append(buf, flags, byte(doc.Language))
	date, err := doc.Date.MarshalBinary()
	if err != nil {
		return buf, fmt.Errorf("%s: date: %w", doc.Path, err)
	}
	buf = appendString(buf, string(date))
	buf = binary.AppendUvarint(buf, uint64(len(doc.Tags)))
	for _, tag := range doc.Tags {
		buf = appendString(buf, tag)
	}
	if buf, err = appendMetadata(buf, doc.Metadata); err != nil {
		return buf, fmt.Errorf("%s: %w", doc.Path, err)
	}
	buf = binary.AppendUvarint(buf, uint64(doc.count))
	for _, ch := range ix.chunksOf(doc) {
		buf = binary.AppendUvarint(buf, uint64(ch.start))
		buf = binary.AppendUvarint(buf, uint64(len(ch.text)))
		buf = appendString(buf, ch.headings)
		for _, n := range ch.lengths {
			buf = binary.AppendUvarint(buf, uint64(n))
		}
		buf = binary.AppendUvarint(buf, uint64(ch.length))
		buf = appendString(buf, string(ch.sequence))
	}
	return buf, nil
}

func appendString(buf []byte, s string) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(s))), s...)
}

// Kinds of a metadata value.
const (
	stringValue = iota
	intValue
	nilValue
	floatValue
	boolValue
)

// appendMetadata encodes the number of keys, and for each key, ascending, its name, the kind of its
// value and the value.
func appendMetadata(buf []byte, metadata map[string]any) ([]byte, error) {
	buf = binary.AppendUvarint(buf, uint64(len(metadata)))
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		buf = appendString(buf, key)
		switch v := metadata[key].(type) {
		case string:
			buf = appendString(append(buf, stringValue), v)
		case int:
			buf = binary.AppendVarint(append(buf, intValue), int64(v))
		case nil:
			buf = append(buf, nilValue)
		case float64:
			buf = binary.LittleEndian.AppendUint64(append(buf, floatValue), math.Float64bits(v))
		case bool:
			n := byte(0)
			if v {
				n = 1
			}
			buf = append(buf, boolValue, n)
		default:
			return buf, fmt.Errorf("metadata %s is of type %T: use string, int, float64, bool or nil", key, v)
		}
	}
	return buf, nil
}
