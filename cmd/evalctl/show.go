package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"evalctl/daemon/setup"
	"evalctl/harness/history"
	"evalctl/harness/report"
	"evalctl/harness/report/text"
	"evalctl/harness/resultfile"
	"evalctl/harness/view"
	"evalctl/internal/terminal"
)

// showCmd has the flags of evalctl show.
type showCmd struct {
	File    string `arg:"" optional:"" default:"results/latest" placeholder:"FILE" help:"File of a run, replay, sweep, bench or conformance, or a folder of results for its newest run; the name latest in a folder means the same (${default})."`
	Quiet   bool   `help:"${about_quiet}"`
	Verbose bool   `help:"Also print the tags whose questions all passed."`
	JSON    bool   `name:"json" help:"${about_json}"`

	HTML     string `name:"html" placeholder:"FILE" help:"${about_html}" group:"output"`
	JUnit    string `name:"junit" placeholder:"FILE" help:"${about_junit}" group:"output"`
	Markdown string `name:"markdown" placeholder:"FILE" help:"${about_markdown}" group:"output"`
	CSV      string `name:"csv" placeholder:"FILE" help:"Write a row for each question as CSV. -: to stdout." group:"output"`
	JSONL    string `name:"jsonl" placeholder:"FILE" help:"Write a row for each question as JSON Lines. -: to stdout." group:"output"`
	Metrics  string `name:"metrics" placeholder:"FILE" help:"${about_metrics}" group:"output"`
	Traces   string `name:"traces" placeholder:"FILE" help:"${about_traces}" group:"output"`
	Badge    string `name:"badge" placeholder:"FILE" help:"Write an SVG badge with the pass rate and the number of questions. -: to stdout." group:"output"`

	Serve bool   `help:"Serve the results in a folder as web pages, on this machine." group:"pages"`
	Addr  string `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"${about_addr} (${default})." group:"pages"`
}

// forms returns the files to write instead of printing the report.
func (c *showCmd) forms() report.Files {
	return report.Given(
		report.File{Flag: "csv", Path: c.CSV}, report.File{Flag: "jsonl", Path: c.JSONL},
		report.File{Flag: "junit", Path: c.JUnit}, report.File{Flag: "markdown", Path: c.Markdown},
		report.File{Flag: "html", Path: c.HTML}, report.File{Flag: "badge", Path: c.Badge},
		report.File{Flag: "metrics", Path: c.Metrics}, report.File{Flag: "traces", Path: c.Traces},
	)
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *showCmd) Validate() error {
	if err := c.forms().CheckStdout(false); err != nil {
		return err
	}
	switch {
	case len(c.forms()) > 0 && (c.JSON || c.Serve):
		return fmt.Errorf("--%s writes a report instead of printing one: leave out --json and --serve", c.forms()[0].Flag)
	case c.Serve && c.JSON:
		return errors.New("--serve serves pages: leave out --json")
	}
	return nil
}

// Run prints the report of a result, writes it in other forms, or serves the pages of a folder.
func (c *showCmd) Run(ctx context.Context, p *process) error {
	if c.Serve {
		return c.serve(ctx, p)
	}
	path, err := history.Resolve(c.File)
	if err != nil {
		return notFile("show", c.File, err)
	}
	if forms := c.forms(); len(forms) > 0 {
		return forms.Render(path, p.stdout)
	}
	r, err := resultfile.Open(path)
	if err != nil {
		return c.other(p, path)
	}
	defer r.Close()
	res := r.Result()
	t := newTerminal(p, c.Quiet)
	var f report.Failures
	if !c.Quiet {
		if f = report.FailuresOf(r, report.ListedFailures); f.Err != nil {
			return f.Err
		}
	}
	text.Stored(t, path, res)
	run := &report.Run{Path: path, Result: res, Failures: f, Verbose: c.Verbose}
	report.Text(t, run)
	if err := printSummary(p, c.JSON, res, path, exitCode(ctx, verdict(*res.Gate, nil))); err != nil {
		return err
	}
	report.Closing(t, run, "")
	return nil
}

// other prints the report of a file that is not the result of a run or a replay.
func (c *showCmd) other(p *process, path string) error {
	doc, err := report.Read(path)
	if err != nil {
		return err
	}
	if c.JSON {
		return fmt.Errorf("--json prints the summary of a run or a replay, and %s is another file: read it, it is JSON", path)
	}
	return output(p, func(t *terminal.Terminal) { report.Text(t, doc) })
}

// serve serves the pages of a folder until ctx is canceled.
func (c *showCmd) serve(ctx context.Context, p *process) error {
	dir := c.File
	if dir == "results/latest" {
		dir = "results"
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("%w: evalctl run writes a folder of results, or name another", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder: --serve needs the folder of the results", dir)
	}
	l, err := setup.ListenLocal(ctx, c.Addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "evalctl: listening on http://%s\n", l.Addr())
	return view.Serve(ctx, l, dir)
}
