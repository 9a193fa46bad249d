package text

import (
	"cmp"
	"fmt"
	"slices"

	"evalctl/harness/compare"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// printMeasures prints the differences of scores and of retrieval from the first run. A measure that is
// the same for every question of both runs has no row.
func printMeasures(t *terminal.Terminal, c *compare.Comparison) {
	rows := [][]string{{"mean of", "pair", "n", "this", "other", "difference, 95% CI", "p, Holm", ""}}
	for _, p := range c.Pairs {
		for _, m := range p.Measures {
			if p.Reference > 0 || m.Interval == nil && (c.ClusterTag == "" || m.Difference == 0) ||
				m.Interval != nil && m.Interval.Low == 0 && m.Interval.High == 0 {
				continue
			}
			difference := fmt.Sprintf("%+.3f", m.Difference)
			if m.Interval != nil {
				difference += fmt.Sprintf(" [%+.3f %+.3f]", m.Interval.Low, m.Interval.High)
			}
			rows = append(rows, []string{
				m.Name, pairName(c, p), fmt.Sprint(m.N), fmt.Sprintf("%.3f", m.RunMean), fmt.Sprintf("%.3f", m.ReferenceMean),
				difference,
				figure.Probability(m.P) + " → " + figure.Probability(m.Adjusted), comparedWord(t, m.Verdict),
			})
		}
	}
	if len(rows) == 1 {
		return
	}
	t.Blank()
	slices.SortStableFunc(rows[1:], func(x, y []string) int { return cmp.Compare(x[0], y[0]) })
	t.Table(rows)
	if c.ClusterTag != "" {
		t.Field("methods", "intervals and p as for the pass rates, adjusted by Holm for each measure")
		return
	}
	t.Field("methods", "95%% intervals: bootstrap over questions, %d resamples, seed %d  p: sign flips, adjusted by Holm for each measure",
		c.Resamples, c.Seed)
}

// printLatencies prints the ratios to the first side. A note says why one is not judged.
func printLatencies(t *terminal.Terminal, c *compare.Comparison) {
	for _, p := range c.Pairs {
		if p.Reference > 0 {
			break
		}
		for _, l := range p.Latencies {
			name, _ := compare.LatencyName(l.Name) // computed here, so it is known
			of := "answering attempts"
			if l.Name == "felt" {
				of = "as the callers felt them"
			}
			test := ""
			if l.Adjusted != nil {
				test = fmt.Sprintf("p %s → %s  ", figure.Probability(*l.P), figure.Probability(*l.Adjusted))
			}
			t.Field("latency", "%s  %s  p50 %s vs %s  ×%.2f, %s  %s%s  (n=%d, %s)", pairName(c, p), name,
				figure.Duration(l.RunP50), figure.Duration(l.ReferenceP50), l.Ratio, l.Within(), test, latencyVerdict(t, l.Verdict), l.N, of)
		}
	}
}

func latencyVerdict(t *terminal.Terminal, v compare.Verdict) string {
	switch v {
	case compare.Better, compare.Worse:
		return t.Tint(v == compare.Better, v.Speed())
	}
	return v.Mark() + " " + v.Words()
}
