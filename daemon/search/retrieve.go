package search

import (
	"cmp"
	"fmt"
)

// Limits and defaults of a query of a Searcher.
const (
	// defaultCandidateK is the least default of Query.CandidateK.
	defaultCandidateK = 100
	maxCandidateK     = 1000
	defaultRerankTopN = 50
	maxRerankTopN     = 200
	// maxDuplicates bounds Hit.Duplicates.
	maxDuplicates = 20
)

// withDefaults fills in what was left open and checks the rest.
func (q Query) withDefaults() (Query, error) {
	q.TopK = cmp.Or(q.TopK, defaultTopK)
	q.CandidateK = cmp.Or(q.CandidateK, min(max(defaultCandidateK, 4*q.TopK), maxCandidateK))
	q.RerankTopN = cmp.Or(q.RerankTopN, defaultRerankTopN)
	switch {
	case q.TopK < 0:
		return q, fmt.Errorf("top_k %d is below 1", q.TopK)
	case q.CandidateK < 0 || q.CandidateK > maxCandidateK:
		return q, fmt.Errorf("candidate_k %d is not between 1 and %d", q.CandidateK, maxCandidateK)
	case q.RerankTopN < 0 || q.RerankTopN > maxRerankTopN:
		return q, fmt.Errorf("rerank_top_n %d is not between 1 and %d", q.RerankTopN, maxRerankTopN)
	}
	return q, cmp.Or(q.Filter.check(), q.Sort.check())
}

// vectorLeg is what a mode needs to know of the query's vector.
type vectorLeg struct {
	unit   []float32
	weight float64 // of the leg in a fusion
}

// retrieve ranks by a mode that is not Auto, but for reranking; BM25 needs no
// vector. It gives more than TopK hits when they are to be reranked.
func (ix *Index) retrieve(mode Mode, q Query, vector vectorLeg) Result {
	terms, wanted := queryTerms(q.Text)
	n, depth := q.TopK, max(q.CandidateK, q.TopK) // also of one leg: hits may have duplicates among them
	if mode == modeHybridRerank {
		n = max(q.TopK, q.RerankTopN)
	}
	if q.Sort == sortRelevanceThenRecency { // which of equals is the newest is seen among all of them
		n = max(n, q.CandidateK)
	}
	keep := func(d *Document) bool { return q.Filter.keep(d, q.AsOf) }
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	for {
		legs := ix.legs(mode, q, terms, vector, keep, depth)
		ranked := legs[len(legs)-1].candidates
		groups := ix.collapse(ranked, n)
		// Duplicates may have taken the places of others.
		if len(groups) >= q.TopK && len(groups) == min(n, len(ranked)) || exhausted(legs, depth) {
			ix.promoteNewest(groups, q.Sort)
			return ix.result(mode, q, terms, wanted, legs, groups)
		}
		depth *= 4
	}
}

// queryTerms are the terms of a query without duplicates, as a list and as a set.
func queryTerms(text string) (terms []string, wanted map[string]bool) {
	terms, wanted = []string{}, map[string]bool{}
	for _, t := range indexTerms(text) {
		if !wanted[t] {
			terms, wanted[t] = append(terms, t), true
		}
	}
	return terms, wanted
}

// legs gives the rankings of a mode, each of at most depth chunks. The last one
// is that of the result. Called with mu held.
func (ix *Index) legs(mode Mode, q Query, terms []string, vector vectorLeg, keep func(*Document) bool, depth int) []leg {
	var legs []leg
	if mode != modeSemantic {
		l := leg{name: componentBM25, weight: 1}
		l.candidates, l.parts = ix.lexical(q, terms, keep, depth)
		legs = append(legs, l)
	}
	if mode != modeBM25 {
		legs = append(legs, leg{name: componentVector, weight: vector.weight, candidates: ix.nearest(vector.unit, keep, depth)})
	}
	if len(legs) > 1 {
		legs = append(legs, leg{name: componentFusion, candidates: ix.fuse(legs, q.Sort == sortRelevanceThenRecency)})
	}
	return legs
}

// exhausted reports that deeper legs would find nothing more.
func exhausted(legs []leg, depth int) bool {
	for _, l := range legs {
		if l.name != componentFusion && len(l.candidates) == depth {
			return false
		}
	}
	return true
}

// result makes hits of groups. Called with mu held.
func (ix *Index) result(mode Mode, q Query, terms []string, wanted map[string]bool, legs []leg, groups []group) Result {
	res := Result{Hits: make([]Hit, len(groups)), Mode: mode}
	components := make(map[uint32]map[string]float64, len(groups))
	for i, g := range groups {
		h := ix.hit(g.candidate, wanted)
		h.MoreDuplicates = max(0, len(g.duplicates)-maxDuplicates)
		for _, d := range g.duplicates[:len(g.duplicates)-h.MoreDuplicates] {
			h.Duplicates = append(h.Duplicates, Duplicate{ChunkID: ix.chunkID(d.chunk), Path: ix.chunks[d.chunk].doc.Path})
		}
		h.Components = map[string]float64{}
		components[g.chunk] = h.Components
		res.Hits[i] = h
	}
	for _, l := range legs {
		for i, c := range l.candidates {
			if into := components[c.chunk]; into != nil {
				l.components(i, into)
			}
		}
	}
	if q.Explain {
		res.Explanation = ix.explain(terms, legs, q.CandidateK)
	}
	return res
}
