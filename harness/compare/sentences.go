package compare

import (
	"fmt"
	"strings"

	"evalctl/internal/figure"
)

// passes says how the pass rates of a pair differ.
func (c *Comparison) passes(p *Pair) string {
	run, reference := c.Runs[p.Run].Name, c.Runs[p.Reference].Name
	if p.Difference == nil {
		return fmt.Sprintf("%s and %s: no question has a verdict in both.", run, reference)
	}
	text := figure.Points(*p.Difference) + " pp"
	if p.Interval != nil {
		text += fmt.Sprintf(" (95%% interval %s to %s)", figure.Points(p.Interval.Low), figure.Points(p.Interval.High))
	}
	if p.Adjusted != nil {
		text += fmt.Sprintf(", p %s adjusted over %s", figure.Probability(*p.Adjusted), figure.Count(c.Tests, "test"))
	}
	how := map[Verdict]string{
		Better: "%s passes more questions than %s: %s", Worse: "%s passes fewer questions than %s: %s",
		NotSeen: "%s and %s: no difference of the pass rates shown, %s",
	}[p.Verdict]
	return fmt.Sprintf(how, run, reference, text) + fmt.Sprintf(", over %s.", figure.Count(p.N, "question"))
}

// means says which means of a pair differ: of scores and of retrieval. It is empty if the pair has
// none.
func (c *Comparison) means(p *Pair) string {
	if len(p.Measures) == 0 {
		return ""
	}
	run, reference := c.Runs[p.Run].Name, c.Runs[p.Reference].Name
	var shown, not []string
	for _, m := range p.Measures {
		name := strings.ReplaceAll(m.Name, "_", " ")
		if m.Verdict == NotSeen {
			not = append(not, name)
			continue
		}
		shown = append(shown, fmt.Sprintf("%s is %s, %+.3f, p %s adjusted", name, m.Verdict.Words(), m.Difference,
			figure.Probability(m.Adjusted)))
	}
	if len(not) > 0 {
		shown = append(shown, "no difference shown of "+strings.Join(not, ", "))
	}
	return fmt.Sprintf("%s against %s, question by question: %s.", run, reference, strings.Join(shown, "; "))
}
