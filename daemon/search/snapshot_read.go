package search

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"evalctl/daemon/search/document"
)

// ReadSnapshot restores the index that WriteSnapshot wrote into the size bytes of file, and returns
// the time that was written with it. The options must be the options of the written index. It uses
// all processors, and memory at most in proportion to size, whatever the bytes are. It returns an
// error if the file cannot be read, or if the snapshot is damaged, of another version, or made by a
// different analysis of texts. The index must then be built from its documents.
func ReadSnapshot(file io.ReaderAt, size int64, opts *Options) (*Index, time.Time, error) {
	r := &snapshotReader{file: file, ix: New(opts)}
	if err := r.read(uint64(max(size, 0))); err != nil {
		return nil, time.Time{}, fmt.Errorf("read a snapshot: %w", err)
	}
	return r.ix, time.Unix(0, r.contents.When), nil
}

func (r *snapshotReader) read(size uint64) error {
	if err := r.readContents(size); err != nil {
		return err
	}
	r.allocate()
	if err := r.readParts(); err != nil {
		return err
	}
	if err := r.assemble(); err != nil {
		return err
	}
	if !r.ix.analysisUnchanged() {
		return damaged("its texts were analysed differently")
	}
	return nil
}

// snapshotReader holds the decoded parts of a snapshot.
type snapshotReader struct {
	contents contents
	file     io.ReaderAt
	ix       *Index
	docs     []*entry
	order    []uint32
	lists    []uint32 // number of postings, by term
	tallies  []tally
	postings []uint32
	counts   []uint8
}

func damaged(what string) error { return fmt.Errorf("%w: %s", errSnapshot, what) }

// readContents reads and checks the contents. Afterwards the parts are known to be within the file
// and to divide the items between them.
func (r *snapshotReader) readContents(size uint64) error {
	if size < uint64(len(snapshotMagic)+trailerSize) {
		return damaged("too short")
	}
	var end trailer
	contentsEnd := size - uint64(trailerSize)
	if _, err := r.decode(contentsEnd, uint64(trailerSize), &end); err != nil {
		return err
	}
	length := uint64(end.Length)
	parts, rest := (int(length)-contentsSize)/partEntrySize, (int(length)-contentsSize)%partEntrySize
	switch {
	case string(end.Magic[:]) != snapshotMagic:
		return damaged("the end is missing")
	case end.Version != snapshotVersion:
		return damaged("another version")
	case length > contentsEnd || end.Offset != contentsEnd-length || int(length) < contentsSize || rest != 0:
		return damaged("wrong position of the contents")
	}
	c := &r.contents
	c.parts = make([]part, parts)
	data, err := r.decode(end.Offset, length, &c.header, c.parts)
	if err != nil {
		return err
	}
	if crc32.Checksum(data, castagnoli()) != end.CRC {
		return damaged("wrong checksum of the contents")
	}
	if c.ChunkSize != uint64(r.ix.chunkSize) {
		return damaged(fmt.Sprintf("its chunks have at most %d bytes, and chunks of this index %d", c.ChunkSize, r.ix.chunkSize))
	}
	if c.Language != uint64(r.ix.language) {
		return damaged("its language is not the language of this index")
	}
	return r.checkContents(end.Offset)
}

