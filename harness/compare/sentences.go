package compare

import (
	"fmt"
	"strings"

	"evalctl/internal/figure"
)

// sentences say which runs differ in the primary measures and by how much, then in which others.
// Pairs without a shown difference share one sentence. Pairs in MemorySentences are left out.
func (c *Comparison) sentences() []string {
	var out, same, others []string
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if c.aboutMemory(p) || !c.Headlined(p) {
			continue
		}
		names := c.Runs[p.Run].Name + " and " + c.Runs[p.Reference].Name
		if p.Difference == nil {
			out = append(out, names+": no question has a verdict in both.")
			continue
		}
		for _, k := range c.PrimaryClaims(p) {
			if !k.Shown() {
				same = append(same, fmt.Sprintf("%s: %s", names, c.inOf(k)+c.over(p)))
				continue
			}
			out = append(out, fmt.Sprintf("%s %s %s: %s.", c.Runs[p.Run].Name, differs(k), c.Runs[p.Reference].Name,
				k.Text+c.over(p)))
		}
		if text := c.rest(p); text != "" {
			others = append(others, text)
		}
	}
	if len(same) > 0 {
		out = append(out, fmt.Sprintf("No difference of the %s is shown. %s.", c.PrimaryText(), strings.Join(same, "; ")))
	}
	return append(out, others...)
}

// inOf returns the text of a claim, with its measure if there are several primary ones.
func (c *Comparison) inOf(k Claim) string {
	if len(c.Primary) == 1 {
		return k.Text
	}
	name, _ := MeasureName(k.Measure)
	return name + " " + k.Text
}

// over names the number of tests and questions behind a pair's pass rates.
func (c *Comparison) over(p *Pair) string {
	return fmt.Sprintf(" over %s, over %s", figure.Count(c.Tests, "test"), figure.Count(p.N, "question"))
}

// differs phrases how a run differs from the one named next.
func differs(k Claim) string {
	if k.Measure == passRate {
		return map[Verdict]string{Better: "passes more questions than", Worse: "passes fewer questions than"}[k.Verdict]
	}
	name, _ := MeasureName(k.Measure)
	return fmt.Sprintf("is %s (%s) than", k.Words(), name)
}

// rest says which of the other measures of a pair differ, empty if there are none.
func (c *Comparison) rest(p *Pair) string {
	var parts, same []string
	for _, k := range c.Claims(p) {
		name, _ := MeasureName(k.Measure)
		switch {
		case k.Primary:
		case k.Shown():
			parts = append(parts, fmt.Sprintf("%s is %s, %s", name, k.Words(), k.Text))
		default:
			same = append(same, name)
		}
	}
	if len(same) > 0 {
		parts = append(parts, fmt.Sprintf("no difference of %s is shown", strings.Join(same, ", ")))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s against %s: %s.", c.Runs[p.Run].Name, c.Runs[p.Reference].Name, strings.Join(parts, "; "))
}

// PowerText says what a comparison of this size can detect. It is empty without Power or if a
// difference is shown.
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
