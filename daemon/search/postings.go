package search

import "slices"

// entry is a document in the index.
type entry struct {
	Document
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
	lengths  [fieldCount]uint32 // number of terms, by field
	start    uint32             // offset of text in the document's Text
	text     string             // part of the document's Text
	headings string
	// sequence holds the term numbers of the fields, one field after the other,
	// each in the order of its words.
	sequence []uint32
}

func newChunk(doc *entry, c textChunk) chunk {
	return chunk{
		doc: doc, ordinal: uint32(c.ordinal), start: uint32(c.start), text: c.text, headings: c.headings,
	}
}

// distinctTerms returns the term numbers of all fields, ascending, without duplicates.
func (ch *chunk) distinctTerms() []uint32 {
	terms := slices.Clone(ch.sequence)
	slices.Sort(terms)
	return slices.Compact(terms)
}

// postings lists the chunks that contain one term.
type postings struct {
	list []posting // by chunk number, deleted chunks included
	live int       // document frequency: the number of live chunks in list
}

type posting struct {
	chunk  uint32
	counts [fieldCount]uint8 // occurrences by field, at most maxCount
}

// add adds a new document to the index. Called with mu held for writing, as are remove and compact.
func (ix *Index) add(doc *entry, chunks []counted) {
	doc.first, doc.count = uint32(len(ix.chunks)), uint32(len(chunks))
	ix.postings = append(ix.postings, make([]postings, len(ix.names)-len(ix.postings))...)
	ix.vectors.grow(len(chunks))
	for i, c := range chunks {
		ix.chunks = append(ix.chunks, c.chunk)
		ix.textLengths = append(ix.textLengths, c.lengths[textField])
		ix.live++
		for field, n := range c.lengths {
			ix.totals[field] += uint64(n)
		}
		for _, t := range c.terms {
			p := &ix.postings[t.term]
			p.list = append(p.list, posting{doc.first + uint32(i), t.counts})
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
	kept := make([]postings, 0, len(ix.names))
	for t, p := range ix.postings {
		if terms[t] != noTerm {
			p.list = renumbered(p, numbers)
			kept = append(kept, p)
		}
	}
	ix.postings = kept
	ix.blocks.postings = nil // all lists are new
}

// compactChunks drops deleted chunks and applies the new term numbers to the others. It returns the
// new chunk numbers by the old ones.
func (ix *Index) compactChunks(terms []uint32) []uint32 {
	numbers := make([]uint32, len(ix.chunks))
	chunks := make([]chunk, 0, ix.live)
	textLengths := make([]uint32, 0, ix.live)
	for n, ch := range ix.chunks {
		if ch.doc == nil {
			numbers[n] = deletedChunk
			continue
		}
		numbers[n] = uint32(len(chunks))
		if ch.ordinal == 0 {
			ch.doc.first = numbers[n]
		}
		for i, t := range ch.sequence {
			ch.sequence[i] = terms[t]
		}
		chunks = append(chunks, ch)
		textLengths = append(textLengths, ix.textLengths[n])
	}
	ix.chunks, ix.textLengths = chunks, textLengths
	return numbers
}

func renumbered(p postings, numbers []uint32) []posting {
	list := make([]posting, 0, p.live)
	for _, at := range p.list {
		if n := numbers[at.chunk]; n != deletedChunk {
			list = append(list, posting{n, at.counts})
		}
	}
	return list
}
