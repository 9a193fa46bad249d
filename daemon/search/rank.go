package search

import (
	"cmp"
	"evalctl/daemon/search/document"
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

// extent is what decides the norm of a text: twice the number of its terms or, for a piece of a
// longer document, twice length + (length+slack)·scope·ln(pieces), rounded, plus 1.
type extent uint16

func (ix *Index) extent(length uint16, pieces uint32) extent {
	if pieces == 1 {
		return extent(2 * length)
	}
	more := (float64(length) + ix.slack) * ix.scope * math.Log(float64(pieces))
	return extent(2*math.Round(float64(length)+more)) + 1
}

func (e extent) whole() bool { return e&1 == 0 }

// lengthNorm computes norm, as defined at score, without branches, which would be predicted badly:
// it is the lower of two lines, of which the second one depends on whether the text is a piece.
type lengthNorm struct {
	line  line
	other [2]line
}

type line struct{ fixed, perTerm float64 }

func (ix *Index) lengthNorm() lengthNorm {
	average := float64(ix.totals[textField]) / float64(max(ix.live, 1))
	perTerm := ix.b / (average + ix.slack)
	l := line{1 - ix.b + perTerm*ix.slack, perTerm}
	beyond := line{1 - ix.beyond + ix.beyond*l.fixed, ix.beyond * perTerm}
	return lengthNorm{line: l, other: [2]line{beyond, l}}
}

func (n *lengthNorm) of(e extent) float64 {
	length, other := float64(e/2), n.other[e%2]
	return min(n.line.fixed+n.line.perTerm*length, other.fixed+other.perTerm*length)
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
func (ix *Index) best(terms []queryTerm, keep func(*document.Document) bool, k int) []candidate {
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
// for a text of length terms. Of the norm of a whole document, what exceeds 1 is multiplied by
// beyond: such a text is long because its author had more to say, but a piece is as long as it was
// cut. For a piece, length+slack is multiplied by 1 + scope·ln(pieces of the document), because a
// document has as many chances to be found as it has pieces (Robertson and Zaragoza, "The
// Probabilistic Relevance Framework: BM25 and Beyond", 2009, section 3.6; slack, beyond and scope
// are additions).
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
			tf := weightedCount(ix.tally(t, n, p.tallies[i]), norm.of(ix.extents[n]))
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
