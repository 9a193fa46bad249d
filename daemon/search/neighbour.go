package search

import (
	"cmp"
	"slices"

	"evalctl/daemon/search/question"
)

// noChunk is a number that no chunk has.
const noChunk = 1<<32 - 1

// addNeighbours counts the words of the query in the passages before and after each chunk, as
// another field of the chunk with a small weight: a turn of a conversation often takes up the
// subject of the turn before. A word that the chunk itself contains gains little, because its gain
// is nearly saturated. The chunks are in the order of their numbers.
func (ix *Index) addNeighbours(s *scratch, query []weighedTerm, best []scoredChunk) {
	before, after := make([]uint32, len(best)), make([]uint32, len(best))
	var chunks []uint32
	for i, f := range best {
		before[i], after[i] = ix.adjacentChunks(f.chunk)
		if before[i] == noChunk && after[i] == noChunk {
			continue
		}
		chunks = append(chunks, f.chunk)
		for _, n := range []uint32{before[i], after[i]} {
			if n != noChunk {
				chunks = append(chunks, n)
			}
		}
	}
	if len(chunks) == 0 {
		return
	}
	slices.Sort(chunks)
	in := ix.passages(s, slices.Compact(chunks))
	defer in.free()
	place := func(n uint32) int { // len(in.chunks) for one that is not there, where tf is 0
		if n == noChunk || in.place(n) < 0 {
			return len(in.chunks)
		}
		return in.place(n)
	}
	places := make([][3]int, len(best)) // of the chunk, of that before it and that after it
	for i, f := range best {
		places[i] = [3]int{place(f.chunk), place(before[i]), place(after[i])}
	}
	tf := make([]float64, len(in.chunks)+1)
	for _, t := range query {
		gain := t.weight * t.gain
		found := ix.frequencies(s, t.term, in)
		for _, at := range found {
			tf[at.place] = at.tf
		}
		for i, p := range places {
			if beside := tf[p[1]] + tf[p[2]]; beside > 0 {
				own := tf[p[0]]
				more := ix.saturated(own+ix.weights.neighbours*beside) - ix.saturated(own)
				best[i].neighbours += gain * more
			}
		}
		for _, at := range found {
			tf[at.place] = 0
		}
	}
}

// adjacentChunks returns the chunks before and after a chunk that belong to the neighbouring
// documents of its folder, or noChunk. Only documents of the same date are neighbours, as the turns
// of a session are. Other documents are ordered by name, which does not mean that they belong
// together.
func (ix *Index) adjacentChunks(n uint32) (before, after uint32) {
	before, after = noChunk, noChunk
	if ix.traits[n]&dated == 0 {
		return before, after
	}
	doc := ix.chunks[n].doc
	if n != doc.first && n != doc.first+doc.count-1 {
		return before, after
	}
	prev, next := doc.prev, doc.next
	if n == doc.first && prev != nil && prev.count > 0 && prev.Date.Equal(doc.Date) {
		before = prev.first + prev.count - 1
	}
	if n == doc.first+doc.count-1 && next != nil && next.count > 0 && next.Date.Equal(doc.Date) {
		after = next.first
	}
	return before, after
}

// maxTurn is the largest number of terms of a question and of a reply to it, each a document of one
// passage. Longer turns are found by their own words.
const maxTurn = 40

// addReplies gives a short turn of a conversation a share of the score of the short turn before it,
// if that turn asks something. An answer such as "In Lisbon, with my sister" often has no word of
// its question. It returns the source's replies that are not among best, in the same order. The
// chunks are in the order of their numbers.
func (ix *Index) addReplies(from source, best []scoredChunk) (found []scoredChunk) {
	if from.only { // a reply that meets the conditions was found
		return nil
	}
	var replies []candidate // before any score is added, so that a reply to a reply gains nothing
	for _, f := range best {
		if next := ix.replyTo(f.chunk); next != noChunk {
			replies = append(replies, candidate{ix.weights.reply * f.features.score(), next})
		}
	}
	for _, r := range replies {
		at, ok := slices.BinarySearchFunc(best, r.chunk, func(s scoredChunk, n uint32) int {
			return cmp.Compare(s.chunk, n)
		})
		switch {
		case ok:
			best[at].reply = r.score
		case ix.accepts(from.keep, r.chunk):
			found = append(found, scoredChunk{candidate{chunk: r.chunk}, features{reply: r.score}})
		}
	}
	slices.SortFunc(found, func(a, b scoredChunk) int { return cmp.Compare(a.chunk, b.chunk) })
	return found
}

// replyTo returns the chunk that replies to a chunk, noChunk if there is none.
func (ix *Index) replyTo(n uint32) uint32 {
	isTurn := func(n uint32) bool { return ix.extents[n].whole() && ix.extents[n] <= 2*maxTurn }
	if ix.traits[n]&dated == 0 || !isTurn(n) { // only documents with a date have neighbours
		return noChunk
	}
	if _, next := ix.adjacentChunks(n); next != noChunk && isTurn(next) && question.Asks(ix.chunks[n].text, ix.chunks[n].doc.Language) {
		return next
	}
	return noChunk
}
