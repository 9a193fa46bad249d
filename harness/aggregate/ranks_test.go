package aggregate

import (
	"slices"
	"testing"

	"evalctl/harness/result"
)

// TestOmitRanks checks that only measures of sets at top-k are left, and are what is shown.
func TestOmitRanks(t *testing.T) {
	all := func() result.Metrics {
		return result.Metrics{"recall@5": 1, "recall@10": 1, "any@10": 1, "all@10": 1, "precision@10": 1, "success@10": 1, "ndcg@10": 1, "mrr": 1, "map": 1}
	}
	r := &result.Retrieval{
		Ks: []int{1, 3, 5, 10}, Macro: all(), Micro: all(), Intervals: map[string]result.Interval{"mrr": {}, "recall@10": {}},
		ByTag: map[string]*result.TagMeans{"x": {Macro: all(), Micro: all()}},
	}
	omitRanks(r)
	if got := r.PrimaryMetrics(); !slices.Equal(got, []string{"recall@10", "any@10", "all@10"}) {
		t.Errorf("shown are %q", got)
	}
	if len(r.Macro) != 5 || len(r.Micro) != 5 || len(r.Intervals) != 1 || len(r.ByTag["x"].Macro) != 5 {
		t.Errorf("left: %v", r)
	}
}
