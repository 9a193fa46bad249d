package search

import (
	"cmp"
	"math"
	"slices"
)

// Parameters of feedback. The best chunk has by far the largest weight, because the chunks further
// down are more often about something else.
const (
	feedbackChunks   = 7
	feedbackTerms    = 30
	feedbackExponent = 2
)

// weighedTerm is a term that a chunk should contain, with its weight.
type weighedTerm struct {
	term   uint32
	weight float64
}

// feedback returns the terms, other than those of the query, that the best chunks are about. The
// first has weight 1. This is pseudo-relevance feedback, as in Lavrenko and Croft, "Relevance-Based
// Language Models", 2001. The weight of a term of a chunk is what it would score if it were asked
// for, times (score / best score)^feedbackExponent of the chunk. The chunks are sorted, the best
// first.
func (ix *Index) feedback(query []weighedTerm, best []scored) []weighedTerm {
	s := ix.scratch.Get().(*scratch)
	defer ix.scratch.Put(s)
	s.weights.grow(len(ix.names))
	s.contents.grow(len(ix.names))
	for _, f := range best[:min(feedbackChunks, len(best))] {
		trust := math.Pow(f.bm25/best[0].bm25, feedbackExponent)
		ix.addContents(&s.contents, &ix.chunks[f.chunk])
		for _, term := range s.contents.touched {
			s.weights.add(term, trust*ix.saturated(s.contents.sums[term]))
		}
		s.contents.reset()
	}
	var terms []weighedTerm // best first
	for _, term := range s.weights.touched {
		// A term that occurs in no other chunk does not help to find one.
		asked := slices.ContainsFunc(query, func(q weighedTerm) bool { return q.term == term })
		if ix.postings[term].live > 1 && !asked {
			terms = ix.insertTerm(terms, weighedTerm{term, ix.gain(term) * s.weights.sums[term]})
		}
	}
	s.weights.reset()
	for i := len(terms) - 1; i >= 0; i-- {
		terms[i].weight /= terms[0].weight
	}
	return terms
}

// insertTerm inserts a term into the best terms, and drops the last if there are too many.
func (ix *Index) insertTerm(terms []weighedTerm, t weighedTerm) []weighedTerm {
	if len(terms) == feedbackTerms && t.weight < terms[feedbackTerms-1].weight {
		return terms
	}
	i, _ := slices.BinarySearchFunc(terms, t, func(a, b weighedTerm) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(ix.names[a.term], ix.names[b.term]))
	})
	return slices.Insert(terms, i, t)[:min(feedbackTerms, len(terms)+1)]
}

// addContents adds tf, as defined at score, of the terms of a chunk, counting text and title only.
func (ix *Index) addContents(tf *sums, ch *chunk) {
	text, title := ch.lengths[textField], ch.lengths[titleField]
	each := fieldWeights[textField] / ix.lengthNorm()(text)
	for _, t := range ch.sequence[:text] {
		tf.add(t, each)
	}
	for _, t := range ch.sequence[text : text+title] {
		tf.add(t, fieldWeights[titleField])
	}
}

// addFeedback adds the scores of the terms of feedback. The chunks are in the order of their
// numbers.
func (ix *Index) addFeedback(terms []weighedTerm, best []scored) {
	chunks := make([]uint32, len(best))
	for i, f := range best {
		chunks[i] = f.chunk
	}
	var tf []float64
	for _, t := range terms {
		gain := ix.weights.feedback * t.weight * ix.gain(t.term)
		tf = ix.frequencies(t.term, chunks, tf)
		for i := range best {
			best[i].feedback += gain * ix.saturated(tf[i])
		}
	}
}
