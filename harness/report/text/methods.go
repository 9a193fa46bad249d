package text

import (
	"fmt"
	"slices"

	"evalctl/harness/compare"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// printLegend says how the figures of the table were computed.
func printLegend(t *terminal.Terminal, c *compare.Comparison) {
	test, within := "exact McNemar", "Newcombe, paired"
	switch {
	case c.ClusterTag != "":
		test = clusterFlips(c)
		within = "what the test does not reject"
	case c.Repeated:
		test, within = fmt.Sprintf("sign flips, seed %d", c.Seed), "t, paired by question"
	}
	t.Field("methods", "95%% intervals: Wilson for rates; %s for differences, not adjusted  p: %s, adjusted by Holm over %s",
		within, test, figure.Count(c.Tests, "test"))
}

// clusterFlips describes the test of clusters. Pairs differ in their number of clusters if
// questions have no score.
func clusterFlips(c *compare.Comparison) string {
	var clusters []int
	resampled, exact := false, false
	for _, p := range c.Pairs {
		clusters = append(clusters, p.Clusters)
		resampled, exact = resampled || p.Resampled(), exact || p.Test == "sign_flip_clusters_exact"
	}
	least, most := slices.Min(clusters), slices.Max(clusters)
	of := figure.Count(most, "cluster")
	if least < most {
		of = fmt.Sprintf("%d to %s", least, of)
	}
	text := fmt.Sprintf("sign flips of %s by %s", of, terminal.Short(c.ClusterTag, 32))
	if !resampled {
		return text
	}
	text += fmt.Sprintf(", %d resamples, seed %d", c.Resamples, c.Seed)
	if exact {
		text += " (p by all signs if few clusters differ)"
	}
	return text
}

// printClusteredRates prints the intervals of the runs that respect that the questions of a cluster, or
// the repeats of a question, are alike.
func printClusteredRates(t *terminal.Terminal, c *compare.Comparison) {
	for i, r := range c.Runs {
		k := r.Clustered
		if k == nil || k.Interval == nil {
			continue
		}
		by := terminal.Short(k.Tag, 32)
		if k.Tag == "" {
			by = "question, whose repeats are alike"
		}
		t.Field("clustered", "%s  %s  95%% t interval over %s by %s", runName(c, i), rateWithin(r.PassRate, k.Interval),
			figure.Count(k.Clusters, "cluster"), by)
	}
}
