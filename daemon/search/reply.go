package search

import (
	"cmp"
	"slices"

	"evalctl/daemon/search/question"
)

// maxTurn is the largest number of terms of a question and of a reply to it, each a document of one
// passage. Longer ones have words of their own to be found by.
const maxTurn = 40

// addReplies gives a short turn of a conversation a share of the score of the short turn before it, if
// that asks something: the answer to a question is often a turn like "In Lisbon, with my sister", which
// has none of its words. It returns the replies that are not among the best, of those that the source has,
// in the same order. The chunks are in the order of their numbers.
func (ix *Index) addReplies(from source, best []scored) (found []scored) {
	if from.only { // a reply that meets the conditions was found
		return nil
	}
	type reply struct {
		chunk uint32
		score float64
	}
	var replies []reply // before any score is added, so that a reply to a reply gets nothing of it
	for _, f := range best {
		if next := ix.replyTo(f.chunk); next != noChunk {
			replies = append(replies, reply{next, ix.weights.reply * f.features.score()})
		}
	}
	for _, r := range replies {
		at, ok := slices.BinarySearchFunc(best, r.chunk, func(s scored, n uint32) int {
			return cmp.Compare(s.chunk, n)
		})
		switch {
		case ok:
			best[at].reply = r.score
		case from.keep == nil || from.keep(&ix.chunks[r.chunk].doc.Document):
			found = append(found, scored{candidate{chunk: r.chunk}, features{reply: r.score}})
		}
	}
	slices.SortFunc(found, func(a, b scored) int { return cmp.Compare(a.chunk, b.chunk) })
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
