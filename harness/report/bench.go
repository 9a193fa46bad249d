package report

import (
	"fmt"

	"evalctl/harness/bench/record"
	tables "evalctl/harness/bench/table"
	"evalctl/harness/report/form"
	"evalctl/internal/figure"
	"evalctl/internal/printable"
	"evalctl/internal/terminal"
)

// Bench is the document of a bench.
type Bench struct {
	File *record.File
	// Path is the path of the result file.
	Path string
}

// NewBench returns the document of a bench.
func NewBench(f *record.File, path string) Bench { return Bench{f, path} }

// failed returns the requirements that are not met.
func (b Bench) failed() (out []record.Verdict) {
	for _, v := range b.File.Verdicts {
		if !v.Held {
			out = append(out, v)
		}
	}
	return out
}

// suites returns a case for each requirement, and one for the bench itself, which is an error if it
// was stopped.
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

// reports returns the tables and the requirements, which come last on a terminal.
func (b Bench) reports() []*form.Report {
	f := b.File
	r := &form.Report{Verdict: b.verdict(), Tool: toolOf(f.Tool)}
	r.Sections = append(r.Sections, b.required())
	for i, t := range tables.Of(f) {
		s := form.Section{ID: fmt.Sprintf("bench-%d", i+1), Title: t.Title}
		var columns []any
		for j, name := range t.Rows[0] {
			columns = append(columns, form.Column{Name: form.F("%s", name), Number: t.Columns[j] == 'r', In: form.Everywhere})
		}
		shown := form.NewTable(form.F("%s", t.Title), columns...)
		for _, row := range t.Rows[1:] {
			cells := make([]any, len(row))
			for j, cell := range row {
				if cells[j] = any(form.Name(cell)); t.Columns[j] == 'r' {
					cells[j] = cell // a figure
				}
			}
			shown.Row(cells...)
		}
		b.charts(&s)
		s.Show(form.Everywhere, shown)
		for _, line := range t.Below {
			s.Show(form.Terminal, form.Sentences{form.F("%s", form.Data(line))})
			s.Note(form.Pages, "%s", form.Data(line))
		}
		r.Sections = append(r.Sections, s)
	}
	r.Sections = append(r.Sections, lastGap(), b.closing())
	if tables.Near(f) {
		r.Warnings = append(r.Warnings, form.F("%s", tables.NearNote))
	}
	return []*form.Report{r}
}

// required lists the requirements, the missed ones first. Pages fold the others.
func (b Bench) required() form.Section {
	s := form.Section{ID: "required", Title: "Required", Place: form.Last}
	missed, held := form.NewTable(form.F("Required"), "", "what"), form.NewTable(form.F("Required"), "", "what")
	for _, v := range b.File.Verdicts {
		word, cell, to := passWord(v.Held), form.Cell{Mark: "✗", Tone: form.Bad, Text: form.F("FAIL")}, missed
		switch {
		case v.Unjudged:
			word, cell = form.F("----"), form.Cell{Mark: "‖", Tone: form.Doubt, Text: form.F("not judged")}
		case v.Held:
			cell, to = form.Cell{Mark: "✓", Tone: form.Good, Text: form.F("PASS")}, held
		}
		to.Row(cell, form.Data(v.Sentence))
		s.FactIn(form.Markdown, "required", "%s  %s", word, form.Data(v.Sentence))
		s.Show(form.Terminal, form.Sentences{form.F("%s  %s", word, form.Data(v.Sentence))})
	}
	if len(missed.Rows) > form.FirstSentences { // else the verdict has them
		s.Show(form.HTML, missed)
	}
	if n := len(held.Rows); n > 0 {
		s.Show(form.HTML, form.Fold{Title: figure.Count(n, "objective") + " held", Content: held})
	}
	return s
}

// verdict says whether the requirements are met.
func (b Bench) verdict() form.Verdict {
	f := b.File
	v := form.Verdict{Tone: form.None, Mark: "≡", Word: "Measured", Title: form.F("bench of %s", form.Name(f.SDK)),
		Sentences: []form.Text{form.F("%s in %d blocks of %g s", figure.Count(len(f.Targets), "target"), len(f.Blocks), f.Plan.BlockSeconds)}}
	failed := b.failed()
	for i := len(failed) - 1; i >= 0; i-- {
		v.Sentences = append([]form.Text{form.F("%s", form.Data(failed[i].Sentence))}, v.Sentences...)
	}
	v.Rate, v.Figure = b.headline()
	switch {
	case f.Stopped != "":
		v.Tone, v.Mark, v.Word = form.Doubt, "‖", "Stopped"
		v.Sentences = append(v.Sentences, form.F("the bench was stopped: %s", form.Name(f.Stopped)))
	case len(failed) > 0 && failed[0].Unjudged:
		v.Tone, v.Mark, v.Word = form.Doubt, "‖", "Inconclusive"
	case len(failed) > 0:
		v.Tone, v.Mark, v.Word = form.Bad, "✗", "Fail"
	case len(f.Verdicts) > 0:
		v.Tone, v.Mark, v.Word = form.Good, "✓", "Pass"
	}
	return v
}

// closing has the verdict, its reason and the next command.
func (b Bench) closing() form.Section {
	v, failed := b.verdict(), b.failed()
	verdict, reason := form.F("%s", form.Toned(v.Tone, v.Word)), v.Sentences[0]
	if n := len(b.File.Verdicts); n > 0 {
		verdict = form.F("%s  %d of %s held", verdict, n-len(failed), figure.Count(n, "objective"))
	}
	if len(failed) == 0 && v.Rate != "" {
		reason = form.F("%s is %s", v.Figure, v.Rate)
	}
	return form.Closing(verdict, reason, terminal.CommandLine("evalctl", "show", b.Path, "--html", "bench.html"))
}

// headline returns the main figure: the highest rate that the first target kept, or else the 99th
// percentile of its last summary.
func (b Bench) headline() (value, of string) {
	f := b.File
	for _, l := range f.Limits {
		if l.Confirmed && !f.Targets[l.Target].Null {
			return fmt.Sprintf("%.4g/s", l.Rate), "highest rate at which " + b.named(l.Target) + " keeps " + f.Plan.Search
		}
	}
	for i := len(f.Summaries) - 1; i >= 0; i-- {
		s := &f.Summaries[i]
		if n := len(s.Ops); s.Target == 0 && n > 0 && s.Ops[n-1].Latency != nil && s.Ops[n-1].Latency.P99 != nil {
			return figure.Duration(s.Ops[n-1].Latency.P99.Value), "p99 of " + b.named(0) + ", " + s.Ops[n-1].Op
		}
	}
	return "", ""
}

// annotations returns the missed requirements.
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
