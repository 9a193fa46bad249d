package search

import "slices"

// addPhrases raises the scores of chunks that contain two words of the query next to each other, in
// the same order as in the query. Stop words do not count. The query has its terms in order,
// including duplicates; a pair that it repeats counts once.
func (ix *Index) addPhrases(query []string, best []scored) {
	type pair struct {
		first, second uint32
		gain          float64
		count         int
	}
	var pairs []pair
	var wanted uint64 // a set of first terms by their last six bits, to skip most words quickly
	for i := range len(query) - 1 {
		a, knownA := ix.numbers[query[i]]
		b, knownB := ix.numbers[query[i+1]]
		if !knownA || !knownB || a == b {
			continue
		}
		if !slices.ContainsFunc(pairs, func(p pair) bool { return p.first == a && p.second == b }) {
			pairs = append(pairs, pair{a, b, ix.weights.phrase * min(ix.gain(a), ix.gain(b)), 0})
			wanted |= 1 << (a & 63)
		}
	}
	if len(pairs) == 0 {
		return
	}
	for i := range best {
		text := ix.chunks[best[i].chunk].textTerms()
		for at := range len(text) - 1 {
			if wanted>>(text[at]&63)&1 == 0 {
				continue
			}
			for p := range pairs {
				if pairs[p].first == text[at] && pairs[p].second == text[at+1] {
					pairs[p].count++
				}
			}
		}
		for p := range pairs {
			n := float64(pairs[p].count)
			best[i].phrase += pairs[p].gain * n / (n + 1)
			pairs[p].count = 0
		}
	}
}
