package search

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"
)

// ReadSnapshot makes the index again that WriteSnapshot wrote into the size
// bytes of file, and gives the time it was written with; opts must be those of
// then. It uses all processors and takes memory in proportion to size at most,
// whatever the bytes are. A snapshot that cannot be used is errSnapshot; other
// errors are those of file.
func ReadSnapshot(file io.ReaderAt, size int64, opts *Options) (*Index, time.Time, error) {
	r := &snapshotReader{file: file, ix: New(opts)}
	if err := r.read(uint64(max(size, 0))); err != nil {
		return nil, time.Time{}, fmt.Errorf("read a snapshot: %w", err)
	}
	return r.ix, time.Unix(0, r.contents.when), nil
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
		return damaged("texts are analysed in another way now")
	}
	return nil
}

// snapshotReader holds what the parts of a snapshot are decoded into.
type snapshotReader struct {
	contents contents
	file     io.ReaderAt
	ix       *Index
	docs     []*entry
	order    []uint32
	lists    []uint32 // number of postings, by term
	postings []posting
	sequence []uint32
}

func damaged(what string) error { return fmt.Errorf("%w: %s", errSnapshot, what) }

// readContents reads and checks the contents, so that the parts may be trusted
// to be within the file and to share out the items between them.
func (r *snapshotReader) readContents(size uint64) error {
	if size < uint64(len(snapshotMagic)+trailerSize) {
		return damaged("too short")
	}
	trailer := make([]byte, trailerSize)
	if _, err := r.file.ReadAt(trailer, int64(size)-trailerSize); err != nil {
		return err
	}
	offset, length := binary.LittleEndian.Uint64(trailer), uint64(binary.LittleEndian.Uint32(trailer[8:]))
	switch {
	case string(trailer[20:]) != snapshotMagic:
		return damaged("the end is missing")
	case binary.LittleEndian.Uint32(trailer[16:]) != snapshotVersion:
		return damaged("of another version")
	case length > size-trailerSize || offset != size-trailerSize-length,
		length < contentsSize || (length-contentsSize)%partEntrySize != 0:
		return damaged("the contents are not where they should be")
	}
	data := make([]byte, length)
	if _, err := r.file.ReadAt(data, int64(offset)); err != nil {
		return err
	}
	if crc32.Checksum(data, castagnoli) != binary.LittleEndian.Uint32(trailer[12:]) {
		return damaged("checksum of the contents")
	}
	r.decodeContents(data)
	if r.contents.chunkSize != uint64(r.ix.chunkSize) {
		return damaged(fmt.Sprintf("its chunks have at most %d bytes, now it is %d", r.contents.chunkSize, r.ix.chunkSize))
	}
	return r.checkContents(offset)
}

func (r *snapshotReader) decodeContents(data []byte) {
	u64 := func() uint64 {
		v := binary.LittleEndian.Uint64(data)
		data = data[8:]
		return v
	}
	r.contents.when, r.contents.chunkSize = int64(u64()), u64()
	r.contents.documents, r.contents.chunks, r.contents.terms, r.contents.postings, r.contents.numbers = u64(), u64(), u64(), u64(), u64()
	for len(data) > 0 {
		p := part{kind: partKind(binary.LittleEndian.Uint32(data)), crc: binary.LittleEndian.Uint32(data[4:])}
		data = data[8:]
		p.offset, p.length, p.first, p.count, p.chunks = u64(), u64(), u64(), u64(), u64()
		r.contents.parts = append(r.contents.parts, p)
	}
}

// minSize is what an item takes at least in a part of its kind, in bytes.
var minSize = [...]uint64{documentsPart: 8, orderPart: 4, termsPart: 2, postingsPart: 8, sequencesPart: 4}

// minStoredChunk is what a chunk takes at least within its document.
const minStoredChunk = 3 + fieldCount

func (r *snapshotReader) checkContents(end uint64) error {
	offset, items, documents := uint64(len(snapshotMagic)), [len(minSize)]uint64{}, uint64(0)
	var last part
	for _, p := range r.contents.parts {
		if p.kind >= partKind(len(minSize)) || p.kind < last.kind || p.offset != offset || p.length > end-offset ||
			p.first != items[p.kind] || p.count > p.length/minSize[p.kind] {
			return damaged("the parts do not fit together")
		}
		offset += p.length
		items[p.kind] += p.count
		if p.kind == documentsPart {
			documents += p.length
			if p.chunks < last.chunks || p.chunks > r.contents.chunks {
				return damaged("the parts do not fit together")
			}
		}
		last = p
	}
	want := [len(minSize)]uint64{r.contents.documents, r.contents.documents, r.contents.terms, r.contents.postings, r.contents.numbers}
	if offset != end || items != want || r.contents.chunks > documents/minStoredChunk || r.contents.chunks >= deletedChunk || r.contents.terms >= noTerm {
		return damaged("the parts do not fit together")
	}
	return nil
}

func (r *snapshotReader) allocate() {
	r.docs, r.order = make([]*entry, r.contents.documents), make([]uint32, r.contents.documents)
	r.ix.chunks, r.ix.textLengths = make([]chunk, r.contents.chunks), make([]uint32, r.contents.chunks)
	r.ix.vectors.grow(int(r.contents.chunks))
	r.ix.names, r.lists = make([]string, r.contents.terms), make([]uint32, r.contents.terms)
	r.postings, r.sequence = make([]posting, r.contents.postings), make([]uint32, r.contents.numbers)
}

