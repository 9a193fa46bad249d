package main

import (
	"context"
	"fmt"
	"os"

	"evalctl/harness/judging"
	"evalctl/harness/plan"
	"evalctl/harness/project"
	"evalctl/harness/report"
	"evalctl/harness/report/text"
	"evalctl/internal/environ"
	"evalctl/internal/llm"
	"evalctl/internal/postgres"
	"evalctl/internal/redact"
	"evalctl/internal/terminal"
	"evalctl/internal/webhook"
)

// reportFlags is embedded in commands that also write their result in forms for other programs. An
// empty value writes no report: workflows pass variables on that are not set.
type reportFlags struct {
	JUnit    string `name:"junit" empty:"" placeholder:"FILE" help:"${about_junit}" group:"output"`
	Markdown string `name:"markdown" empty:"" placeholder:"FILE" help:"${about_markdown}" group:"output"`
	HTML     string `name:"html" empty:"" placeholder:"FILE" help:"${about_html}" group:"output"`
	CI       bool   `name:"ci" help:"In a GitHub workflow: add the summary to the job's, and annotate what did not pass." group:"advanced"`

	results  report.Files  // further reports, of resultFlags
	hook     *webhook.Hook // the webhook of resultFlags, nil for none
	arms     []string      // what a replay measures: several of them have a page each, and one together
	reported bool          // the reports have been written
}

// formFlags are the forms of commands that write a document from results which exist.
type formFlags struct {
	HTML     string `name:"html" placeholder:"FILE" help:"${about_html}"`
	Markdown string `placeholder:"FILE" help:"${about_markdown}"`
	JSON     bool   `name:"json" help:"${about_json}"`
}

func (f *formFlags) files() report.Files {
	return report.Given(report.File{Flag: "html", Path: f.HTML}, report.File{Flag: "markdown", Path: f.Markdown})
}

// resultFlags are the reportFlags of commands that measure and write a result file.
type resultFlags struct {
	reportFlags
	Metrics string `name:"metrics" empty:"" placeholder:"FILE" help:"${about_metrics}" group:"output"`
	Traces  string `name:"traces" empty:"" placeholder:"FILE" help:"${about_traces}" group:"output"`
	Notify  string `name:"notify" empty:"" env:"SVC_NOTIFY_URL" placeholder:"URL" help:"${about_notify}" group:"output"`
}

// validateResult checks the flags, and makes their files reports. The commands' Validate calls it.
func (r *resultFlags) validateResult() error {
	r.results = report.Given(report.File{Flag: "metrics", Path: r.Metrics}, report.File{Flag: "traces", Path: r.Traces})
	if r.Notify == "" {
		return nil
	}
	var err error
	if r.hook, err = webhook.Parse(r.Notify); err != nil {
		return fmt.Errorf("--notify: %w", err)
	}
	return nil
}

// notify tells the webhook how a command ends. What the webhook does with it changes no exit code: the
// verdict is about the memory, and a chat that is down is not.
func (r *reportFlags) notify(p *process, d report.Document, failed error) {
	if r.hook == nil {
		return
	}
	text := redact.New(environ.Secrets(os.Environ())...).Text(postgres.Mask(string(report.Notice(d, failed))))
	// Also of a command that was interrupted: Post has a time limit of its own.
	if err := r.hook.Post(context.Background(), []byte(text)); err != nil {
		fmt.Fprintf(p.stderr, "evalctl: warning: --notify: %s was not notified: %s; the result is complete, and the exit code is the same\n",
			terminal.Line(r.hook.String()), terminal.Line(err.Error()))
	}
}

// reportFiles returns the flags that name files to write.
func (r *reportFlags) reportFiles() report.Files {
	return append(report.Given(report.File{Flag: "junit", Path: r.JUnit}, report.File{Flag: "markdown", Path: r.Markdown},
		report.File{Flag: "html", Path: r.HTML}), r.results...)
}

// addPaths adds the files to those that project.KeptFlags.Keep makes absolute.
func (r *reportFlags) addPaths(paths map[string]string) map[string]string {
	for _, f := range r.reportFiles() {
		paths[f.Flag] = f.Path
	}
	return paths
}

// filesOf returns the files that the flags of a command name.
func filesOf(flags *project.KeptFlags) (files []report.File) {
	for flag, path := range flags.Files() {
		files = append(files, report.File{Flag: flag, Path: path})
	}
	return files
}

// prepare checks that the reports can be written at the end. others are the files that the command
// reads or writes.
func (r *reportFlags) prepare(others ...report.File) error {
	files := r.reportFiles().ForArms(r.arms)
	for _, f := range files {
		if f.Path == report.Stdout {
			return fmt.Errorf("--%s -: name a file: stdout has the summary", f.Flag)
		}
	}
	return files.Prepare(others...)
}

// write writes the reports of a result, and returns the error that the command ends with.
func (r *reportFlags) write(p *process, t *terminal.Terminal, d report.Document, verdict error) error {
	r.reported = true
	err := report.Outputs{
		Files: r.reportFiles().ForArms(r.arms), CI: r.CI, Env: p.env, Stderr: p.stderr, Terminal: t,
	}.Write(d, verdict)
	r.notify(p, d, err)
	return err
}

// wanted reports whether there is a report to write.
func (r *reportFlags) wanted() bool { return r.CI || r.hook != nil || len(r.reportFiles()) > 0 }

// writeArm writes the reports of a run with its result file. problem is what ended it early.
func (r *reportFlags) writeArm(p *process, t *terminal.Terminal, name, path string, problem, verdict error) error {
	if !r.wanted() {
		return verdict
	}
	return r.write(p, t, report.Arms{report.ReadArm(name, path, problem)}, verdict)
}

// writeProblem writes reports that say why there is no result. Without an error, or after the
// reports of the result, it writes none.
func (r *reportFlags) writeProblem(p *process, t *terminal.Terminal, name string, err error) error {
	if err == nil || r.reported {
		return err
	}
	return r.write(p, t, report.Arms{report.ReadArm(name, "", err)}, err)
}

// printConfigured prints the project file that is in force.
func printConfigured(t *terminal.Terminal, p *process) {
	if p.config != "" {
		t.Field("config", "%s", terminal.Line(p.config))
	}
}

// printJudging prints the judge, and what it is likely to cost from now on.
func printJudging(t *terminal.Terminal, c *runCmd, p *plan.Run, left judging.Forecast, spent llm.USD) {
	if p.Judging == nil {
		if c.Typed("judge-cache") { // a file may have it, and a cap, for runs with another scorer
			t.Field("warning", "--judge-cache has no effect: --scorer %s has no judge", c.Scorer)
		}
		if c.Typed("max-cost-usd") && p.Calls.Upstream == nil && p.Calls.Embedding == nil {
			daemon := ", and neither does the daemon"
			if p.NotCounted() != "" {
				daemon = "" // a note says what it pays for
			}
			t.Field("warning", "--max-cost-usd has no effect: --scorer %s makes no paid requests%s", c.Scorer, daemon)
		}
		return
	}
	text.Judging(t, left, p.Judging, c.money.Cap, spent, "reduce --limit")
}
