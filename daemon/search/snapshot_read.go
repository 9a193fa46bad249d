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

	"evalctl/daemon/search/document"
)

// ReadSnapshot restores the index that WriteSnapshot wrote into the size bytes of file, and returns
// the time that was written with it. The options must be those of the index that was written. It
// uses all processors, and memory in proportion to size at most, whatever the bytes are. It returns
// an error if the file cannot be read, or if the snapshot is damaged, of another version, or made
// by a different analysis of texts; the index must then be built from its documents.
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
	trailer := make([]byte, trailerSize)
	if _, err := r.file.ReadAt(trailer, int64(size)-trailerSize); err != nil {
		return err
	}
	offset, length := binary.LittleEndian.Uint64(trailer), uint64(binary.LittleEndian.Uint32(trailer[8:]))
	switch {
	case string(trailer[20:]) != snapshotMagic:
		return damaged("the end is missing")
	case binary.LittleEndian.Uint32(trailer[16:]) != snapshotVersion:
		return damaged("another version")
	case length > size-trailerSize || offset != size-trailerSize-length,
		length < contentsSize || (length-contentsSize)%partEntrySize != 0:
		return damaged("wrong position of the contents")
	}
	data := make([]byte, length)
	if _, err := r.file.ReadAt(data, int64(offset)); err != nil {
		return err
	}
	if crc32.Checksum(data, castagnoli()) != binary.LittleEndian.Uint32(trailer[12:]) {
		return damaged("wrong checksum of the contents")
	}
	r.decodeContents(data)
	if r.contents.chunkSize != uint64(r.ix.chunkSize) {
		return damaged(fmt.Sprintf("its chunks have at most %d bytes, those of this index %d",
			r.contents.chunkSize, r.ix.chunkSize))
	}
	if r.contents.language != uint64(r.ix.language) {
		return damaged("its language is another one than that of this index")
	}
	return r.checkContents(offset)
}

func (r *snapshotReader) decodeContents(data []byte) {
	u64 := func() uint64 {
		v := binary.LittleEndian.Uint64(data)
		data = data[8:]
		return v
	}
	r.contents.when, r.contents.chunkSize, r.contents.language = int64(u64()), u64(), u64()
	r.contents.documents, r.contents.chunks, r.contents.terms = u64(), u64(), u64()
	r.contents.tallies, r.contents.postings = u64(), u64()
	for len(data) > 0 {
		p := part{kind: partKind(binary.LittleEndian.Uint32(data)), crc: binary.LittleEndian.Uint32(data[4:])}
		data = data[8:]
		p.offset, p.length, p.first, p.count, p.chunks = u64(), u64(), u64(), u64(), u64()
		r.contents.parts = append(r.contents.parts, p)
	}
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
	c := r.contents
	want := [len(minSize)]uint64{c.documents, c.documents, c.terms, c.tallies, c.postings, c.postings}
	if offset != end || items != want || c.chunks > documents/minStoredChunk ||
		c.chunks >= deletedChunk || c.terms >= noTerm || c.tallies >= maxTallies {
		return damaged("the parts do not fit together")
	}
	return nil
}

func (r *snapshotReader) allocate() {
	r.docs, r.order = make([]*entry, r.contents.documents), make([]uint32, r.contents.documents)
	r.ix.chunks, r.ix.extents = make([]chunk, r.contents.chunks), make([]extent, r.contents.chunks)
	r.ix.traits = make([]traits, r.contents.chunks)
	r.ix.vectors.Grow(int(r.contents.chunks))
	r.ix.names, r.lists = make([]string, r.contents.terms), make([]uint32, r.contents.terms)
	r.tallies = make([]tally, r.contents.tallies)
	r.postings, r.counts = make([]uint32, r.contents.postings), make([]uint8, r.contents.postings)
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

// readPart uses buf as working memory and returns it, possibly enlarged.
func (r *snapshotReader) readPart(i int, buf []byte) ([]byte, error) {
	p := r.contents.parts[i]
	buf = slices.Grow(buf[:0], int(p.length))[:p.length]
	if _, err := r.file.ReadAt(buf, int64(p.offset)); err != nil {
		return buf, err
	}
	if crc32.Checksum(buf, castagnoli()) != p.crc {
		return buf, damaged(fmt.Sprintf("wrong checksum of part %d", i))
	}
	end := p.first + p.count
	ok := true
	switch p.kind {
	case documentsPart:
		ok = r.readDocuments(string(buf), r.docs[p.first:end], r.chunksOf(i), p.chunks)
	case orderPart:
		decodeNumbers(buf, r.order[p.first:end])
	case termsPart:
		d := decoder{string(buf), true}
		for t := p.first; t < end; t++ {
			r.ix.names[t] = d.string()
			r.lists[t] = uint32(d.atMost(math.MaxUint32))
		}
		ok = d.ok && d.s == ""
	case talliesPart:
		decodeTallies(buf, r.tallies[p.first:end])
	case postingsPart:
		decodeNumbers(buf, r.postings[p.first:end])
	case countsPart:
		copy(r.counts[p.first:end], buf)
	}
	if !ok {
		return buf, damaged(fmt.Sprintf("part %d cannot be decoded", i))
	}
	return buf, nil
}

// chunksOf returns the chunks of part i of documents, which end where those of the next part begin.
func (r *snapshotReader) chunksOf(i int) []chunk {
	from, to := r.contents.parts[i].chunks, r.contents.chunks
	if i+1 < len(r.contents.parts) && r.contents.parts[i+1].kind == documentsPart {
		to = r.contents.parts[i+1].chunks
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
		n := d.document(docs[i], chunks, r.contents.terms)
		chunks = chunks[n:]
		first += uint64(n)
	}
	return d.ok && d.s == "" && len(chunks) == 0
}

// assemble builds the index from the decoded parts.
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
			return damaged("wrong order of the documents")
		}
		doc := r.docs[place]
		if last != nil && compareOrder(last, doc) >= 0 {
			return damaged("wrong order of the documents")
		}
		linkNeighbours(last, doc)
		last = doc
		r.ix.docs[doc.Path] = doc
		r.ix.languages[doc.Language]++
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
		if p.kind == documentsPart {
			ix.blocks.texts += int(p.length)
		}
	}
	for t, name := range ix.names {
		n := r.lists[t]
		if _, twice := ix.numbers[name]; twice || name == "" || uint64(n) > uint64(len(r.postings))-from {
			return damaged("wrong terms")
		}
		ix.numbers[name] = uint32(t)
		to := from + uint64(n)
		p := postings{r.postings[from:to:to], r.counts[from:to:to], int(n)}
		from = to
		if !p.valid(r.contents.chunks, len(ix.tallies.list)) {
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
		for field, length := range ix.chunks[i].lengths {
			ix.totals[field] += uint64(length)
		}
		ch := &ix.chunks[i]
		ix.extents[i], ix.traits[i] = ix.extent(ch.lengths[textField], ch.doc.count), traitsOf(&ch.doc.Document)
	}
	return nil
}

// sampled is the number of documents of a snapshot that are analysed again.
const sampled = 32

// analysisUnchanged reports whether a sample of the documents, spread evenly, has the chunks and
// terms that analysing it again results in. So a snapshot that was made with other stop words or
// stems is detected.
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