// readParts decodes the parts on all processors.
func (r *snapshotReader) readParts() error {
	var (
		next = make(chan int, len(r.contents.parts))
		errs = make([]error, runtime.GOMAXPROCS(0))
		wg   sync.WaitGroup
	)
	for i := range r.contents.parts {
		next <- i
	}
	close(next)
	for w := range errs {
		wg.Go(func() {
			var buf []byte
			for i := range next {
				if errs[w] == nil {
					buf, errs[w] = r.readPart(i, buf)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// readPart uses buf and returns it, perhaps grown.
func (r *snapshotReader) readPart(i int, buf []byte) ([]byte, error) {
	p := r.contents.parts[i]
	buf = slices.Grow(buf[:0], int(p.length))[:p.length]
	if _, err := r.file.ReadAt(buf, int64(p.offset)); err != nil {
		return buf, err
	}
	if crc32.Checksum(buf, castagnoli) != p.crc {
		return buf, damaged(fmt.Sprintf("checksum of part %d", i))
	}
	end := p.first + p.count
	ok := true
	switch p.kind {
	case documentsPart:
		ok = readDocuments(string(buf), r.docs[p.first:end], r.chunksOf(i), p.chunks)
	case orderPart:
		decodeNumbers(buf, r.order[p.first:end])
	case termsPart:
		d := decoder{string(buf), true}
		for t := p.first; t < end; t++ {
			r.ix.names[t] = d.string()
			r.lists[t] = uint32(d.atMost(math.MaxUint32))
		}
		ok = d.ok && d.s == ""
	case postingsPart:
		decodePostings(buf, r.postings[p.first:end])
	case sequencesPart:
		decodeNumbers(buf, r.sequence[p.first:end])
	}
	if !ok {
		return buf, damaged(fmt.Sprintf("part %d does not hold what it should", i))
	}
	return buf, nil
}

// chunksOf gives the chunks of part i of documents: those up to the next part's.
func (r *snapshotReader) chunksOf(i int) []chunk {
	from, to := r.contents.parts[i].chunks, r.contents.chunks
	if i+1 < len(r.contents.parts) && r.contents.parts[i+1].kind == documentsPart {
		to = r.contents.parts[i+1].chunks
	}
	return r.ix.chunks[from:to:to]
}

// readDocuments decodes all of s into docs and chunks, which must come out even.
func readDocuments(s string, docs []*entry, chunks []chunk, first uint64) bool {
	d := decoder{s, true}
	entries := make([]entry, len(docs)) // one allocation for all
	for i := range docs {
		docs[i] = &entries[i]
		docs[i].first = uint32(first)
		n := d.document(docs[i], chunks)
		chunks = chunks[n:]
		first += uint64(n)
	}
	return d.ok && d.s == "" && len(chunks) == 0
}

// assemble puts together what the parts held.
func (r *snapshotReader) assemble() error {
	checks := []func() error{r.assembleDocuments, r.assembleTerms, r.assembleChunks}
	errs := make([]error, len(checks))
	var wg sync.WaitGroup
	for i, check := range checks {
		wg.Go(func() { errs[i] = check() })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *snapshotReader) assembleDocuments() error {
	r.ix.docs = make(map[string]*entry, len(r.docs))
	var last *entry
	for _, place := range r.order {
		if uint64(place) >= uint64(len(r.docs)) {
			return damaged("order of the documents")
		}
		doc := r.docs[place]
		if last != nil && compareOrder(last, doc) >= 0 {
			return damaged("order of the documents")
		}
		linkNeighbours(last, doc)
		last = doc
		r.ix.docs[doc.Path] = doc
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
	rest := r.postings
	for t, name := range ix.names {
		n := r.lists[t]
		if _, twice := ix.numbers[name]; twice || name == "" || uint64(n) > uint64(len(rest)) {
			return damaged("terms")
		}
		ix.numbers[name] = uint32(t)
		list := rest[:n:n]
		rest = rest[n:]
		for i, at := range list {
			if uint64(at.chunk) >= r.contents.chunks || i > 0 && at.chunk <= list[i-1].chunk {
				return damaged("postings")
			}
		}
		ix.postings[t] = postings{list: list, live: len(list)}
	}
	if len(rest) > 0 {
		return damaged("postings")
	}
	return nil
}

func (r *snapshotReader) assembleChunks() error {
	ix := r.ix
	ix.live = len(ix.chunks)
	for _, t := range r.sequence {
		if uint64(t) >= r.contents.terms {
			return damaged("sequences")
		}
	}
	rest := r.sequence
	for i := range ix.chunks {
		ch := &ix.chunks[i]
		n := uint64(0)
		for field, length := range ch.lengths {
			n += uint64(length)
			ix.totals[field] += uint64(length)
		}
		if n > uint64(len(rest)) {
			return damaged("sequences")
		}
		ch.sequence, rest = rest[:n:n], rest[n:]
		ix.textLengths[i] = ch.lengths[textField]
	}
	if len(rest) > 0 {
		return damaged("sequences")
	}
	return nil
}

// sampled is how many documents of a snapshot are analysed once more.
const sampled = 32

// analysisUnchanged reports whether a sample of the documents, spread evenly, has
// the chunks and terms that it would get now. So a snapshot made with other
// stop words or stems is found out.
func (ix *Index) analysisUnchanged() bool {
	c := counter{numberer: newNumberer(&ix.vocabulary)}
	step := max(len(ix.chunks)/sampled, 1)
	for n := 0; n < len(ix.chunks); n += step {
		doc := ix.chunks[n].doc
		parts := split(doc.Document, ix.chunkSize)
		if len(parts) != int(doc.count) {
			return false
		}
		was := &ix.chunks[n]
		ch := newChunk(doc, parts[was.ordinal])
		if got := c.count(ch); ch.text != was.text || ch.headings != was.headings || !slices.Equal(got.sequence, was.sequence) {
			return false
		}
	}
	return true
}
