package search

import (
	"slices"

	"evalctl/daemon/search/document"
)

// best returns the k best chunks by their words alone, best first, in documents that keep accepts.
// A nil keep accepts all but generated ones. Called with mu held.
func (ix *Index) best(s *scratch, query []weighedTerm, keep func(*document.Document) bool, k int) []candidate {
	postings := 0
	for _, t := range query {
		postings += len(ix.postings[t.term].chunks)
	}
	var top []candidate
	if len(query) <= maxRoughTerms && postings >= manyPostings {
		top = ix.exact(s, query, s.rough.likely(ix, &s.levels, query, keep, k))
	} else {
		top = ix.bestOfAll(s, query, keep, k)
	}
	s.levels.sort(top, ix.compare)
	return top[:min(k, len(top))]
}

// bestOfAll returns at least the k best chunks, in no particular order, from the scores of all.
func (ix *Index) bestOfAll(s *scratch, query []weighedTerm, keep func(*document.Document) bool, k int) (top []candidate) {
	ix.score(&s.scores, query)
	s.found = s.found[:0]
	for _, n := range s.scores.touched {
		s.found = append(s.found, candidate{s.scores.sums[n], n})
		s.scores.sums[n] = 0
	}
	s.scores.touched = s.scores.touched[:0]
	for found := s.found; len(found) > 0 && len(top) < k; {
		var likely []candidate
		likely, found = s.levels.split(found, k)
		top = slices.Grow(top, len(likely))
		for _, c := range likely {
			if ix.accepts(keep, c.chunk) {
				top = append(top, c)
			}
		}
	}
	return top
}

// score adds the scores of all chunks that contain a term of the query, including deleted chunks,
// to scores.
func (ix *Index) score(scores *sums, query []weighedTerm) {
	scores.grow(len(ix.chunks))
	norm := ix.lengthNorm()
	for _, q := range query {
		t, gain := q.term, q.weight*q.gain
		p := &ix.postings[t]
		for i, n := range p.chunks {
			tf := weightedCount(ix.tally(t, n, p.tallies[i]), norm.of(ix.extents[n]))
			scores.add(n, gain*tf/(tf+ix.k1))
		}
	}
}

// exact returns the chunks, in the order of their numbers, with their scores.
func (ix *Index) exact(s *scratch, query []weighedTerm, chunks []uint32) []candidate {
	s.numbers.sort(chunks)
	in := ix.passages(s, chunks)
	defer in.free()
	found := make([]candidate, len(chunks))
	for i, n := range chunks {
		found[i].chunk = n
	}
	for _, q := range query {
		gain := q.weight * q.gain
		for _, at := range ix.frequencies(s, q.term, in) {
			found[at.place].score += gain * at.tf / (at.tf + ix.k1) // as score does, to the last bit
		}
	}
	return found
}

// compare orders live chunks by score descending, then by path and position ascending.
func (ix *Index) compare(a, b candidate) int {
	switch {
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	}
	return ix.compareChunks(a.chunk, b.chunk)
}
