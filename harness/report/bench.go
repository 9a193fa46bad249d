package report

import (
	"fmt"
	"io"
	"strings"

	"evalctl/harness/bench/record"
	tables "evalctl/harness/bench/table"
	"evalctl/internal/markdown"
	"evalctl/internal/printable"
)

// Bench is what a bench measured.
type Bench struct{ File *record.File }

// NewBench returns the document of a bench.
func NewBench(f *record.File) Bench { return Bench{f} }

func (b Bench) page() *Page { return &Page{Bench: b.File} }

// failed returns the sentences of what does not hold.
func (b Bench) failed() (out []record.Verdict) {
	for _, v := range b.File.Verdicts {
		if !v.Held {
			out = append(out, v)
		}
	}
	return out
}

// suites returns a case for everything that was required, and one for the bench itself, which is an
// error if it was stopped.
func (b Bench) suites() []suite {
	f := b.File
	s := suite{name: "bench." + f.SDK, started: f.StartedAt, ms: float64(f.FinishedAt.Sub(f.StartedAt).Milliseconds())}
	for _, t := range f.Targets {
		if !t.Null {
			s.add("target", t.Name)
		}
	}
	s.add("arrival", f.Plan.Arrival)
	complete := testCase{class: s.name, name: "bench-complete"}
	if f.Stopped != "" {
		complete.status, complete.kind = errored, string(f.Stopped)
		complete.message = "the bench was stopped: " + string(f.Stopped)
	}
	s.cases = append(s.cases, complete)
	for _, v := range f.Verdicts {
		c := testCase{class: s.name, name: printable.Line(fmt.Sprintf("%s %s %s", name(f, v), v.Op, v.Require), messageLength)}
		switch {
		case v.Unjudged:
			c.status = errored
		case !v.Held:
			c.status = failed
		}
		if c.status != passed {
			c.kind, c.message, c.text = v.Require, printable.Line(v.Sentence, messageLength), v.Sentence
		}
		s.cases = append(s.cases, c)
	}
	return []suite{s}
}

func name(f *record.File, v record.Verdict) string {
	if v.Target < 0 || v.Target >= len(f.Targets) {
		return ""
	}
	text := f.Targets[v.Target].Name
	if len(f.Plan.Stages) > 1 {
		text += fmt.Sprintf(" stage %d", v.Stage+1)
	}
	if len(f.Plan.Sizes) > 1 {
		text += fmt.Sprintf(" %d documents", v.Size)
	}
	return text
}

// write writes the verdict and the tables.
func (b Bench) write(p *summary) {
	f := b.File
	word := "Pass"
	switch failed := b.failed(); {
	case f.Stopped != "":
		word = "Stopped"
	case len(f.Verdicts) == 0:
		word = "Measured"
	case len(failed) > 0 && failed[0].Unjudged:
		word = "Inconclusive"
	case len(failed) > 0:
		word = "Fail"
	}
	p.printf("## %s: bench of %s\n\n", word, markdown.Span(f.SDK, textLength))
	if f.Stopped != "" {
		p.printf("**Stopped:** %s\n\n", markdown.Span(string(f.Stopped), textLength))
	}
	for _, v := range f.Verdicts {
		mark := "✓"
		if !v.Held {
			mark = "✗"
		}
		p.printf("- %s %s\n", mark, markdown.Span(v.Sentence, sentenceLength))
	}
	p.printf("\n")
	for _, t := range tables.Of(f) {
		p.printf("### %s\n\n", t.Title)
		m := markdown.NewTable(t.Columns, t.Rows[0]...)
		p.rows(m, len(t.Rows)-1, "rows", func(i int) []string {
			row := make([]string, len(t.Rows[i+1]))
			for j, cell := range t.Rows[i+1] {
				if row[j] = markdown.Cell(cell); t.Columns[j] == 'r' {
					row[j] = strings.ReplaceAll(cell, "*", `\*`) // a figure
				}
			}
			return row
		})
		for _, line := range t.Below {
			p.printf("%s\n\n", markdown.Span(line, sentenceLength))
		}
	}
	if tables.Near(f) {
		p.part(func(w io.Writer) { fmt.Fprintf(w, "\\%s\n\n", tables.NearNote) })
	}
}

// annotations returns what does not hold.
func (b Bench) annotations() []annotation {
	var out []annotation
	if b.File.Stopped != "" {
		out = append(out, annotation{title: "bench: stopped", message: string(b.File.Stopped)})
	}
	for _, v := range b.failed() {
		out = append(out, annotation{title: "bench: " + v.Require, message: v.Sentence})
	}
	return out
}
