package search

import (
	"slices"

	"evalctl/daemon/search/question"
)

// rescoreDepth is the number of best chunks whose further features are computed, so that the cost
// of a search is bounded, whatever the size of the index. Larger depths find little more.
const rescoreDepth = 300

// weights are the weights of the further features, where the score of BM25F has weight 1.
// docs/dev/ranking.md reports what each of them adds.
type weights struct {
	neighbours float64 // see addNeighbours
	feedback   float64 // of the best word that the query lacks, see feedback
	emphasis   float64 // of the best word that it has, see feedback
	date       float64 // see addDates
	reply      float64 // see addReplies
}

var defaultWeights = weights{neighbours: 0.2, feedback: 0.2, emphasis: 3, date: 0.4, reply: 0.3}

// features are the summands of a chunk's score.
type features struct {
	bm25, neighbours, feedback, date, reply float64
}

func (e *features) score() float64 {
	return e.bm25 + e.neighbours + e.feedback + e.date + e.reply
}

// components adds the features by their component constants: bm25 always, the others if they are
// above 0.
func (e *features) components(into map[string]float64) {
	into[componentBM25] = e.bm25
	for _, part := range [...]struct {
		name  string
		score float64
	}{
		{componentNeighbours, e.neighbours},
		{componentFeedback, e.feedback},
		{componentDate, e.date}, {componentReply, e.reply},
	} {
		if part.score > 0 {
			into[part.name] = part.score
		}
	}
}

// scored is a chunk with the features of its score.
type scored struct {
	candidate
	features
}

// lexical returns the k best chunks of a source for the words of a query, best first. The terms are
// the index terms of the query, without duplicates.
// The second result holds the features of the chunks in the first. Called with mu held.
//
// Further features only raise a score, so the chunks beyond rescoreDepth never belong above the
// others.
func (ix *Index) lexical(q Query, terms []queryTerm, from source, k int) (
	[]candidate, []features,
) {
	best := ix.bestOf(from, terms, max(k, rescoreDepth))
	b := ix.buffers.Get().(*buffers)
	defer ix.buffers.Put(b)
	b.scored = b.scored[:0]
	for _, c := range best {
		b.scored = append(b.scored, scored{c, features{bm25: c.score}})
	}
	all := ix.rescored(q, terms, from, b.scored, b)

	top, parts := make([]candidate, min(k, len(all))), make([]features, min(k, len(all)))
	for i := range top {
		top[i], parts[i] = all[i].candidate, all[i].features
	}
	return top, parts
}

// rescored adds the further features of the best chunks, and sorts the chunks by their new scores. The
// result has the replies to them that were not found.
func (ix *Index) rescored(q Query, terms []queryTerm, from source, all []scored, b *buffers) []scored {
	best, rest := all[:min(rescoreDepth, len(all))], all[min(rescoreDepth, len(all)):]
	query := ix.known(terms)
	more := ix.feedback(query, best)
	ordered := ix.byChunk(best, b)
	ix.addFeedback(more, ordered)
	ix.addNeighbours(query, ordered)
	ix.addDates(question.Periods(q.Text, q.AsOf), ordered)
	if found := ix.addReplies(from, ordered); len(found) > 0 { // some of them may be in rest
		ix.addWords(query, found)
		known := make(map[uint32]bool, len(found))
		for _, f := range found {
			known[f.chunk] = true
		}
		rest = slices.DeleteFunc(rest, func(s scored) bool { return known[s.chunk] })
		ordered = slices.Concat(ordered, found, rest)
		all = make([]scored, len(ordered))
	}
	s := ix.scratch.Get().(*scratch)
	defer ix.scratch.Put(s)
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

// addDates raises the scores of chunks whose documents are dated in one of the periods, by a share
// of their other features. Undated documents gain nothing.
func (ix *Index) addDates(periods []question.Period, best []scored) {
	for i := range best {
		date := ix.chunks[best[i].chunk].doc.Date
		for _, p := range periods {
			if !date.IsZero() && p.Contains(date) {
				best[i].date = ix.weights.date * best[i].features.score()
				break
			}
		}
	}
}

// buffers are the memory of the candidates of a search.
type buffers struct{ scored, ordered []scored }

// byChunk returns the chunks in the order of their numbers.
func (ix *Index) byChunk(best []scored, b *buffers) []scored {
	s := ix.scratch.Get().(*scratch)
	defer ix.scratch.Put(s)
	numbers := make([]uint32, len(best))
	for i, f := range best {
		numbers[i] = f.chunk
	}
	in := ix.passages(s, numbers)
	defer in.free()
	s.numbers.sort(numbers)
	b.ordered = b.ordered[:0]
	for _, n := range numbers {
		b.ordered = append(b.ordered, best[in.place(n)])
	}
	return b.ordered
}

// known returns the terms that occur in live chunks, in order.
func (ix *Index) known(terms []queryTerm) []weighedTerm {
	found := make([]weighedTerm, 0, len(terms))
	for _, t := range terms {
		if n, ok := ix.numbers[t.name]; ok && ix.postings[n].live > 0 {
			found = append(found, weighedTerm{n, t.weight, t.words})
		}
	}
	return found
}

// saturated returns the share of its gain that a term adds if it occurs tf times.
func (ix *Index) saturated(tf float64) float64 {
	return tf / (tf + ix.k1)
}
