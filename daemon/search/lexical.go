package search

import (
	"slices"

	"evalctl/daemon/search/question"
)

// rescoreDepth is the number of best chunks whose further features are computed. It bounds the cost
// of a search, whatever the size of the index. Larger depths find little more.
const rescoreDepth = 300

// lexical returns the k best chunks of a source for the words of a query, best first. terms are the
// index terms of the query, without duplicates. The second result has the features of the chunks in
// the first. Called with mu held.
//
// Further features only raise a score, so the chunks beyond rescoreDepth never belong above the
// others.
func (ix *Index) lexical(q Query, terms []queryTerm, from source, k int) ([]candidate, []features) {
	s, query := ix.borrow(), ix.known(terms)
	defer ix.scratch.Put(s)
	s.scored = s.scored[:0]
	for _, c := range ix.bestOf(s, from, query, max(k, rescoreDepth)) {
		s.scored = append(s.scored, scoredChunk{c, features{bm25: c.score}})
	}
	all := ix.rescored(s, q, query, from, s.scored)
	if periods := question.Periods(q.Text, q.AsOf); len(periods) > 0 && !from.only && question.OnlyTime(q.Text) {
		all = ix.addDated(periods, from, all)
	}

	top, parts := make([]candidate, min(k, len(all))), make([]features, min(k, len(all)))
	for i := range top {
		top[i], parts[i] = all[i].candidate, all[i].features
	}
	return top, parts
}

// rescored adds the further features of the best chunks, and sorts the chunks by their new scores.
// The result includes replies to them that were not among all.
func (ix *Index) rescored(s *scratch, q Query, query []weighedTerm, from source, all []scoredChunk) []scoredChunk {
	best, rest := all[:min(rescoreDepth, len(all))], all[min(rescoreDepth, len(all)):]
	more := ix.feedback(s, query, best)
	ordered := ix.byChunk(s, best)
	ix.addFeedback(s, more, ordered)
	ix.addNeighbours(s, query, ordered)
	ix.addLanguage(ix.asked(q.Text), ordered)
	ix.addDates(question.Periods(q.Text, q.AsOf), ordered)
	if found := ix.addReplies(from, ordered); len(found) > 0 { // some of them may be in rest
		replies := chunkNumbers(found)
		for i, c := range ix.exact(s, query, replies) {
			found[i].bm25 = c.score
		}
		rest = slices.DeleteFunc(rest, func(r scoredChunk) bool {
			_, known := slices.BinarySearch(replies, r.chunk)
			return known
		})
		ordered = slices.Concat(ordered, found, rest)
		all = make([]scoredChunk, len(ordered))
	}
	s.found = s.found[:0] // with places in ordered for chunks
	for i := range ordered {
		ordered[i].candidate.score = ordered[i].features.score()
		s.found = append(s.found, candidate{ordered[i].candidate.score, uint32(i)})
	}
	s.levels.sort(s.found, func(a, b candidate) int {
		return ix.compare(ordered[a.chunk].candidate, ordered[b.chunk].candidate)
	})
	for i, p := range s.found {
		all[i] = ordered[p.chunk]
	}
	return all
}

// byChunk returns the chunks in the order of their numbers.
func (ix *Index) byChunk(s *scratch, best []scoredChunk) []scoredChunk {
	numbers := chunkNumbers(best)
	in := ix.passages(s, numbers)
	defer in.free()
	s.numbers.sort(numbers)
	s.ordered = s.ordered[:0]
	for _, n := range numbers {
		s.ordered = append(s.ordered, best[in.place(n)])
	}
	return s.ordered
}
