package main

import (
	"errors"

	"evalctl/harness/report"
)

// reportCmd renders a stored result or report of conformance.
type reportCmd struct {
	File     string `arg:"" name:"file" help:"Result file of run or replay, whole or partial, or what conformance --format json wrote."`
	HTML     string `name:"html" placeholder:"FILE" help:"Write a page that needs no other file. -: to stdout."`
	JUnit    string `name:"junit" placeholder:"FILE" help:"Write JUnit XML. -: to stdout."`
	Markdown string `name:"markdown" placeholder:"FILE" help:"Write a summary in Markdown, smaller than 1 MiB. -: to stdout."`
	CSV      string `name:"csv" placeholder:"FILE" help:"Write a row for each question as CSV. -: to stdout."`
	Parquet  string `name:"parquet" placeholder:"FILE" help:"Write a row for each question as Parquet. -: to stdout."`
}

// files returns the reports that are wanted.
func (c *reportCmd) files() report.Files {
	return report.Given(
		report.File{Flag: "csv", Path: c.CSV}, report.File{Flag: "parquet", Path: c.Parquet},
		report.File{Flag: "junit", Path: c.JUnit}, report.File{Flag: "markdown", Path: c.Markdown},
		report.File{Flag: "html", Path: c.HTML},
	)
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *reportCmd) Validate() error {
	stdout := 0
	files := c.files()
	for _, f := range files {
		if f.Path == report.Stdout {
			stdout++
		}
	}
	switch {
	case len(files) == 0:
		return errors.New("nothing to write: give --html FILE, --junit FILE, --markdown FILE, --csv FILE or --parquet FILE")
	case stdout > 1:
		return errors.New("only one report can go to stdout: name a file for the others")
	}
	return nil
}

// Run writes the reports.
func (c *reportCmd) Run(p *process) error { return c.files().Render(c.File, p.stdout) }
