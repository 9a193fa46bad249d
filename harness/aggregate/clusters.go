package aggregate

import (
	"maps"
	"math"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// clustered returns the uncertainty of the pass rate of res over its clusters. It is nil without
// clusters, for fewer than two records, and if a record is not in exactly one cluster.
func (s *Sum) clustered(res *result.Result) *result.ClusteredRate {
	_, clusters := s.clusters(res)
	if clusters == nil {
		return nil
	}
	return clusteredBy(clusterTag(res), clusters, s.counts.Total)
}

// clusters returns the clusters of all questions and their kind: by the cluster tag of res, or else
// by question if questions are repeated. It returns nil if the questions are independent.
func (s *Sum) clusters(res *result.Result) (kind string, clusters map[string]attempts) {
	if tag := clusterTag(res); tag != "" {
		return tag, inClusters(s.both[""], tag)
	}
	if res.Identity.Dataset.Repeats <= 1 {
		return "", nil
	}
	clusters = map[string]attempts{}
	for id, n := range s.repeats.clustersOf("") {
		clusters[questionCluster+":"+id] = n
	}
	return questionCluster, clusters
}

// inClusters returns the entries of counts whose tags name a cluster of this kind.
func inClusters(counts map[string]*attempts, cluster string) map[string]attempts {
	out := map[string]attempts{}
	for tag, n := range counts {
		if inCluster(tag, cluster) {
			out[tag] = *n
		}
	}
	return out
}

// inCluster reports whether a tag names a cluster of the tag cluster, such as topic:garden of
// topic.
func inCluster(tag, cluster string) bool {
	return cluster != "" && strings.HasPrefix(tag, cluster+":")
}

// tagClusters returns the clusters of the questions with a tag, and the tag that names the
// clusters. It returns nil if the questions are independent. Questions of a single cluster also
// count as independent if they are asked once.
func (s *Sum) tagClusters(res *result.Result, tag string) (string, map[string]attempts) {
	cluster := clusterTag(res)
	if cluster != "" && !inCluster(tag, cluster) {
		return cluster, inClusters(s.both[tag], cluster)
	}
	if len(s.repeats.questions) > 0 {
		return "", s.repeats.clustersOf(tag)
	}
	return "", nil
}

// clusteredTag is clustered for questions with a tag.
func (s *Sum) clusteredTag(res *result.Result, tag string) *result.ClusteredRate {
	name, clusters := s.tagClusters(res, tag)
	if clusters == nil || s.tags[tag] == nil {
		return nil
	}
	return clusteredBy(name, clusters, s.tags[tag].Total)
}

// clusteredBy returns the uncertainty of the pass rate of total records over clusters of a tag. It
// is nil for fewer than two records, or if the clusters do not contain exactly total.
func clusteredBy(tag string, clusters map[string]attempts, total int) *result.ClusteredRate {
	outcomes, labels := outcomesOf(clusters)
	if len(outcomes) != total {
		return nil
	}
	return Clustered(tag, outcomes, labels)
}

// Clustered returns the uncertainty of the mean of outcomes, each 0 or 1, over the clusters that
// labels name. It is nil for fewer than two outcomes.
func Clustered(tag string, outcomes []float64, labels []int) *result.ClusteredRate {
	if len(outcomes) < 2 {
		return nil
	}
	m := stats.Clustered(outcomes, labels, confidence)
	out := &result.ClusteredRate{Tag: tag, Clusters: m.Clusters, NaiveSE: m.NaiveSE}
	if !math.IsNaN(m.SE) {
		out.SE, out.Interval = &m.SE, clusterInterval(m)
	}
	return out
}

// meanOf returns the pass rate over clusters and their number of attempts.
func meanOf(clusters map[string]attempts) (m stats.ClusteredMean, n int) {
	outcomes, labels := outcomesOf(clusters)
	return stats.Clustered(outcomes, labels, confidence), len(outcomes)
}

// outcomesOf returns the outcomes of clusters, each with a number for its cluster.
func outcomesOf(clusters map[string]attempts) (outcomes []float64, labels []int) {
	// Sorted so that sums do not depend on the order of the records.
	for i, name := range slices.Sorted(maps.Keys(clusters)) {
		for _, v := range clusters[name].outcomes() {
			outcomes, labels = append(outcomes, v), append(labels, i)
		}
	}
	return outcomes, labels
}

// tagInterval returns the interval of a tag's pass rate: over clusters if the questions have any,
// else Wilson's. It is nil if there is only a single cluster, for example.
func (s *Sum) tagInterval(res *result.Result, tag string, n result.Counts) *result.Interval {
	_, clusters := s.tagClusters(res, tag)
	if clusters == nil || n.Total < 2 {
		return PassInterval(n)
	}
	m, _ := meanOf(clusters)
	return clusterInterval(m)
}

// clusterInterval returns the interval of a pass rate over clusters. If all questions passed or
// none did, the t interval has no width however few there are; Wilson's interval is then used with
// one question per cluster.
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
