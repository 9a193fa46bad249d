package text

import (
	"cmp"
	"fmt"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/harness/judging"
	"evalctl/harness/report"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
)

// judgeName names a judge with its prompt and temperature.
func judgeName(j result.JudgeModel) string {
	return fmt.Sprintf("%s %s  prompt %s %s  temperature %s", terminal.Short(j.Provider, 40), terminal.Short(j.Model, 80),
		terminal.Short(j.PromptVersion, 40), terminal.Short(j.PromptSHA256, 9), wording.Temperature(&j))
}

// judgeText is the text of a report on a judge.
type judgeText struct{ strings.Builder }

func (b *judgeText) fact(name, format string, args ...any) {
	fmt.Fprintf(b, "%-13s"+format+"\n", append([]any{name}, args...)...)
}

// Judge formats the report on a judge.
func Judge(c *judging.Check) string {
	var b judgeText
	b.WriteString(terminal.Table([][]string{
		{"", "judged right", "judged wrong"},
		{"label right", fmt.Sprint(c.RightPassed), fmt.Sprint(c.RightFailed)},
		{"label wrong", fmt.Sprint(c.WrongPassed), fmt.Sprint(c.WrongFailed)},
	}, 1))
	b.WriteString("\n")
	b.fact("sensitivity", "%s  right answers that were judged right", c.Sensitivity)
	b.fact("specificity", "%s  wrong answers that were judged wrong", c.Specificity)
	kappa := "kappa " + figure.Coefficient(c.Kappa)
	if c.Skewed() {
		kappa += fmt.Sprintf("  PABAK %s  AC1 %s  (most verdicts are alike, which makes kappa low)",
			figure.Coefficient(c.PABAK), figure.Coefficient(c.AC1))
	}
	b.fact("agreement", "%s  %s", figure.Coefficient(c.Agreement), kappa)
	if c.Unscored > 0 {
		b.fact("unscored", "%d of %s, which are in no rate", c.Unscored, figure.Count(c.Labels, "label"))
	}
	cost := "unknown: set --price " + terminal.Line(c.Unpriced) + "=IN/OUT"
	if c.Spent != nil {
		cost = c.Spent.String()
	}
	b.fact("cost", "%s", cost)
	b.correction(c)
	b.misjudged(c)
	return b.String()
}

// GivenJudge formats the report on the judge of another harness.
func GivenJudge(c *judging.Check) string {
	var b judgeText
	b.fact("judge", "%s", cmp.Or(terminal.Line(c.Judge.Model), "not named by the files"))
	b.fact("specificity", "%s  %d of %s that are wrong on purpose were judged wrong", c.Specificity, c.WrongFailed,
		figure.Count(c.Labels-c.Unscored, "judged answer"))
	b.correction(c)
	return b.String()
}

func (b *judgeText) correction(c *judging.Check) {
	if c.Correction == nil {
		return
	}
	raw := c.Correction.Raw.String()
	if c.Correction.Judged == 0 {
		raw = "none"
	}
	b.fact("pass rate", "%s  of %s in %s", raw, figure.Count(c.Correction.Judged, "judged answer"), terminal.Line(c.Result))
	if c.Correction.Corrected == nil {
		b.fact("corrected", "not possible: %s", c.Correction.Impossible)
		return
	}
	if c.Correction.Least {
		b.fact("at least", "%s  if the judge passes every right answer; above it if not", c.Correction.Corrected)
	} else {
		b.fact("corrected", "%s  without the errors of the judge", c.Correction.Corrected)
	}
	if c.Correction.Few != "" {
		b.fact("warning", "%s", c.Correction.Few)
	}
	if why := c.Misfit(); why != "" {
		b.fact("warning", "%s", why)
	}
}

// maxMisjudged limits the listed misjudged answers.
const maxMisjudged = 20

func (b *judgeText) misjudged(c *judging.Check) {
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

// forecast formats the likely and the maximum cost of judging. limit is the cap, nil for none;
// spent is the part of it already used.
func forecast(f judging.Forecast, p *judging.Plan, limit *llm.USD, spent llm.USD) string {
	line := "estimated cost " + roughly(f.Likely)
	most := f.Worst
	if limit != nil {
		most = min(most, max(0, *limit-spent))
	}
	switch model := p.UnpricedModel(); {
	case model != "":
		line = "price unknown: set --price " + terminal.Line(model) + "=IN/OUT, without which the cost cannot be estimated"
	case f.Worst > 0 && most == f.Worst:
		line += ", at most " + most.RoundUp().String()
	case f.Worst > 0:
		line += ", at most the cap"
	}
	if limit != nil {
		line += fmt.Sprintf(" (cap %s", *limit)
		if spent > 0 {
			line += fmt.Sprintf(", %s left", max(0, *limit-spent))
		}
		line += ")"
	}
	return line + report.PricesOf(p.PricesDate()).String()
}

// roughly formats an amount, rounded up to two significant digits.
func roughly(u llm.USD) string {
	step := llm.USD(1)
	for u/step >= 100 {
		step *= 10
	}
	return (u.Plus(step-1) / step * step).String()
}

// Judging prints a judge and its likely remaining cost. spent is the used part of the cap. If the
// rest of the cap is too small, it prints a warning; fewer says how else to stay below the cap.
func Judging(t *terminal.Terminal, f judging.Forecast, p *judging.Plan, limit *llm.USD, spent llm.USD, fewer string) {
	t.Field("judge", "%s  %s", judgeName(p.Identity()), forecast(f, p, limit, spent))
	panel := Recipes(p.Panel())
	panel.Text(t)
	if limit != nil && f.Likely > *limit-spent {
		t.Field("warning", "the estimated cost exceeds the cap: raise --max-cost-usd, or %s", fewer)
	}
}

// DaemonPays prints which models a started daemon calls, which no estimate includes. notCounted
// names the costs that are not counted, "" for none.
func DaemonPays(t *terminal.Terminal, models []string, capped bool, notCounted string) {
	if len(models) > 0 {
		limited := ""
		if capped {
			limited = ", under the cap"
		}
		t.Field("note", "the daemon calls %s: what that costs is counted%s, and not estimated",
			terminal.Line(strings.Join(models, " and ")), limited)
	}
	if notCounted != "" {
		t.Field("note", "%s: what that costs is neither counted nor limited", terminal.Line(notCounted))
	}
}

// Labels prints the labels for a check of a judge, and the likely cost.
func Labels(t *terminal.Terminal, path string, p *judging.Plan, labels []dataset.Label, limit *llm.USD) {
	forecast, right := p.ForecastLabels(labels)
	t.Field("labels", "%s  %d right, %d wrong", terminal.Line(path), right, len(labels)-right)
	if judging.Harder(labels) {
		t.Field("note", "drawn with --sample disagreement: the judge errs more often on these answers than on those of the result")
	}
	Judging(t, forecast, p, limit, 0, "judge fewer labels")
}
