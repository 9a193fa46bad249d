package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"evalctl/harness/compare"
	"evalctl/harness/journal"
	"evalctl/harness/key"
	"evalctl/harness/report"
	"evalctl/harness/report/text"
	"evalctl/internal/terminal"
)

type compareCmd struct {
	Files     []string `arg:"" name:"file" help:"Result files, or runs in JSON lines. NAME=FILE,FILE,… are several runs of one side, as a NAME that is given again."`
	Baseline  string   `placeholder:"RUN" help:"${about_baseline}"`
	Margin    *float64 `placeholder:"RATE" help:"${about_margin}."`
	FailOn    string   `enum:",regression" default:"" placeholder:"WHAT" help:"regression: exit with 1 if a run is worse than the baseline, or returns a forbidden text that the baseline does not."`
	Tag       string   `help:"Compare only the questions with this tag."`
	Primary   []string `placeholder:"MEASURE" help:"${about_primary}"`
	Cluster   string   `placeholder:"TAG" help:"${about_cluster}"`
	Question  string   `placeholder:"ID" help:"Show only this question: answers, verdicts, passages, times and cost, also of results that are not comparable."`
	Intersect bool     `help:"Compare only the questions that all results have, also of runs that stopped."`
	Accept    []string `placeholder:"KEY" help:"${about_accept}"`
	Format    string   `enum:"text,markdown,json,csv" default:"text" help:"${about_format}: ${enum} (${default})."`

	reportFlags
}

// Run compares the results and writes the comparison to stdout.
func (c *compareCmd) Run(p *process) error {
	given, err := compare.ParseFiles(c.Files)
	if err != nil {
		return err
	}
	if c.Question != "" {
		return c.showQuestion(p, compare.PathsOf(given))
	}
	if c.Baseline == "" && (c.Margin != nil || c.FailOn != "") {
		return errors.New("--margin and --fail-on compare with a baseline: name it with --baseline, for example " +
			"--baseline " + cmp.Or(given[0].Name, given[0].Paths[0]))
	}
	inputs := []report.File{{Flag: "baseline", Path: c.Baseline}}
	for _, path := range compare.PathsOf(given) {
		inputs = append(inputs, report.File{Flag: "file", Path: path})
	}
	if err := c.prepare(inputs...); err != nil {
		return err
	}
	sides, err := compare.OpenSides(withoutSecondNames(newTerminal(p, false), given), c.Baseline)
	if err != nil {
		return err
	}
	comparison, err := compare.Compare(sides, compare.Options{
		Baseline: c.Baseline, Primary: c.Primary, Tag: c.Tag, ClusterTag: c.Cluster, Margin: c.Margin,
		Intersect: c.Intersect, Accept: c.Accept,
	})
	if refused, ok := errors.AsType[*key.IncomparableError](err); ok {
		report.Incomparable(newTerminal(p, false), refused)
		return err
	}
	if err != nil {
		return err
	}
	if err := c.print(p, comparison); err != nil {
		return fmt.Errorf("write the comparison: %w", err)
	}
	t := newTerminal(p, false)
	return c.write(p, t, report.Comparison{Comparison: comparison}, c.regression(t, comparison))
}

// withoutSecondNames leaves out the second name of a result, without a name of its side, whose
// first one is given too, as by *.json.
func withoutSecondNames(t *terminal.Terminal, sides []compare.Files) []compare.Files {
	var unnamed []string
	for _, s := range sides {
		if s.Name == "" {
			unnamed = append(unnamed, s.Paths...)
		}
	}
	again := journal.SecondNames(unnamed)
	return slices.DeleteFunc(sides, func(s compare.Files) bool {
		first, second := again[s.Paths[0]]
		if second = second && s.Name == ""; second {
			t.Field("note", "%s is another name of %s: compared once", terminal.Line(s.Paths[0]), terminal.Line(first))
		}
		return second
	})
}

func (c *compareCmd) print(p *process, comparison *compare.Comparison) error {
	switch c.Format {
	case "json":
		return writeJSON(p.stdout, comparison)
	case "csv":
		return report.CSV(p.stdout, comparison)
	case "markdown":
		return report.Markdown(p.stdout, report.Comparison{Comparison: comparison}, report.MaxSummary)
	}
	return output(p, func(t *terminal.Terminal) { report.Text(t, report.Comparison{Comparison: comparison}) })
}

// regression is the gate of --fail-on: a belowError if a run is worse than the baseline, or returns
// forbidden texts that the baseline does not.
func (c *compareCmd) regression(t *terminal.Terminal, comparison *compare.Comparison) error {
	if c.FailOn == "" {
		return nil
	}
	if err := comparison.Regression(); err != nil {
		return belowError{err}
	}
	if err := comparison.Untested(); err != nil {
		return fmt.Errorf("--fail-on: %w", err)
	}
	t.Field("gate", "PASS  no run is shown to be worse than %s, and no forbidden text newly came back in most answers", terminal.Line(comparison.Baseline))
	return nil
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *compareCmd) Validate() error {
	others := c.Baseline != "" || c.Margin != nil || c.FailOn != "" || c.Tag != "" || c.Cluster != "" || c.Intersect ||
		len(c.Primary)+len(c.Accept) > 0 || c.Format != "text" || c.wanted()
	if c.Question != "" && others {
		return errors.New("--question shows one question and compares nothing: give it without other flags")
	}
	return nil
}

// showQuestion shows one question of several results on stdout.
func (c *compareCmd) showQuestion(p *process, paths []string) error {
	if len(paths) < 2 {
		return fmt.Errorf("only %s is given: name a second result to show beside it", paths[0])
	}
	found, err := compare.FindAll(paths, c.Question)
	if err != nil {
		return err
	}
	return output(p, func(t *terminal.Terminal) { text.Diff(t, found) })
}
