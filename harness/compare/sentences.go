package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/internal/figure"
)

// sentences say which runs differ in the primary measures and by how much, then in which others.
// Pairs without a shown difference share one sentence. Pairs in MemorySentences are left out.
func (c *Comparison) sentences() []string {
	var out, same, others []string
	alike := map[string][]string{} // pairs without a shown difference, by their measures
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
		pair := c.Runs[p.Run].Name + " against " + c.Runs[p.Reference].Name
		switch shown, not := c.rest(p); {
		case len(shown) > 0 && not != "":
			shown = append(shown, "no difference of "+not+" is shown")
			fallthrough
		case len(shown) > 0:
			others = append(others, fmt.Sprintf("%s: %s.", pair, strings.Join(shown, "; ")))
		case not != "":
			alike[not] = append(alike[not], pair)
		}
	}
	if more := len(same) - listedSame; more > 0 {
		same = append(same[:listedSame], fmt.Sprintf("and %d more", more))
	}
	if len(same) > 0 {
		out = append(out, fmt.Sprintf("No difference of the %s is shown. %s.", c.PrimaryText(), strings.Join(same, "; ")))
	}
	for _, measures := range slices.Sorted(maps.Keys(alike)) {
		pairs := alike[measures]
		if len(pairs) > 1 {
			others = append(others, fmt.Sprintf("No difference of %s is shown in %d pairs.", measures, len(pairs)))
			continue
		}
		others = append(others, fmt.Sprintf("%s: no difference of %s is shown.", pairs[0], measures))
	}
	return append(out, others...)
}

// listedSame is of how many pairs without a shown difference the figures are in a sentence.
const listedSame = 3

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

// rest says which of the other measures of a pair differ, and lists those of which that is not shown.
func (c *Comparison) rest(p *Pair) (shown []string, not string) {
	var same []string
	for _, k := range c.Claims(p) {
		name, _ := MeasureName(k.Measure)
		switch {
		case k.Primary:
		case k.Shown():
			shown = append(shown, fmt.Sprintf("%s is %s, %s", name, k.Words(), k.Text))
		default:
			same = append(same, name)
		}
	}
	return shown, strings.Join(same, ", ")
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
