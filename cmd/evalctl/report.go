package main

import (
	"evalctl/harness/plan"
	"evalctl/harness/report/text"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
)

// printConfigured prints the project file that is in force.
func printConfigured(t *terminal.Terminal, p *process) {
	if p.config != "" {
		t.Field("config", "%s", terminal.Line(p.config))
	}
}

// printJudging prints the judge, and what it is likely to cost.
func printJudging(t *terminal.Terminal, c *runCmd, p *plan.Run) {
	if p.Judging == nil {
		if c.typed["max-cost-usd"] { // a file may have it for runs with another scorer
			t.Field("warning", "--max-cost-usd has no effect: --scorer %s makes no paid requests", c.Scorer)
		}
		return
	}
	price := forecastLine(p.Estimate, p.Judging, c.budget)
	judge := p.Judging.Identity()
	t.Field("judge", "%s %s  prompt %s %s  temperature %s  %s", judge.Provider, terminal.Line(judge.Model), judge.PromptVersion, terminal.Short(judge.PromptSHA256, 9), text.Temperature(judge), price)
	printExceeded(t, p.Estimate, c.budget, "--max-cost-usd", "reduce --limit")
}

// count returns n and the name of a thing, with an s unless n is 1.
func count(n int, thing string) string { return figure.Count(n, thing) }

// roughly formats an amount, rounded up to two significant digits.
func roughly(u llm.USD) string {
	step := llm.USD(1)
	for u/step >= 100 {
		step *= 10
	}
	return (u.Plus(step-1) / step * step).String()
}
