// Package plaintest implements textbook BM25, with which rankings are compared: whole documents,
// only their text, and a word of the query as often as it occurs (Robertson and Zaragoza, The
// Probabilistic Relevance Framework, 2009, section 3.5, without k3).
package plaintest

import (
	"cmp"
	"math"
	"slices"
)

// Document is a document without its title.
type Document struct{ Path, Text string }

// BM25 ranks the documents that it was made of. It never changes.
type BM25 struct {
	docs    []Document
	terms   func(text string) []string
	lengths []float64
	average float64
	of      map[string][]posting
}

// posting is a document that contains a term.
type posting struct {
	doc   int
	count float64
}

// New counts the terms of documents. terms returns the terms of a text or a question in order,
// including duplicates.
func New(docs []Document, terms func(text string) []string) *BM25 {
	p := &BM25{docs: docs, terms: terms, of: map[string][]posting{}}
	for i, d := range docs {
		counts, length := map[string]float64{}, 0.
		for _, t := range terms(d.Text) {
			counts[t]++
			length++
		}
		for t, n := range counts {
			p.of[t] = append(p.of[t], posting{i, n})
		}
		p.lengths = append(p.lengths, length)
		p.average += length / float64(len(docs))
	}
	return p
}

// Rank returns the paths of the k best documents that keep accepts, best first, equal ones by path.
// A document that contains no term of the question is not ranked.
func (p *BM25) Rank(question string, k1, b float64, k int, keep func(path string) bool) []string {
	scores := make([]float64, len(p.docs))
	for _, t := range p.terms(question) {
		n, found := float64(len(p.docs)), float64(len(p.of[t]))
		for _, at := range p.of[t] {
			norm := k1 * (1 - b + b*p.lengths[at.doc]/p.average)
			scores[at.doc] += math.Log1p((n-found+.5)/(found+.5)) * at.count / (at.count + norm)
		}
	}
	var order []int
	for i, score := range scores {
		if score > 0 && keep(p.docs[i].Path) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(scores[j], scores[i]), cmp.Compare(p.docs[i].Path, p.docs[j].Path))
	})
	var paths []string
	for _, i := range order[:min(k, len(order))] {
		paths = append(paths, p.docs[i].Path)
	}
	return paths
}
