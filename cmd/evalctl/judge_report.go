package main

import (
	"encoding/json"
	"fmt"
	"io"

	"evalctl/harness/dataset"
	"evalctl/harness/judging"
	"evalctl/harness/report/text"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
	"evalctl/scorer"
)

func newJudgeCheck(plan *judging.Plan, labels []dataset.Label, verdicts []scorer.Verdict) *judging.Check {
	c := &judging.Check{Judge: plan.Identity(), Unpriced: plan.UnpricedModel()}
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

// stoppedCheck returns the error of a check that did not judge all labels.
func stoppedCheck(c *judging.Check, err error) error {
	cost := "an unknown amount"
	if c.Spent != nil {
		cost = c.Spent.String()
	}
	return fmt.Errorf("stopped after %d of %s, which cost %s: %w",
		c.Labels-c.Unscored, count(c.Labels, "label"), cost, err)
}

// printLabels prints what will be judged and what that is likely to cost.
func printLabels(t *terminal.Terminal, c *judgeCheckCmd, plan *judging.Plan, labels []dataset.Label) {
	var estimate judging.Forecast
	right := 0
	for _, l := range labels {
		estimate.Add(plan, l.Item)
		if l.Right {
			right++
		}
	}
	t.Field("labels", "%s  %d right, %d wrong", terminal.Line(c.Labels), right, len(labels)-right)
	t.Field("judge", "%s  %s", text.Describe(plan.Identity()), forecastLine(estimate, plan, c.limit))
	printExceeded(t, estimate, c.limit, "--max-cost-usd", "judge fewer labels")
}

func writeCheck(w io.Writer, c *judging.Check, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(c)
	}
	_, err := io.WriteString(w, text.Judge(c))
	return err
}
