package search

// deletedChunk is the new number of a chunk that compact drops.
const deletedChunk = 1<<32 - 1

// compact drops deleted chunks, and terms that only they contained, once more than a quarter of the
// chunks is deleted. It renumbers the others in the same order. So its cost for each deletion is
// constant.
func (ix *Index) compact() {
	if deleted := len(ix.chunks) - ix.live; deleted*4 > len(ix.chunks) {
		ix.dropDeleted()
	}
}

func (ix *Index) dropDeleted() {
	terms := ix.renumber(func(term uint32) bool { return ix.postings[term].live > 0 })
	numbers := ix.compactChunks(terms)
	ix.vectors.Compact(numbers, ix.live)
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
	size := 0
	for _, p := range ix.postings {
		size += p.live
	}
	chunks, tallies := make([]uint32, 0, size), make([]uint8, 0, size)
	lists := make([]postings, 0, len(ix.names))
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
