package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/harness/judging"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
	"evalctl/scorer"
)

// judgeCheck is what a check of a judge found.
type judgeCheck struct {
	Judge result.JudgeModel `json:"judge"`
	judging.Accuracy
	// Spent is nil if the price of the model is not known.
	Spent *llm.USD `json:"spent_usd"`
	// Unpriced is the model if its price is not known, so that its cost is missing.
	Unpriced string `json:"unpriced_model,omitempty"`
	// Result and Correction are those of --result.
	Result     string              `json:"result,omitempty"`
	Correction *judging.Correction `json:"correction,omitempty"`
}

func newJudgeCheck(plan *judging.Plan, labels []dataset.Label, verdicts []scorer.Verdict) *judgeCheck {
	c := &judgeCheck{Judge: plan.Identity(), Unpriced: plan.UnpricedModel()}
	list := make([]judging.Labelled, len(labels))
	spent := llm.USD(0)
	for i, l := range labels {
		list[i] = judging.Labelled{ID: l.Item.ID, Right: l.Right, Verdict: verdicts[i]}
		spent = spent.Plus(verdicts[i].Cost)
	}
	if c.Unpriced == "" {
		c.Spent = &spent
	}
	c.Accuracy = judging.Measure(list)
	return c
}

// stopped returns the error of a check that did not judge all labels.
func (c *judgeCheck) stopped(err error) error {
	cost := "an unknown amount"
	if c.Spent != nil {
		cost = c.Spent.String()
	}
	return fmt.Errorf("stopped after %d of %s, which cost %s: %w",
		c.Labels-c.Unscored, count(c.Labels, "label"), cost, err)
}

// printLabels prints what will be judged and what that is likely to cost.
func printLabels(t *terminal.Terminal, c *judgeCheckCmd, plan *judging.Plan, labels []dataset.Label) {
	var estimate judgeForecast
	right := 0
	for _, l := range labels {
		estimate.add(plan, l.Item)
		if l.Right {
			right++
		}
	}
	t.Field("labels", "%s  %d right, %d wrong", terminal.Line(c.Labels), right, len(labels)-right)
	t.Field("judge", "%s  %s", describe(plan.Identity()), estimate.text(plan, c.limit))
	printExceeded(t, estimate, c.limit, "--max-cost-usd", "judge fewer labels")
}

// describe names a judge and its prompts.
func describe(j result.JudgeModel) string {
	return fmt.Sprintf("%s %s  prompts %s %s", j.Provider, terminal.Line(j.Model),
		terminal.Line(j.PromptVersion), digest(j.PromptSHA256))
}

func (c *judgeCheck) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(c)
	}
	_, err := io.WriteString(w, c.text())
	return err
}

// text returns the report for people.
func (c *judgeCheck) text() string {
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
	line("sensitivity", "%s  right answers that were judged right", rateText(c.Sensitivity))
	line("specificity", "%s  wrong answers that were judged wrong", rateText(c.Specificity))
	kappa := "kappa " + coefficient(c.Kappa)
	if c.Skewed() {
		kappa += fmt.Sprintf("  PABAK %s  AC1 %s  (most verdicts are alike, which makes kappa low)",
			coefficient(c.PABAK), coefficient(c.AC1))
	}
	line("agreement", "%s  %s", coefficient(c.Agreement), kappa)
	if c.Unscored > 0 {
		line("unscored", "%d of %s, which are in no rate", c.Unscored, count(c.Labels, "label"))
	}
	cost := "unknown: set --price " + terminal.Line(c.Unpriced) + "=IN/OUT"
	if c.Spent != nil {
		cost = c.Spent.String()
	}
	line("cost", "%s", cost)
	c.writeCorrection(line)
	c.writeMisjudged(&b)
	return b.String()
}

func (c *judgeCheck) writeCorrection(line func(name, format string, args ...any)) {
	if c.Correction == nil {
		return
	}
	raw := rateText(&c.Correction.Raw)
	if c.Correction.Judged == 0 {
		raw = "none"
	}
	line("pass rate", "%s  of %s in %s", raw, count(c.Correction.Judged, "judged answer"), terminal.Line(c.Result))
	if c.Correction.Corrected == nil {
		line("corrected", "not possible: %s", c.Correction.Impossible)
		return
	}
	line("corrected", "%s  without the errors of the judge", rateText(c.Correction.Corrected))
	if c.Correction.Clamped {
		line("warning", "%s", c.misfit())
	}
}

// misfit says why a corrected rate was clamped.
func (c *judgeCheck) misfit() string {
	why := fmt.Sprintf("the judge passed fewer answers of the run than it passes of wrong ones (%.3f)", 1-c.Specificity.Rate)
	if c.Correction.Corrected.Rate > 0 {
		why = fmt.Sprintf("the judge passed more answers of the run than it passes of right ones (%.3f)", c.Sensitivity.Rate)
	}
	return "the labels and the run do not fit, the corrected rate is clamped: " + why + "; label answers of this run"
}

// maxMisjudged is the number of misjudged answers that are listed.
const maxMisjudged = 20

func (c *judgeCheck) writeMisjudged(b *strings.Builder) {
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

// rateText returns a rate with its interval.
func rateText(r *judging.Rate) string {
	if r == nil {
		return "n/a"
	}
	return fmt.Sprintf("%.3f [%.3f %.3f] (%s)", r.Rate, r.Interval.Low, r.Interval.High, r.Interval.Name())
}

func coefficient(x *float64) string {
	if x == nil {
		return "n/a"
	}
	return fmt.Sprintf("%.3f", *x)
}
