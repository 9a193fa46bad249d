package text

import (
	"fmt"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// fewClusters is the number of clusters below which a clustered standard error is imprecise
// (Miller 2024).
const fewClusters = 20

// printClustered prints the interval of the pass rate that respects that questions of a cluster, or
// repeats of a question, are alike.
func printClustered(t *terminal.Terminal, res result.Result) {
	c := res.Clustered
	if c == nil {
		return
	}
	by := terminal.Line(c.Tag)
	clusters := figure.Count(c.Clusters, "cluster")
	if c.Tag == "" {
		by, clusters = "question", figure.Count(c.Clusters, "question")
	}
	if c.Clusters < fewClusters {
		clusters += fmt.Sprintf("; fewer than %d is few", fewClusters)
	}
	switch {
	case c.SE == nil:
		t.Field("clustered", "no interval: all questions are in one cluster of %s", by)
	case c.Interval == nil:
		t.Field("clustered", "no interval: every cluster of %s has the same pass rate  (%s)", by, clusters)
	default:
		t.Field("clustered", "%s %.3f–%.3f, clusters: %s  (%s)   believe this one: Wilson's takes them as independent",
			c.Interval.Name(), c.Interval.Low, c.Interval.High, by, clusters)
	}
}

// listedFlaky is the maximum number of flaky questions in the report.
const listedFlaky = 10

// printRepeats prints how the repeats of questions differ.
func printRepeats(t *terminal.Terminal, res result.Result) {
	r := res.Repeats
	if r == nil || len(r.At) == 0 {
		return
	}
	k := r.K
	t.Field("repeats", "%d   pass@1 %.3f  pass@%d %.3f  pass^%d %.3f", k, r.At[0].PassAt, k, r.At[k-1].PassAt, k, r.At[k-1].PassHat)
	flaky := fmt.Sprintf("flaky %d", len(r.Flaky))
	if len(r.Flaky) > 0 {
		flaky += " (" + flakyNames(r.Flaky) + ")"
	}
	t.Field("", "stable %d  %s  never %d", r.Stable, flaky, r.Never)
	if r.QuestionVariance != nil {
		t.Field("", "variance  between questions %.3f  between runs %.3f", *r.QuestionVariance, *r.RunVariance)
	}
}

// flakyNames lists flaky questions with how often they passed.
func flakyNames(flaky []result.FlakyQuestion) string {
	var names []string
	for i, q := range flaky {
		if i == listedFlaky {
			names = append(names, fmt.Sprintf("and %d more", len(flaky)-i))
			break
		}
		names = append(names, fmt.Sprintf("%s %d/%d", terminal.Short(q.ID, 40), q.Passed, q.Asked))
	}
	return strings.Join(names, ", ")
}
