package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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

// printInputs prints the dataset, the corpus and the brains.
func printInputs(t *terminal.Terminal, dataset string, p *plan) {
	var tags []string
	for _, tag := range slices.Sorted(maps.Keys(p.Dataset.Tags)) {
		tags = append(tags, fmt.Sprintf("%s %d", terminal.Line(tag), p.Dataset.Tags[tag]))
	}
	questions := count(p.Dataset.Selected, "question")
	if s := p.Dataset.Selection; s != nil {
		questions = fmt.Sprintf("%d of %s (%s)", p.Dataset.Selected, count(s.Total, "question"),
			terminal.Line(s.String()))
	}
	if p.Dataset.Repeats > 1 {
		questions += fmt.Sprintf(", each asked %d times", p.Dataset.Repeats)
	}
	line := fmt.Sprintf("%s  %s  sha256 %s", terminal.Line(dataset), questions, digest(p.Dataset.SHA256))
	if len(tags) > 0 && len(tags) <= 8 {
		line += "  tags: " + strings.Join(tags, "  ")
	}
	t.Field("dataset", "%s", line)
	if p.Corpus != nil {
		line := fmt.Sprintf("%s  %s  sha256 %s", terminal.Line(p.Corpus.Path),
			count(len(p.Corpus.Docs), "document"), digest(p.Corpus.SHA256))
		if out := p.Corpus.LeftOut; len(out) > 0 {
			line += fmt.Sprintf("  %d other files ignored, such as %s", len(out), terminal.Line(out[0]))
		}
		t.Field("corpus", "%s", line)
	}
	printBrains(t, p.Brains)
	printInputWarnings(t, p.Dataset, p.Corpus)
	text.Warnings(t, p.Gold.Warnings)
}

// printJudging prints the judge, and what it is likely to cost.
func printJudging(t *terminal.Terminal, c *runCmd, p *plan) {
	if p.judging == nil {
		if c.typed["max-cost-usd"] { // a file may have it for runs with another scorer
			t.Field("warning", "--max-cost-usd has no effect: --scorer %s makes no paid requests", c.Scorer)
		}
		return
	}
	price := forecastLine(p.estimate, p.judging, c.budget)
	judge := p.judging.Identity()
	t.Field("judge", "%s %s  prompt %s %s  temperature %s  %s", judge.Provider, terminal.Line(judge.Model), judge.PromptVersion, digest(judge.PromptSHA256), text.Temperature(judge), price)
	printExceeded(t, p.estimate, c.budget, "--max-cost-usd", "reduce --limit")
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

// digest abbreviates a hash.
func digest(sum string) string { return sum[:8] + "…" }
