package search

import (
	"cmp"
	"math"
	"slices"
)

// candidate is a chunk with its score while the best are being chosen.
type candidate struct {
	score float64
	chunk uint32
}

// scratch is the working memory of one search. Between searches all scores are
// zero.
type scratch struct {
	scores  []float64 // by chunk number
	touched []uint32  // the chunks that have a score
}

// fieldWeights say how much an occurrence in a field counts. A path says little
// of its own: folders are shared, and the file name is often the title.
var fieldWeights = [fieldCount]float64{textField: 1, titleField: 1, pathField: 0.25, labelsField: 1}

// weightedLength is the length of a chunk as score sees it.
func weightedLength(lengths [fieldCount]uint32) float32 {
	sum := 0.0
	for field, n := range lengths {
		sum += fieldWeights[field] * float64(n)
	}
	return float32(sum)
}

// lexical gives the k best chunks for the terms, best first, of the documents
// that keep accepts; nil accepts all. Called with mu held.
func (ix *Index) lexical(terms []string, keep func(*Document) bool, k int) []candidate {
	s := ix.scratch.Get().(*scratch)
	defer ix.scratch.Put(s)
	ix.score(s, terms)

	var top []candidate // a heap with the worst on top
	for _, n := range s.touched {
		c := candidate{s.scores[n], n}
		s.scores[n] = 0
		if len(top) == k && c.score < top[0].score {
			continue
		}
		doc := ix.chunks[n].doc
		if doc == nil || keep != nil && !keep(&doc.Document) {
			continue
		}
		if len(top) < k {
			top = append(top, c)
			ix.siftUp(top)
		} else if ix.compare(c, top[0]) < 0 {
			top[0] = c
			ix.siftDown(top)
		}
	}
	s.touched = s.touched[:0]
	slices.SortFunc(top, ix.compare)
	return top
}

// score adds up the scores of all chunks that contain one of the terms, deleted
// chunks included. For n chunks of the average length avg, the score is the sum
// over the terms of
//
//	ln(1 + (n-df+0.5)/(df+0.5)) · tf·(k1+1) / (tf + k1·(1-b+b·length/avg))
//
// where tf and length are sums over the fields, weighted by fieldWeights
// (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
// Beyond", 2009, section 3.6, with one b for all fields), and df counts the
// chunks with the term in any field.
func (ix *Index) score(s *scratch, terms []string) {
	if missing := len(ix.chunks) - len(s.scores); missing > 0 {
		s.scores = append(s.scores, make([]float64, missing)...)
	}
	total := 0.0
	for field, n := range ix.totals {
		total += fieldWeights[field] * float64(n)
	}
	fixed, perLength := ix.k1*(1-ix.b), ix.k1*ix.b*float64(ix.live)/total
	for _, name := range terms {
		t, ok := ix.numbers[name]
		if !ok {
			continue
		}
		p := &ix.postings[t]
		gain := idf(ix.live, p.live) * (ix.k1 + 1)
		for _, at := range p.list {
			// Every score is positive, so zero means not seen yet.
			if s.scores[at.chunk] == 0 {
				s.touched = append(s.touched, at.chunk)
			}
			tf := 0.0
			for field, n := range at.counts {
				tf += fieldWeights[field] * float64(n)
			}
			s.scores[at.chunk] += gain * tf / (tf + fixed + perLength*float64(ix.weighted[at.chunk]))
		}
	}
}

// idf weighs a term found in df of n chunks. It is positive even for a term
// found in all of them.
func idf(n, df int) float64 {
	return math.Log1p((float64(n-df) + 0.5) / (float64(df) + 0.5))
}

// compare orders live chunks by score descending, path ascending, position
// ascending.
func (ix *Index) compare(a, b candidate) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	x, y := &ix.chunks[a.chunk], &ix.chunks[b.chunk]
	return cmp.Or(cmp.Compare(x.doc.Path, y.doc.Path), cmp.Compare(x.ordinal, y.ordinal))
}

func (ix *Index) siftUp(top []candidate) {
	for i := len(top) - 1; i > 0; {
		parent := (i - 1) / 2
		if ix.compare(top[parent], top[i]) > 0 {
			return
		}
		top[parent], top[i] = top[i], top[parent]
		i = parent
	}
}

func (ix *Index) siftDown(top []candidate) {
	for i, worst := 0, 1; worst < len(top); worst = 2*i + 1 {
		if right := worst + 1; right < len(top) && ix.compare(top[right], top[worst]) > 0 {
			worst = right
		}
		if ix.compare(top[i], top[worst]) > 0 {
			return
		}
		top[i], top[worst] = top[worst], top[i]
		i = worst
	}
}
