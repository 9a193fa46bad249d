package search

import (
	"slices"
)

// fusionConstant is k of reciprocal rank fusion. 60 is the value of Cormack, Clarke and Büttcher,
// "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods", 2009.
const fusionConstant = 60

// equalCosines is the range within which cosines differ by rounding only.
const equalCosines = 1e-6

// vectorLeg is the query's vector, and how its ranking is fused with the ranking by words.
type vectorLeg struct {
	unit []float32
	FusionRun
}

// fuse combines the ranking by words and the ranking by vectors. The candidates are the chunks of
// both. For share, see fuseRanks. Called with mu held.
func (ix *Index) fuse(v vectorLeg, words, near []candidate, share bool) leg {
	if v.Fusion == FusionRRF {
		return leg{name: componentFusion, candidates: ix.fuseRanks(v.Weight, words, near, share)}
	}
	cosines := ix.cosines(v.unit, words, near)
	return leg{
		name: componentFusion, candidates: ix.fuseScores(v.Weight, words, near, cosines), cosines: cosines,
	}
}

// fuseRanks combines by reciprocal rank fusion. The score of a chunk is
//
//	1 / (60 + rank by words) + weight / (60 + rank by vectors)
//
// with ranks from 1, without the summand of a ranking that did not find the chunk. If share is set,
// candidates of a ranking whose scores sortHits regards as equal share a rank, so that they are
// equal in the fusion too.
func (ix *Index) fuseRanks(weight float64, words, near []candidate, share bool) []candidate {
	scores := map[uint32]float64{}
	add := func(weight float64, candidates []candidate) {
		rank := 0
		for i, c := range candidates {
			if !share || i == 0 || roundScore(c.score) != roundScore(candidates[i-1].score) {
				rank = i + 1
			}
			scores[c.chunk] += weight / float64(fusionConstant+rank)
		}
	}
	add(1, words)
	add(weight, near)
	fused := make([]candidate, 0, len(scores))
	for n, score := range scores {
		fused = append(fused, candidate{score, n})
	}
	slices.SortFunc(fused, ix.compare)
	return fused
}

// fuseScores combines by scores, so that a ranking counts as far as it distinguishes the chunks.
// The score of a chunk is
//
//	words/best + weight·(cosine − mean)/(max − mean)
//
// where words is its score by words, or 0 if that ranking did not find it, best is the best score
// by words, and mean and max are over the cosines of all candidates. The second summand is 0 for a
// chunk without a vector, and for all if their cosines are equal. The first is 0 for all if no word
// was found.
func (ix *Index) fuseScores(weight float64, words, near []candidate, cosines map[uint32]float64) []candidate {
	fused := make([]candidate, len(words), len(words)+len(near))
	found := make(map[uint32]bool, len(words))
	for i, c := range words {
		fused[i] = candidate{c.score / words[0].score, c.chunk}
		found[c.chunk] = true
	}
	for _, c := range near {
		if !found[c.chunk] {
			fused = append(fused, candidate{0, c.chunk})
		}
	}
	mean, lowest, highest := spread(fused, cosines)
	if highest-lowest > equalCosines {
		for i, c := range fused {
			if cosine, known := cosines[c.chunk]; known {
				fused[i].score += weight * (cosine - mean) / (highest - mean)
			}
		}
	}
	slices.SortFunc(fused, ix.compare)
	return fused
}

// cosines returns the cosines of the candidates that have a vector.
func (ix *Index) cosines(query []float32, words, near []candidate) map[uint32]float64 {
	known := make(map[uint32]float64, len(words)+len(near))
	for _, c := range near {
		known[c.chunk] = c.score
	}
	for _, c := range words {
		if _, have := known[c.chunk]; !have && ix.vectors.Has(c.chunk) {
			known[c.chunk] = ix.vectors.Cosine(query, c.chunk)
		}
	}
	return known
}

// spread returns the mean, the lowest and the highest cosine of the candidates that have one. It
// adds in the order of the candidates, because the random order of a map would vary the last bits.
func spread(candidates []candidate, cosines map[uint32]float64) (mean, lowest, highest float64) {
	sum, n := 0., 0.
	for _, c := range candidates {
		cosine, known := cosines[c.chunk]
		if !known {
			continue
		}
		if n == 0 {
			lowest, highest = cosine, cosine
		}
		lowest, highest = min(lowest, cosine), max(highest, cosine)
		sum, n = sum+cosine, n+1
	}
	return sum / max(n, 1), lowest, highest
}
