package main

import (
	"encoding/json"
	"io"

	"evalctl/harness/plan"
	"evalctl/harness/report/text"
	"evalctl/internal/figure"
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
		if c.Typed("max-cost-usd") { // a file may have it for runs with another scorer
			t.Field("warning", "--max-cost-usd has no effect: --scorer %s makes no paid requests", c.Scorer)
		}
		return
	}
	text.Judging(t, p.Estimate, p.Judging, c.budget, "reduce --limit")
}

// count returns n and the name of a thing, with an s unless n is 1.
func count(n int, thing string) string { return figure.Count(n, thing) }

// writeJSON writes a value as indented JSON.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
