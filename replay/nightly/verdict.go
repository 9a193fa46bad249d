package nightly

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/markdown"
)

// verdicts writes the verdict on each arm. What the controls say of the scorer is there once if it is
// the same for all.
func verdicts(w io.Writer, arms []*armResult) {
	controls := map[string]int{}
	for _, m := range arms {
		if m.res != nil {
			controls[m.controls()]++
		}
	}
	once := len(controls) == 1 && len(arms) > 1
	for _, m := range arms {
		m.verdict(w, once)
	}
	if once {
		for text := range controls {
			fmt.Fprintf(w, "- %s\n", text)
		}
	}
	fmt.Fprintln(w)
}

// verdict writes the verdict on an arm in one line, without what the controls say if it is there once. A
// pass rate is called one only if the replay says something about the memory.
func (m *armResult) verdict(w io.Writer, once bool) {
	if m.res == nil {
		fmt.Fprintf(w, "- **%s: no result.** %s\n", markdown.Code(m.Name), markdown.Span(cmp.Or(m.Problem, "it was not measured"), textLength))
		return
	}
	g := m.res.Gate
	parts := append([]string{fmt.Sprintf("- **%s: %s.**", markdown.Code(m.Name), g.Word())}, m.score()...)
	if t := wording.Proof(g); t != "" && g.Verdict == result.Pass && g.Floor > 0 {
		parts = append(parts, "That is "+t+".")
	}
	if !once {
		parts = append(parts, m.controls())
	}
	if p := m.res.Panel; p != nil && p.Low != nil && p.High != nil {
		parts = append(parts, fmt.Sprintf("Over %s the pass rate is %.3f to %.3f, the headline being %s; they disagree about %s, Fleiss' kappa %s.",
			figure.Count(len(p.Recipes), "recipe"), *p.Low, *p.High, markdown.Code(p.Headline),
			figure.Count(len(p.Disputed), "answer"), p.Fleiss))
	}
	if m.Problem != "" {
		parts = append(parts, "Problem: "+markdown.Span(m.Problem, textLength))
	}
	fmt.Fprintln(w, strings.Join(parts, " "))
}

// score says how many questions passed, or why that is not a score.
func (m *armResult) score() (parts []string) {
	g, n := m.res.Gate, m.res.Counts
	switch g.Verdict {
	case result.Pass, result.Fail, result.Measured:
		parts = append(parts, fmt.Sprintf("Pass rate %s, 95%% CI %s (Wilson), %d of %s passed.",
			figure.Rate(m.res.PassRate), wording.Ends(m.res.Interval), n.Passed, figure.Count(n.Total, "question")))
		if g.Floor > 0 {
			parts = append(parts, fmt.Sprintf("The floor is %.3f: %d required.", g.Floor, g.Required))
		}
	case result.Inconclusive:
		parts = append(parts, fmt.Sprintf("Stopped (%s) after %d of %s, of which %d passed: this is not a score.",
			markdown.Code(string(g.Stopped)), n.Finished(), figure.Count(m.res.Planned, "question"), n.Passed))
	case result.Invalid:
		parts = append(parts, fmt.Sprintf("This is not a score: %s.", markdown.Span(g.Sentence, textLength)))
	}
	return parts
}

// controls describes how the scorer judged answers known to be right or wrong.
func (m *armResult) controls() string {
	if m.res.Replay == nil || m.res.Replay.Controls == nil {
		return "The scorer needs no controls."
	}
	c := m.res.Replay.Controls
	right, wrong := c.Judged()
	s := fmt.Sprintf("On controls the scorer passed %d of %d wrong answers (false positives %s) "+
		"and failed %d of %d right ones (false negatives %s)",
		wrong-c.WrongFailed, wrong, figure.Rate(c.FalsePositiveRate),
		right-c.RightPassed, right, figure.Rate(c.FalseNegativeRate))
	if note := wording.Controls(c); note != "" {
		return s + ": " + note + "."
	}
	if c.Unscored > 0 {
		s += fmt.Sprintf("; %d got no verdict", c.Unscored)
	}
	if len(c.Unjudged) > 0 {
		s += fmt.Sprintf(": %s", markdown.Span(c.Unjudged[0].Reason, textLength))
	}
	return s + "."
}

// scored reports whether the pass rate of a result says something about the memory.
func scored(res *result.Result) bool {
	return res.PassRate != nil && res.Gate.Verdict.Scores()
}
