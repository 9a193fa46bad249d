package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"evalctl/harness/report"
	"evalctl/harness/report/rows"
	"evalctl/harness/result"
	"evalctl/internal/atomicfile"
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

func (reportCmd) Help() string {
	return `Renders a result file again, without running anything. The file itself stays as it is. Comparisons are
made again with evalctl compare.

Examples:

  evalctl report results/2026-01-31/go.json --html page.html
  evalctl report results/2026-01-31/go.json --junit junit.xml --markdown -
  evalctl report results/2026-01-31/go.json --parquet questions.parquet

evalctl dataset schema table prints the columns of --csv and --parquet.
`
}

// files returns the reports that are wanted.
func (c *reportCmd) files() []fileFlag {
	flags := reportFlags{HTML: c.HTML, JUnit: c.JUnit, Markdown: c.Markdown}
	return append(flags.reportFiles(), c.tables()...)
}

// tables returns the tables that are wanted.
func (c *reportCmd) tables() []fileFlag {
	all := []fileFlag{{"csv", c.CSV}, {"parquet", c.Parquet}}
	return slices.DeleteFunc(all, func(f fileFlag) bool { return f.path == "" })
}

// toStdout is the path of a report that goes to stdout.
const toStdout = "-"

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *reportCmd) Validate() error {
	stdout := 0
	files := c.files()
	for _, f := range files {
		if f.path == toStdout {
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

// writeTables writes the tables of the questions.
func (c *reportCmd) writeTables(p *process) error {
	for _, f := range c.tables() {
		write := rows.CSV
		if f.name == "parquet" {
			write = rows.Parquet
		}
		if err := c.writeTable(p, f, write); err != nil {
			return fmt.Errorf("--%s %s: %w", f.name, f.path, err)
		}
	}
	return nil
}

func (c *reportCmd) writeTable(p *process, f fileFlag, write func(io.Writer, *result.Reader) error) error {
	r, err := result.Open(c.File)
	if err != nil {
		return usageError{err}
	}
	defer r.Close()
	path := f.path
	if path == toStdout {
		path = ""
	}
	out, err := atomicfile.OpenOutput(path, p.stdout)
	if err != nil {
		return err
	}
	defer out.Discard()
	if err := write(out, r); err != nil {
		return err
	}
	return out.Keep()
}

// Run writes the reports. The files are checked before any is written.
func (c *reportCmd) Run(p *process) error {
	for _, f := range c.files() {
		if f.path == toStdout {
			continue
		}
		err := f.writable()
		if sameFile(f.path, c.File) {
			err = errors.New("it is the result itself; name another file")
		}
		if err != nil {
			return usageError{fmt.Errorf("--%s %s: %w", f.name, f.path, err)}
		}
	}
	if err := c.writeTables(p); err != nil {
		return err
	}
	if len(c.tables()) == len(c.files()) {
		return nil
	}
	doc, err := report.Read(c.File)
	if err != nil {
		return usageError{err}
	}
	for _, f := range c.files() {
		if slices.Contains(c.tables(), f) {
			continue
		}
		path := f.path
		if path == toStdout {
			path = ""
		}
		if err := f.writeTo(path, p.stdout, doc); err != nil {
			return fmt.Errorf("--%s %s: %w", f.name, f.path, err)
		}
	}
	return nil
}
