package search

import "evalctl/daemon/search/document"

// Search ranks by words alone and collapses nothing, so that every chunk that is found can be
// compared with the score that it should have.
func (ix *Index) Search(q Query) Result {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	terms, _ := ix.heaviest(ix.queryTerms(q.Text))
	return ix.ranking(q, ix.all(q), terms)
}

// SearchInstead is Search that also looks for what a search looks for if it knows no word.
func (ix *Index) SearchInstead(q Query) Result {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	from, terms, _, _ := ix.lookFor(q, ix.all(q))
	return ix.ranking(q, from, terms)
}

// all is the source of a query without conditions.
func (ix *Index) all(q Query) source {
	return source{keep: func(d *document.Document) bool { return q.Filter.keep(d, q.AsOf) }}
}

func (ix *Index) ranking(q Query, from source, terms []queryTerm) Result {
	k := q.TopK
	if k <= 0 {
		k = defaultTopK
	}
	res := Result{Hits: []Hit{}, Mode: ModeBM25}
	top, parts := ix.lexical(q, terms, from, k)
	for i, c := range top {
		h := ix.hit(c, ix.termSet(terms))
		h.Components = map[string]float64{}
		parts[i].components(h.Components)
		res.Hits = append(res.Hits, h)
	}
	return res
}
