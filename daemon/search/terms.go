package search

import (
	"cmp"
	"slices"
)

// maxQueryTerms bounds the terms of a query that are looked up, and so the time that a pasted
// conversation takes. A question has far fewer.
const maxQueryTerms = 128

// queryTerm is a term of a query. Its weight is (k3+1)·n/(k3+n) for n occurrences, which is 1 for
// one (Robertson and Zaragoza, 2009, see score).
type queryTerm struct {
	name   string
	weight float64
}

// queryTerms returns the terms of a query with their weights, see countTerms.
func (ix *Index) queryTerms(text string) []queryTerm {
	terms := countTerms(text)
	for i, t := range terms {
		terms[i].weight = (ix.k3 + 1) * t.weight / (ix.k3 + t.weight)
	}
	return terms
}

// countTerms returns the terms of a text without duplicates, in the order of their first
// occurrence, weighted by the number of their occurrences.
func countTerms(text string) []queryTerm {
	terms := []queryTerm{}
	places := map[string]int{}
	for _, t := range IndexTerms(text) {
		at, known := places[t]
		if !known {
			at = len(terms)
			terms, places[t] = append(terms, queryTerm{name: t}), at
		}
		terms[at].weight++
	}
	return terms
}

// heaviest returns the maxQueryTerms terms that can add most to a score, in their order, and the
// others. What a term can add is its weight times its gain: nothing if no chunk contains it, and
// little if most chunks do, which are also those that take the most time. Called with mu held.
func (ix *Index) heaviest(terms []queryTerm) (kept, leftOut []queryTerm) {
	if len(terms) <= maxQueryTerms {
		return terms, nil
	}
	gains, order := make([]float64, len(terms)), make([]int, len(terms))
	for i, t := range terms {
		order[i] = i
		if n, ok := ix.numbers[t.name]; ok && ix.postings[n].live > 0 {
			gains[i] = t.weight * ix.gain(n)
		}
	}
	slices.SortFunc(order, func(a, b int) int { // a total order: the earlier of two equal terms
		return cmp.Or(cmp.Compare(gains[b], gains[a]), cmp.Compare(a, b))
	})
	slices.Sort(order[:maxQueryTerms])
	slices.Sort(order[maxQueryTerms:])
	for i, at := range order {
		if i < maxQueryTerms {
			kept = append(kept, terms[at])
		} else {
			leftOut = append(leftOut, terms[at])
		}
	}
	return kept, leftOut
}

// nameSet returns the names of terms.
func nameSet(terms []queryTerm) map[string]bool {
	names := make(map[string]bool, len(terms))
	for _, t := range terms {
		names[t.name] = true
	}
	return names
}

func termNames(terms []queryTerm) []string {
	names := make([]string, len(terms))
	for i, t := range terms {
		names[i] = t.name
	}
	return names
}
