package aggregate

import (
	"maps"
	"math"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// clustered returns the uncertainty of the pass rate of res by clusters: those of its cluster tag,
// or else its questions, if they are asked several times. It is nil without clusters, for fewer
// than two records, and if a record is not in exactly one cluster.
func (s *Sum) clustered(res *result.Result) *result.Clustered {
	tag := res.Settings.ClusterTag
	clusters := map[string]attempts{}
	switch {
	case tag != "":
		for t, f := range s.tags {
			if strings.HasPrefix(t, tag+":") {
				clusters[t] = attempts{f.Total, f.Passed}
			}
		}
	case res.Identity.Dataset.Repeats > 1:
		clusters = s.repeats.clustersOf("")
	default:
		return nil
	}
	m, n := meanOf(clusters)
	if n < 2 || n != s.counts.Total {
		return nil
	}
	out := &result.Clustered{Tag: tag, Clusters: m.Clusters, NaiveSE: m.NaiveSE}
	if !math.IsNaN(m.SE) {
		out.SE, out.Interval = &m.SE, clusterInterval(m)
	}
	return out
}

// meanOf returns the pass rate over clusters, and the number of attempts in them.
func meanOf(clusters map[string]attempts) (m stats.ClusteredMean, n int) {
	// In order, so that the sums do not depend on that of the records.
	var values []float64
	var labels []int
	for i, name := range slices.Sorted(maps.Keys(clusters)) {
		for _, v := range clusters[name].outcomes() {
			values, labels = append(values, v), append(labels, i)
		}
	}
	return stats.Clustered(values, labels, confidence), len(values)
}

// tagInterval returns the interval of the pass rate of a tag, nil if there is none. Repeats of a
// question are alike; if they allow no interval, it is Wilson's over all attempts.
func (s *Sum) tagInterval(tag string, n result.Counts) *result.Interval {
	if len(s.repeats.questions) > 0 {
		m, _ := meanOf(s.repeats.clustersOf(tag))
		if i := clusterInterval(m); i != nil {
			return i
		}
	}
	return PassInterval(n)
}

// clusterInterval returns the interval of a pass rate. If all questions passed, or none did, the t
// interval has no width however few they are; then it is Wilson's with a question for each cluster.
func clusterInterval(m stats.ClusteredMean) *result.Interval {
	switch {
	case m.SE > 0:
		return &result.Interval{
			Method: "clustered_t", Confidence: confidence, Low: max(0, m.Lo), High: min(1, m.Hi),
		}
	case m.Mean == 0 || m.Mean == 1:
		lo, hi := stats.Wilson(int(m.Mean)*m.Clusters, m.Clusters, confidence)
		return &result.Interval{Method: "wilson_clusters", Confidence: confidence, Low: lo, High: hi}
	}
	return nil
}
