package main

import (
	"errors"
	"fmt"
	"io"

	"evalctl/harness/report"
)

// reportCmd renders a stored result or report of conformance.
type reportCmd struct {
	File     string `arg:"" name:"file" help:"Result file of run or replay, whole or partial, or what conformance --format json wrote."`
	HTML     string `name:"html" placeholder:"FILE" help:"Write a page that needs no other file. -: to stdout."`
	JUnit    string `name:"junit" placeholder:"FILE" help:"Write JUnit XML. -: to stdout."`
	Markdown string `name:"markdown" placeholder:"FILE" help:"Write a summary in Markdown, smaller than 1 MiB. -: to stdout."`
}

func (reportCmd) Help() string {
	return `Renders a result file again, without running anything. The file itself stays as it is. Comparisons are
made again with evalctl compare.

Examples:

  evalctl report results/2026-01-31/go.json --html page.html
  evalctl report results/2026-01-31/go.json --junit junit.xml --markdown -
`
}

// rendering is one form of a report and where it goes.
type rendering struct {
	file  fileFlag
	write func(w io.Writer, d report.Document) error
}

// renderings returns the forms that are wanted.
func (c *reportCmd) renderings() []rendering {
	var out []rendering
	for _, r := range []rendering{
		{fileFlag{"html", c.HTML}, func(w io.Writer, d report.Document) error { return report.HTML(w, *report.PageOf(d)) }},
		{fileFlag{"junit", c.JUnit}, report.JUnit},
		{fileFlag{"markdown", c.Markdown}, func(w io.Writer, d report.Document) error {
			return report.Markdown(w, d, report.MaxSummary)
		}},
	} {
		if r.file.path != "" {
			out = append(out, r)
		}
	}
	return out
}

// toStdout is the path of a report that goes to stdout.
const toStdout = "-"

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *reportCmd) Validate() error {
	stdout := 0
	forms := c.renderings()
	for _, r := range forms {
		if r.file.path == toStdout {
			stdout++
		}
	}
	switch {
	case len(forms) == 0:
		return errors.New("nothing to write: give --html FILE, --junit FILE or --markdown FILE")
	case stdout > 1:
		return errors.New("only one report can go to stdout: name a file for the others")
	}
	return nil
}

// Run writes the reports. The files are checked before any is written.
func (c *reportCmd) Run(p *process) error {
	for _, r := range c.renderings() {
		if r.file.path == toStdout {
			continue
		}
		err := r.file.writable()
		if sameFile(r.file.path, c.File) {
			err = errors.New("it is the result itself; name another file")
		}
		if err != nil {
			return usageError{fmt.Errorf("--%s %s: %w", r.file.name, r.file.path, err)}
		}
	}
	doc, err := report.Read(c.File)
	if err != nil {
		return usageError{err}
	}
	for _, r := range c.renderings() {
		if err := r.to(p.stdout, doc); err != nil {
			return fmt.Errorf("--%s %s: %w", r.file.name, r.file.path, err)
		}
	}
	return nil
}

func (r rendering) to(stdout io.Writer, doc report.Document) error {
	path := r.file.path
	if path == toStdout {
		path = ""
	}
	out, err := openOutput(path, stdout)
	if err != nil {
		return err
	}
	defer out.discard()
	if err := r.write(out, doc); err != nil {
		return err
	}
	return out.keep()
}
