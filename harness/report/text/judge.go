package text

import (
	"fmt"
	"strings"

	"evalctl/harness/judging"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// Describe names a judge and its prompts.
func Describe(j result.JudgeModel) string {
	return fmt.Sprintf("%s %s  prompts %s %s", j.Provider, terminal.Line(j.Model),
		terminal.Line(j.PromptVersion), terminal.Short(j.PromptSHA256, 9))
}

// Judge returns the report on a judge for people.
func Judge(c *judging.Check) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-13s"+format+"\n", append([]any{name}, args...)...)
	}
	b.WriteString(terminal.Table([][]string{
		{"", "judged right", "judged wrong"},
		{"label right", fmt.Sprint(c.RightPassed), fmt.Sprint(c.RightFailed)},
		{"label wrong", fmt.Sprint(c.WrongPassed), fmt.Sprint(c.WrongFailed)},
	}, 1))
	b.WriteString("\n")
	line("sensitivity", "%s  right answers that were judged right", RateText(c.Sensitivity))
	line("specificity", "%s  wrong answers that were judged wrong", RateText(c.Specificity))
	kappa := "kappa " + Coefficient(c.Kappa)
	if c.Skewed() {
		kappa += fmt.Sprintf("  PABAK %s  AC1 %s  (most verdicts are alike, which makes kappa low)",
			Coefficient(c.PABAK), Coefficient(c.AC1))
	}
	line("agreement", "%s  %s", Coefficient(c.Agreement), kappa)
	if c.Unscored > 0 {
		line("unscored", "%d of %s, which are in no rate", c.Unscored, figure.Count(c.Labels, "label"))
	}
	cost := "unknown: set --price " + terminal.Line(c.Unpriced) + "=IN/OUT"
	if c.Spent != nil {
		cost = c.Spent.String()
	}
	line("cost", "%s", cost)
	writeCorrection(c, line)
	writeMisjudged(&b, c)
	return b.String()
}

func writeCorrection(c *judging.Check, line func(name, format string, args ...any)) {
	if c.Correction == nil {
		return
	}
	raw := RateText(&c.Correction.Raw)
	if c.Correction.Judged == 0 {
		raw = "none"
	}
	line("pass rate", "%s  of %s in %s", raw, figure.Count(c.Correction.Judged, "judged answer"), terminal.Line(c.Result))
	if c.Correction.Corrected == nil {
		line("corrected", "not possible: %s", c.Correction.Impossible)
		return
	}
	line("corrected", "%s  without the errors of the judge", RateText(c.Correction.Corrected))
	if c.Correction.Clamped {
		line("warning", "%s", misfit(c))
	}
}

// misfit says why a corrected rate was clamped.
func misfit(c *judging.Check) string {
	why := fmt.Sprintf("the judge passed fewer answers of the run than it passes of wrong ones (%.3f)", 1-c.Specificity.Rate)
	if c.Correction.Corrected.Rate > 0 {
		why = fmt.Sprintf("the judge passed more answers of the run than it passes of right ones (%.3f)", c.Sensitivity.Rate)
	}
	return "the labels and the run do not fit, the corrected rate is clamped: " + why + "; label answers of this run"
}

// maxMisjudged is the number of misjudged answers that are listed.
const maxMisjudged = 20

func writeMisjudged(b *strings.Builder, c *judging.Check) {
	if len(c.Wrong) == 0 {
		return
	}
	fmt.Fprintf(b, "\nMisjudged:\n")
	for i, m := range c.Wrong {
		if i == maxMisjudged {
			fmt.Fprintf(b, "  and %d more; --json lists all\n", len(c.Wrong)-i)
			return
		}
		label, score := "wrong", "no score"
		if m.Right {
			label = "right"
		}
		if m.Score != nil {
			score = fmt.Sprintf("score %.2f", *m.Score)
		}
		fmt.Fprintf(b, "  %s  label %s  %s  %s\n", terminal.Short(m.ID, 40), label, score, terminal.Short(m.Reason, 100))
	}
}

// RateText returns a rate with its interval.
func RateText(r *judging.Rate) string {
	if r == nil {
		return "n/a"
	}
	return fmt.Sprintf("%.3f [%.3f %.3f] (%s)", r.Rate, r.Interval.Low, r.Interval.High, r.Interval.Name())
}

// Coefficient returns a coefficient of agreement, "n/a" without one.
func Coefficient(x *float64) string {
	if x == nil {
		return "n/a"
	}
	return fmt.Sprintf("%.3f", *x)
}