// decode reads length bytes from offset, and decodes values of fixed sizes from them.
func (r *snapshotReader) decode(offset, length uint64, values ...any) (data []byte, err error) {
	data = make([]byte, length)
	if _, err = r.file.ReadAt(data, int64(offset)); err != nil {
		return nil, err
	}
	rest := data
	for _, v := range values {
		n, err := binary.Decode(rest, binary.LittleEndian, v)
		if err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	return data, nil
}

// minSize is the minimum size of an item in a part of its kind, in bytes.
var minSize = [...]uint64{
	documentsPart: 9, orderPart: 4, termsPart: 2, talliesPart: fieldCount, postingsPart: 4, countsPart: 1,
}

// minStoredChunk is the minimum size of a chunk within its document, in bytes.
const minStoredChunk = 4 + fieldCount

func (r *snapshotReader) checkContents(end uint64) error {
	offset, items, documents := uint64(len(snapshotMagic)), [len(minSize)]uint64{}, uint64(0)
	var last part
	for _, p := range r.contents.parts {
		if p.Kind >= partKind(len(minSize)) || p.Kind < last.Kind || p.Offset != offset || p.Length > end-offset ||
			p.First != items[p.Kind] || p.Count > p.Length/minSize[p.Kind] {
			return damaged("the parts do not fit together")
		}
		offset += p.Length
		items[p.Kind] += p.Count
		if p.Kind == documentsPart {
			documents += p.Length
			if p.Chunks < last.Chunks || p.Chunks > r.contents.Chunks {
				return damaged("the parts do not fit together")
			}
		}
		last = p
	}
	c := r.contents
	want := [len(minSize)]uint64{c.Documents, c.Documents, c.Terms, c.Tallies, c.Postings, c.Postings}
	if offset != end || items != want || c.Chunks > documents/minStoredChunk ||
		c.Chunks >= deletedChunk || c.Terms >= noTerm || c.Tallies >= maxTallies {
		return damaged("the parts do not fit together")
	}
	return nil
}

func (r *snapshotReader) allocate() {
	r.docs, r.order = make([]*entry, r.contents.Documents), make([]uint32, r.contents.Documents)
	r.ix.chunks, r.ix.extents = make([]chunk, r.contents.Chunks), make([]extent, r.contents.Chunks)
	r.ix.traits = make([]traits, r.contents.Chunks)
	r.ix.vectors.Grow(int(r.contents.Chunks))
	r.ix.names, r.lists = make([]string, r.contents.Terms), make([]uint32, r.contents.Terms)
	r.tallies = make([]tally, r.contents.Tallies)
	r.postings, r.counts = make([]uint32, r.contents.Postings), make([]uint8, r.contents.Postings)
}

// readParts decodes the parts on all processors.
func (r *snapshotReader) readParts() error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range r.contents.parts {
		g.Go(func() error { return r.readPart(i) })
	}
	return g.Wait()
}

func (r *snapshotReader) readPart(i int) error {
	p := r.contents.parts[i]
	buf := make([]byte, p.Length)
	if _, err := r.file.ReadAt(buf, int64(p.Offset)); err != nil {
		return err
	}
	if crc32.Checksum(buf, castagnoli()) != p.CRC {
		return damaged(fmt.Sprintf("wrong checksum of part %d", i))
	}
	text := unsafe.String(unsafe.SliceData(buf), len(buf)) // buf does not change any more
	end, ok, err := p.First+p.Count, true, error(nil)
	switch p.Kind {
	case documentsPart:
		ok = r.readDocuments(text, r.docs[p.First:end], r.chunksOf(i), p.Chunks)
	case orderPart:
		_, err = binary.Decode(buf, binary.LittleEndian, r.order[p.First:end])
	case termsPart:
		d := decoder{text, true}
		for t := p.First; t < end; t++ {
			r.ix.names[t] = d.string()
			r.lists[t] = uint32(d.atMost(math.MaxUint32))
		}
		ok = d.ok && d.s == ""
	case talliesPart:
		_, err = binary.Decode(buf, binary.LittleEndian, r.tallies[p.First:end])
	case postingsPart:
		_, err = binary.Decode(buf, binary.LittleEndian, r.postings[p.First:end])
	case countsPart:
		copy(r.counts[p.First:end], buf)
	}
	if !ok || err != nil {
		return damaged(fmt.Sprintf("part %d cannot be decoded", i))
	}
	return nil
}

// chunksOf returns the chunks of part i of documents. They end where the chunks of the next part
// begin.
func (r *snapshotReader) chunksOf(i int) []chunk {
	from, to := r.contents.parts[i].Chunks, r.contents.Chunks
	if i+1 < len(r.contents.parts) && r.contents.parts[i+1].Kind == documentsPart {
		to = r.contents.parts[i+1].Chunks
	}
	return r.ix.chunks[from:to:to]
}

