package search

import "slices"

// fusionConstant is k of reciprocal rank fusion. 60 is the value of Cormack,
// Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and
// individual Rank Learning Methods", 2009.
const fusionConstant = 60

// leg is one ranking of chunks.
type leg struct {
	name       string // the Component constant of its scores
	weight     float64
	candidates []candidate // best first
	parts      []evidence  // of the scores, in the same order; nil where they have none
}

// fuse joins rankings: a chunk scores the sum, over the legs that found it, of
//
//	weight / (60 + rank)
//
// with ranks from 1. Called with mu held.
func (ix *Index) fuse(legs []leg) []candidate {
	scores := map[uint32]float64{}
	for _, l := range legs {
		for i, c := range l.candidates {
			scores[c.chunk] += l.weight / float64(fusionConstant+i+1)
		}
	}
	fused := make([]candidate, 0, len(scores))
	for n, score := range scores {
		fused = append(fused, candidate{score, n})
	}
	slices.SortFunc(fused, ix.compare)
	return fused
}
