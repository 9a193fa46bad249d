package text

import (
	"testing"

	"evalctl/harness/compare"
)

// TestClusterFlips checks that the legend is true of every pair.
func TestClusterFlips(t *testing.T) {
	pair := func(clusters int, test string) compare.Pair {
		return compare.Pair{Table: compare.Table{Clusters: clusters, Test: test}}
	}
	ties, exactly := pair(25, "sign_flip_clusters_exact"), " (p by all signs if few clusters differ)"
	few, many := pair(12, "sign_flip_clusters_exact"), pair(15, "sign_flip_clusters")
	for want, pairs := range map[string][]compare.Pair{
		"sign flips of 12 clusters by c":                                          {few, few},
		"sign flips of 15 clusters by c, 10000 resamples, seed 1":                 {many},
		"sign flips of 12 to 15 clusters by c, 10000 resamples, seed 1" + exactly: {many, few},
		"sign flips of 25 clusters by c, 10000 resamples, seed 1" + exactly:       {ties},
	} {
		c := &compare.Comparison{ClusterTag: "c", Resamples: 10_000, Seed: 1, Pairs: pairs}
		if got := clusterFlips(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
