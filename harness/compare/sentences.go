package compare

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/figure"
)

// sentences say which runs differ from which, by how much and how certain that is: first in the
// pass rates, then in the means of scores and of retrieval. Pairs of which nothing is shown are
// together in one sentence. Those of MemorySentences are left out.
func (c *Comparison) sentences() []string {
	var out, same []string
	for i := range c.Pairs {
		p := &c.Pairs[i]
		names := c.Runs[p.Run].Name + " and " + c.Runs[p.Reference].Name
		switch {
		case c.aboutMemory(p):
		case p.Difference == nil:
			out = append(out, names+": no question has a verdict in both.")
		case p.Verdict == NotSeen:
			same = append(same, names+": "+c.difference(p))
		default:
			how := map[Verdict]string{Better: "more", Worse: "fewer"}[p.Verdict]
			out = append(out, fmt.Sprintf("%s passes %s questions than %s: %s.",
				c.Runs[p.Run].Name, how, c.Runs[p.Reference].Name, c.difference(p)))
		}
	}
	if len(same) > 0 {
		out = append(out, "No difference of the pass rates is shown. "+strings.Join(same, "; ")+".")
	}
	return append(out, c.means()...)
}

// difference says how the pass rates of a pair differ, and how certain that is.
func (c *Comparison) difference(p *Pair) string {
	return c.figures(p.Difference, p.Interval, p.Adjusted, p.N)
}

// figures has a difference of pass rates over n questions, and how certain it is.
func (c *Comparison) figures(difference *float64, interval *result.Interval, adjusted *float64, n int) string {
	text := figure.Points(*difference) + " pp"
	if interval != nil {
		text += fmt.Sprintf(" (95%% interval %s to %s)", figure.Points(interval.Low), figure.Points(interval.High))
	}
	if adjusted != nil {
		text += fmt.Sprintf(", p %s adjusted over %s", figure.Probability(*adjusted), figure.Count(c.Tests, "test"))
	}
	return text + fmt.Sprintf(", over %s", figure.Count(n, "question"))
}

// means say which means of the pairs differ, and in one sentence of which no difference is shown.
func (c *Comparison) means() []string {
	var out, measured, same []string
	for _, p := range c.Pairs {
		var shown []string
		for _, m := range p.Measures {
			name := strings.ReplaceAll(m.Name, "_", " ")
			if !slices.Contains(measured, name) {
				measured = append(measured, name)
			}
			if m.Verdict != NotSeen {
				shown = append(shown, fmt.Sprintf("%s is %s, %+.3f, p %s adjusted", name, m.Verdict.Words(), m.Difference,
					figure.Probability(m.Adjusted)))
			}
		}
		names := []any{c.Runs[p.Run].Name, c.Runs[p.Reference].Name}
		switch {
		case len(shown) > 0:
			out = append(out, fmt.Sprintf("%s against %s: ", names...)+strings.Join(shown, "; ")+".")
		case len(p.Measures) > 0:
			same = append(same, fmt.Sprintf("%s and %s", names...))
		}
	}
	if len(same) > 0 {
		out = append(out, fmt.Sprintf("No difference of %s is shown between %s.",
			strings.Join(measured, ", "), strings.Join(same, ", or ")))
	}
	return out
}

// PowerText says what a comparison of this size could see, empty if a difference is shown, and
// without Power.
func (p *Pair) PowerText() string {
	w := p.Power
	if w == nil || p.Verdict != NotSeen {
		return ""
	}
	what := "no difference"
	if w.Detectable != nil {
		what = fmt.Sprintf("a difference of about %.1f pp or more", 100**w.Detectable)
	}
	text := fmt.Sprintf("with %s and %.0f%% disagreement, %s could have been shown with %.0f%% power",
		figure.Count(p.N, "question"), 100*w.Disagreement, what, 100*w.Power)
	if w.Needed != nil && w.Confirm != nil {
		text += fmt.Sprintf("; to confirm %.1f pp with it takes %s", 100**w.Confirm, figure.Count(*w.Needed, "question"))
	}
	return text
}

// Regression returns an error that names the runs that are worse than the baseline, nil if none is:
// by the test, or by more than the margin.
func (c *Comparison) Regression() error {
	var worse []string
	for _, pair := range c.Pairs {
		byMargin := pair.Margin != nil && pair.Margin.Verdict == result.Worse
		if pair.Verdict == Worse || byMargin {
			worse = append(worse, c.Runs[pair.Run].Name)
		}
	}
	are := "are"
	switch len(worse) {
	case 0:
		return nil
	case 1:
		are = "is"
	}
	return fmt.Errorf("regression: %s %s worse than %s", strings.Join(worse, ", "), are, c.Baseline)
}