// readDocuments decodes all of s into docs and chunks, and reports whether s filled both exactly.
func (r *snapshotReader) readDocuments(s string, docs []*entry, chunks []chunk, first uint64) bool {
	d := decoder{s, true}
	entries := make([]entry, len(docs)) // one allocation for all
	for i := range docs {
		docs[i] = &entries[i]
		docs[i].first, docs[i].read = uint32(first), true
		n := d.document(docs[i], chunks, r.contents.Terms)
		chunks = chunks[n:]
		first += uint64(n)
	}
	return d.ok && d.s == "" && len(chunks) == 0
}

// assemble builds the index from the decoded parts.
func (r *snapshotReader) assemble() error {
	var g errgroup.Group
	g.Go(r.assembleDocuments)
	g.Go(r.assembleTerms)
	g.Go(r.assembleChunks)
	return g.Wait()
}

func (r *snapshotReader) assembleDocuments() error {
	r.ix.docs = make(map[string]*entry, len(r.docs))
	var last *entry
	for _, place := range r.order {
		if uint64(place) >= uint64(len(r.docs)) {
			return damaged("wrong order of the documents")
		}
		doc := r.docs[place]
		if last != nil && compareOrder(last, doc) >= 0 {
			return damaged("wrong order of the documents")
		}
		linkNeighbours(last, doc)
		last = doc
		r.ix.docs[doc.Path] = doc
		r.ix.countLanguage(doc.Language, int(doc.count))
		if n := len(r.ix.order.blocks); n == 0 || len(r.ix.order.blocks[n-1]) == maxBlock {
			r.ix.order.blocks = append(r.ix.order.blocks, make([]*entry, 0, maxBlock+1))
		}
		block := &r.ix.order.blocks[len(r.ix.order.blocks)-1]
		*block = append(*block, doc)
	}
	return nil
}

func (r *snapshotReader) assembleTerms() error {
	ix := r.ix
	ix.numbers = make(map[string]uint32, len(ix.names))
	ix.postings = make([]postings, len(ix.names))
	if !ix.tallies.restore(r.tallies) {
		return damaged("wrong tallies")
	}
	from := uint64(0)
	ix.blocks = blocks{documents: len(r.docs), chunks: r.postings, tallies: r.counts}
	for _, p := range r.contents.parts {
		if p.Kind == documentsPart {
			ix.blocks.texts += int(p.Length)
		}
	}
	for t, name := range ix.names {
		n := r.lists[t]
		if _, twice := ix.numbers[name]; twice || name == "" || uint64(n) > uint64(len(r.postings))-from {
			return damaged("wrong terms")
		}
		ix.numbers[name] = uint32(t)
		ix.addVariant(name)
		to := from + uint64(n)
		p := postings{r.postings[from:to:to], r.counts[from:to:to], int(n)}
		from = to
		if !p.valid(r.contents.Chunks, len(ix.tallies.list)) {
			return damaged("wrong postings")
		}
		ix.postings[t] = p
	}
	if from < uint64(len(r.postings)) {
		return damaged("wrong postings")
	}
	return nil
}

func (r *snapshotReader) assembleChunks() error {
	ix := r.ix
	ix.live = len(ix.chunks)
	for i := range ix.chunks {
		ch := &ix.chunks[i]
		ix.total += uint64(ch.length)
		ix.extents[i], ix.traits[i] = ix.extent(ch), traitsOf(&ch.doc.Document)
	}
	return nil
}

// sampled is the number of documents of a snapshot that are analysed again.
const sampled = 32

// analysisUnchanged reports whether analysing a sample of the documents, spread evenly, yields the
// same chunks and terms again. It detects a snapshot that was made with other stop words or stems.
func (ix *Index) analysisUnchanged() bool {
	c := counter{numberer: newNumberer(&ix.vocabulary)}
	var buf []byte
	step := max(len(ix.chunks)/sampled, 1)
	for n := 0; n < len(ix.chunks); n += step {
		doc := ix.chunks[n].doc
		parts := document.Split(&doc.Document, ix.chunkSize)
		if len(parts) != int(doc.count) {
			return false
		}
		was := &ix.chunks[n]
		ch := newChunk(doc, parts[was.ordinal])
		var found sequence
		if found, buf = encodeSequence(buf, c.count(ch).words); found != was.sequence ||
			ch.text != was.text || ch.headings != was.headings {
			return false
		}
	}
	return true
}
