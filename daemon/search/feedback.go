package search

import (
	"cmp"
	"math"

	"evalctl/daemon/language"
)

// Parameters of feedback. The best chunk has by far the largest weight, because lower chunks are
// more often about something else.
const (
	feedbackChunks   = 7
	feedbackTerms    = 30
	feedbackExponent = 2
)

// shortQuery is the number of terms up to which a question counts as short, in feedback.
const shortQuery = 8

// feedback returns the terms that the best chunks are about, with their weights. This is
// pseudo-relevance feedback, as in Lavrenko and Croft, "Relevance-Based Language Models", 2001. A
// term of a chunk counts as much as it would score in a query, times (score / best
// score)^feedbackExponent of the chunk. The chunks are sorted, the best first.
//
// A short question lacks words, so it gains new ones. A long one has too many, and the chunks show
// which of them matter, so it gains its own again. Between the two, the share of new words is
// shortQuery divided by the length of the query, which is the sum of its weights, in words.
func (ix *Index) feedback(s *scratch, query []weighedTerm, best []scoredChunk) []weighedTerm {
	s.weights.grow(len(ix.names))
	s.contents.grow(len(ix.names))
	for _, f := range best[:min(feedbackChunks, len(best))] {
		trust := math.Pow(f.bm25/best[0].bm25, feedbackExponent)
		ix.addContents(&s.contents, f.chunk)
		for _, term := range s.contents.touched {
			s.weights.add(term, trust*ix.saturated(s.contents.sums[term]))
		}
		s.contents.reset()
	}
	var length float64
	var own []weighedTerm
	for _, q := range query {
		length += q.weight * q.words
		if language.Share(ix.names[q.term]) == 0 {
			s.weights.sums[q.term] = 0
		}
		if weight := s.weights.sums[q.term]; weight > 0 {
			own = append(own, weighedTerm{term: q.term, weight: q.gain * weight, gain: q.gain})
			s.weights.sums[q.term] = 0
		}
	}
	others := make([]weighedTerm, 0, feedbackTerms+len(own)) // sorted, best first
	s.found = s.found[:0]                                    // with terms for chunks
	for _, term := range s.weights.touched {
		// A term that occurs in no other chunk does not help to find one.
		if weight := s.weights.sums[term]; weight > 0 && ix.postings[term].live > 1 {
			s.found = append(s.found, candidate{s.gains.gainOf(ix, term) * weight, term})
		}
	}
	s.weights.reset()
	for found := s.found; len(found) > 0 && len(others) < feedbackTerms; {
		var likely []candidate
		likely, found = s.levels.split(found, feedbackTerms)
		s.levels.sort(likely, func(a, b candidate) int {
			if a.score != b.score {
				return cmp.Compare(b.score, a.score)
			}
			return cmp.Compare(ix.names[a.chunk], ix.names[b.chunk])
		})
		for _, c := range likely {
			name := ix.names[c.chunk]
			if len(others) < feedbackTerms && language.Share(name) > 0 && !isPart(name) {
				others = append(others, weighedTerm{term: c.chunk, weight: c.score, gain: s.gains.gainOf(ix, c.chunk)})
			}
		}
	}
	lacking := min(1, shortQuery/length)
	scale(others, ix.weights.feedback*lacking)
	if lacking == 1 {
		return others
	}
	scale(own, ix.weights.emphasis*(1-lacking))
	return append(others, own...)
}

// scale multiplies the weights of terms so that the largest becomes top.
func scale(terms []weighedTerm, top float64) {
	var largest float64
	for _, t := range terms {
		largest = max(largest, t.weight)
	}
	for i := range terms {
		terms[i].weight *= top / largest
	}
}

// addContents adds tf, as defined in score.go, of the terms of a chunk, counting only text and
// title.
func (ix *Index) addContents(tf *sums, n uint32) {
	norm := ix.lengthNorm()
	each := fieldWeights[textField] / norm.of(ix.extents[n])
	for field, t := range ix.chunks[n].terms() {
		switch field {
		case textField:
			tf.add(t, each)
		case titleField:
			tf.add(t, fieldWeights[titleField])
		default:
			return
		}
	}
}

// addFeedback adds the scores of the terms of feedback. The chunks are in the order of their
// numbers.
func (ix *Index) addFeedback(s *scratch, terms []weighedTerm, best []scoredChunk) {
	in := ix.passages(s, chunkNumbers(best))
	defer in.free()
	for _, t := range terms {
		gain := t.weight * t.gain
		for _, at := range ix.frequencies(s, t.term, in) {
			best[at.place].feedback += gain * ix.saturated(at.tf)
		}
	}
}
