package aggregate

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/scorer"
)

// measure is a metric of one ranking.
type measure struct {
	name string
	of   func(scorer.Ranking) float64
}

// depths returns the depths to measure for this top-k.
func depths(topK int) []int {
	ks := slices.DeleteFunc([]int{1, 3, 5, 10}, func(k int) bool { return k >= topK })
	return append(ks, topK)
}

// measuresOfEvidence returns the metrics that remain valid if several pieces of evidence share a
// rank. Some of the others would not be between 0 and 1.
func measuresOfEvidence(ks []int) []measure {
	return slices.DeleteFunc(measuresAt(ks), func(m measure) bool {
		name, _, _ := strings.Cut(m.name, "@")
		return !slices.Contains([]string{"recall", "any", "all", "mrr"}, name)
	})
}

// measuresAt returns the ranking metrics at these depths, and the metrics without a depth.
func measuresAt(ks []int) []measure {
	var out []measure
	for _, k := range ks {
		for _, m := range []struct {
			name string
			at   func(scorer.Ranking, int) float64
		}{
			{"recall", scorer.Ranking.RecallAt},
			{"any", scorer.Ranking.AnyAt},
			{"all", scorer.Ranking.AllAt},
			{"precision", scorer.Ranking.PrecisionAt},
			{"success", scorer.Ranking.SuccessAt},
			{"ndcg", scorer.Ranking.NDCGAt},
		} {
			of := func(r scorer.Ranking) float64 { return m.at(r, k) }
			out = append(out, measure{fmt.Sprintf("%s@%d", m.name, k), of})
		}
	}
	return append(out,
		measure{"mrr", scorer.Ranking.ReciprocalRank}, measure{"map", scorer.Ranking.AveragePrecision})
}
