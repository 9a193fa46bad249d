package search

import (
	"cmp"
	"math"
	"slices"
)

// candidate is a chunk with its score.
type candidate struct {
	score float64
	chunk uint32
}

// scratch is the working memory of one search. Between searches, all sums and places are zero.
type scratch struct {
	scores   sums // by chunk number
	found    []candidate
	levels   levels
	places   []uint32 // see passages
	numbers  numberSet
	weights  sums // by term number, see feedback
	contents sums // by term number, of one chunk
	gains    gains
	rough    rough

	occurrences []occurrence
}

// sums accumulates positive values by number.
type sums struct {
	sums    []float64
	touched []uint32 // numbers whose sum is not zero
}

// grow makes space for numbers below n.
func (s *sums) grow(n int) {
	if missing := n - len(s.sums); missing > 0 {
		s.sums = append(s.sums, make([]float64, missing)...)
	}
}

func (s *sums) add(n uint32, value float64) {
	if s.sums[n] == 0 {
		s.touched = append(s.touched, n)
	}
	s.sums[n] += value
}

func (s *sums) reset() {
	for _, n := range s.touched {
		s.sums[n] = 0
	}
	s.touched = s.touched[:0]
}

// fieldWeights are the weights of an occurrence in each field. A title names the subject of its
// document. A path says little that the title does not: folders are shared, and the file name is
// often the title.
var fieldWeights = [fieldCount]float64{textField: 1, titleField: 2, pathField: 0.25, labelsField: 1}

// lengthNorm returns norm, as defined at score, as a function of the number of terms in a text.
func (ix *Index) lengthNorm() func(length uint16) float64 {
	fixed, perTerm := ix.normParameters()
	return func(length uint16) float64 { return fixed + perTerm*float64(length) }
}

// normParameters returns the norm of a text without terms, and what each term adds to it.
func (ix *Index) normParameters() (fixed, perTerm float64) {
	average := float64(ix.totals[textField]) / float64(max(ix.live, 1))
	perTerm = ix.b / (average + ix.slack)
	return 1 - ix.b + perTerm*ix.slack, perTerm
}

// weightedCount returns tf, as defined at score. Nearly all postings count the text alone.
func weightedCount(counts tally, norm float64) float64 {
	tf := fieldWeights[textField] * float64(counts[textField]) / norm
	if counts[titleField]|counts[pathField]|counts[labelsField] == 0 {
		return tf
	}
	for field := textField + 1; field < fieldCount; field++ {
		tf += fieldWeights[field] * float64(counts[field])
	}
	return tf
}

// best returns the k best chunks by BM25F alone, best first, of the documents that keep accepts;
// nil accepts all but generated ones. Called with mu held.
func (ix *Index) best(terms []queryTerm, keep func(*Document) bool, k int) []candidate {
	s := ix.scratch.Get().(*scratch)
	defer ix.scratch.Put(s)
	if len(terms) <= maxRoughTerms && ix.countPostings(terms) >= manyPostings {
		return s.rough.best(ix, s, terms, keep, k)
	}
	ix.score(&s.scores, terms)
	s.found = s.found[:0]
	for _, n := range s.scores.touched {
		s.found = append(s.found, candidate{s.scores.sums[n], n})
		s.scores.sums[n] = 0
	}
	s.scores.touched = s.scores.touched[:0]

	var top []candidate
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
	s.levels.sort(top, ix.compare)
	return top[:min(k, len(top))]
}

// countPostings returns the number of postings of terms.
func (ix *Index) countPostings(terms []queryTerm) (n int) {
	for _, q := range terms {
		if t, ok := ix.numbers[q.name]; ok {
			n += len(ix.postings[t].chunks)
		}
	}
	return n
}

// score adds to scores the BM25F score of every chunk that contains one of the terms, including
// deleted chunks. For n chunks, the score is the sum over the terms of
//
//	weight · ln(1 + (n-df+0.5)/(df+0.5)) · (k1+1) · tf/(tf+k1)
//
// where weight is that of the term in the query, df is the number of chunks that contain the term
// in any field, and tf is the sum of its occurrences in the fields, weighted by fieldWeights, those
// in the text divided by
//
//	norm = 1 - b + b·(length+slack)/(average+slack)
//
// for a text of length terms (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25
// and Beyond", 2009, section 3.6; the slack is an addition).
func (ix *Index) score(scores *sums, terms []queryTerm) {
	scores.grow(len(ix.chunks))
	norm := ix.lengthNorm()
	for _, q := range terms {
		t, ok := ix.numbers[q.name]
		if !ok {
			continue
		}
		gain := q.weight * ix.gain(t)
		p := &ix.postings[t]
		for i, n := range p.chunks {
			tf := weightedCount(ix.tally(t, n, p.tallies[i]), norm(ix.textLengths[n]))
			scores.add(n, gain*tf/(tf+ix.k1))
		}
	}
}

// gain returns the limit of what a term can add to a score.
func (ix *Index) gain(term uint32) float64 {
	return idf(ix.live, ix.postings[term].live) * (ix.k1 + 1)
}

// gains remembers idf, whose logarithm takes longer than all else that is done with a rare term.
type gains struct {
	live int
	idf  [256]float64 // by document frequency
}

// gainOf is Index.gain with the memory of a search.
func (g *gains) gainOf(ix *Index, term uint32) float64 {
	df := ix.postings[term].live
	if df >= len(g.idf) {
		return ix.gain(term)
	}
	if g.live != ix.live {
		*g = gains{live: ix.live}
	}
	if g.idf[df] == 0 {
		g.idf[df] = idf(ix.live, df)
	}
	return g.idf[df] * (ix.k1 + 1)
}

// idf returns the weight of a term that is found in df of n chunks. It is positive even for a term
// that all of them contain.
func idf(n, df int) float64 {
	return math.Log1p((float64(n-df) + 0.5) / (float64(df) + 0.5))
}

// compare orders live chunks by score descending, then by path and position ascending.
func (ix *Index) compare(a, b candidate) int {
	switch {
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	}
	x, y := &ix.chunks[a.chunk], &ix.chunks[b.chunk]
	return cmp.Or(cmp.Compare(x.doc.Path, y.doc.Path), cmp.Compare(x.ordinal, y.ordinal))
}
