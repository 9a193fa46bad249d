package search

import "slices"

// fusionConstant is k of reciprocal rank fusion. 60 is the value of Cormack, Clarke and Büttcher,
// "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods", 2009.
const fusionConstant = 60

// leg is one ranking of chunks.
type leg struct {
	name       string // the component constant of its scores
	weight     float64
	candidates []candidate // best first
	parts      []features  // of the scores, in the same order; nil where they have none
}

// fuse combines rankings. The score of a chunk is the sum, over the legs that found it, of
//
//	weight / (60 + rank)
//
// with ranks from 1. If share is set, candidates of a leg whose scores sortHits regards as equal
// have the same rank, so that they are equal in the fusion as well. Called with mu held.
func (ix *Index) fuse(legs []leg, share bool) []candidate {
	scores := map[uint32]float64{}
	for _, l := range legs {
		rank := 0
		for i, c := range l.candidates {
			if !share || i == 0 || roundScore(c.score) != roundScore(l.candidates[i-1].score) {
				rank = i + 1
			}
			scores[c.chunk] += l.weight / float64(fusionConstant+rank)
		}
	}
	fused := make([]candidate, 0, len(scores))
	for n, score := range scores {
		fused = append(fused, candidate{score, n})
	}
	slices.SortFunc(fused, ix.compare)
	return fused
}
