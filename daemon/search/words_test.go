package search

import "evalctl/daemon/search/document"

// Search ranks by words alone and collapses nothing, so that every chunk that is found can be
// compared with the score that it should have.
func (ix *Index) Search(q Query) Result {
	k := q.TopK
	if k <= 0 {
		k = defaultTopK
	}
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	terms, _ := ix.heaviest(ix.queryTerms(q.Text))
	res := Result{Hits: []Hit{}, Mode: ModeBM25}
	keep := func(d *document.Document) bool { return q.Filter.keep(d, q.AsOf) }
	top, parts := ix.lexical(q, terms, source{keep: keep}, k)
	for i, c := range top {
		h := ix.hit(c, ix.termSet(terms))
		h.Components = map[string]float64{}
		parts[i].components(h.Components)
		res.Hits = append(res.Hits, h)
	}
	return res
}
