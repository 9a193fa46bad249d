package search

import (
	"evalctl/daemon/search/document"
	"slices"
)

// entry is a document in the index.
type entry struct {
	document.Document
	first, count uint32 // its chunks are the numbers from first to first+count-1
	prev, next   *entry // see neighbours
	read         bool   // from a snapshot: its strings are parts of blocks.texts
}

// chunksOf returns the chunks of doc, in order.
func (ix *Index) chunksOf(doc *entry) []chunk {
	if doc.count == 0 {
		return nil // first is not set
	}
	return ix.chunks[doc.first : doc.first+doc.count]
}

// chunk is a passage in the index. Hits are made from chunks.
type chunk struct {
	doc      *entry // nil once deleted
	ordinal  uint32
	lengths  [fieldCount]uint16 // number of terms, by field
	start    uint32             // offset of text in the document's Text
	text     string             // part of the document's Text
	headings string
	sequence sequence
}

func newChunk(doc *entry, c document.Chunk) chunk {
	return chunk{
		doc: doc, ordinal: uint32(c.Ordinal), start: uint32(c.Start), text: c.Text, headings: c.Headings,
	}
}

// distinctTerms returns the term numbers of all fields, ascending, without duplicates.
func (ch *chunk) distinctTerms() []uint32 {
	terms := make([]uint32, 0, len(ch.sequence))
	for _, t := range ch.terms() {
		terms = append(terms, t)
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// postings lists the chunks that contain one term.
type postings struct {
	chunks  []uint32 // ascending, deleted chunks included
	tallies []uint8  // the number of the tally of each
	live    int      // document frequency: the number of live chunks
}

// withRoom returns the list with room for another element. A full list that is not short gets an
// eighth of its length, where append adds a quarter and more: the lists are the largest part of an
// index.
func withRoom[T any](list []T) []T {
	if len(list) < cap(list) || len(list) < 32 {
		return list
	}
	return append(slices.Grow([]T(nil), len(list)+len(list)/8), list...)
}

// add adds a new document to the index. Called with mu held for writing, as are remove and compact.
func (ix *Index) add(doc *entry, chunks []counted) {
	doc.first, doc.count = uint32(len(ix.chunks)), uint32(len(chunks))
	ix.postings = append(ix.postings, make([]postings, len(ix.names)-len(ix.postings))...)
	ix.vectors.grow(len(chunks))
	var buf []byte
	for i, c := range chunks {
		c.sequence, buf = encodeSequence(buf, c.words)
		ix.chunks = append(ix.chunks, c.chunk)
		ix.extents = append(ix.extents, ix.extent(c.lengths[textField], doc.count))
		ix.traits = append(ix.traits, traitsOf(&doc.Document))
		ix.live++
		for field, n := range c.lengths {
			ix.totals[field] += uint64(n)
		}
		for _, t := range c.terms {
			p := &ix.postings[t.term]
			p.chunks = append(withRoom(p.chunks), doc.first+uint32(i))
			p.tallies = append(withRoom(p.tallies), ix.tallies.number(t.counts))
			p.live++
		}
	}
	ix.docs[doc.Path] = doc
	ix.languages[doc.Language]++
	ix.order.insert(doc)
}

// remove marks the chunks of a document as deleted.
func (ix *Index) remove(doc *entry) {
	chunks := ix.chunksOf(doc)
	for i := range chunks {
		ch := &chunks[i]
		ix.vectors.remove(doc.first + uint32(i))
		ix.live--
		for field, n := range ch.lengths {
			ix.totals[field] -= uint64(n)
		}
		for _, t := range ch.distinctTerms() {
			ix.postings[t].live--
		}
		*ch = chunk{}
		ix.traits[doc.first+uint32(i)] = 0
	}
	delete(ix.docs, doc.Path)
	ix.languages[doc.Language]--
	ix.order.remove(doc)
}

// deletedChunk is the new number of a chunk that compact drops.
const deletedChunk = 1<<32 - 1

// compact drops deleted chunks and the terms that only they contained, and renumbers the others in
// the same order, once more than a quarter of the chunks is deleted. So its cost for each deletion
// is constant.
func (ix *Index) compact() {
	if deleted := len(ix.chunks) - ix.live; deleted*4 > len(ix.chunks) {
		ix.dropDeleted()
	}
}

func (ix *Index) dropDeleted() {
	terms := ix.renumber(func(term uint32) bool { return ix.postings[term].live > 0 })
	numbers := ix.compactChunks(terms)
	ix.vectors.compact(numbers, ix.live)
	ix.compactPostings(terms, numbers)
}

// compactChunks drops deleted chunks and applies the new term numbers to the others. It returns the
// new chunk numbers by the old ones.
func (ix *Index) compactChunks(terms []uint32) []uint32 {
	numbers := make([]uint32, len(ix.chunks))
	chunks := make([]chunk, 0, ix.live)
	extents, traits := make([]extent, 0, ix.live), make([]traits, 0, ix.live)
	var words []uint32
	var buf []byte
	for n, ch := range ix.chunks {
		if ch.doc == nil {
			numbers[n] = deletedChunk
			continue
		}
		numbers[n] = uint32(len(chunks))
		if ch.ordinal == 0 {
			ch.doc.first = numbers[n]
		}
		words = ch.sequence.renumbered(words[:0], terms)
		ch.sequence, buf = encodeSequence(buf, words)
		chunks = append(chunks, ch)
		extents, traits = append(extents, ix.extents[n]), append(traits, ix.traits[n])
	}
	ix.chunks, ix.extents, ix.traits = chunks, extents, traits
	return numbers
}

// compactPostings drops deleted chunks and the terms without chunks, and applies the new numbers.
func (ix *Index) compactPostings(terms, numbers []uint32) {
	size, kept := 0, 0
	for _, p := range ix.postings {
		size += p.live
		if p.live > 0 {
			kept++
		}
	}
	chunks, tallies := make([]uint32, 0, size), make([]uint8, 0, size)
	lists := make([]postings, 0, kept)
	for t, p := range ix.postings {
		if terms[t] == noTerm {
			continue
		}
		from := len(chunks)
		for i, n := range p.chunks {
			if n = numbers[n]; n != deletedChunk {
				chunks, tallies = append(chunks, n), append(tallies, p.tallies[i])
			}
		}
		to := len(chunks)
		lists = append(lists, postings{chunks[from:to:to], tallies[from:to:to], p.live})
	}
	ix.postings = lists
	ix.blocks.chunks, ix.blocks.tallies = chunks, tallies
}
