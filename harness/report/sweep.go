package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/inputfile"
	"evalctl/internal/svg"
	"evalctl/internal/terminal"
)

// Sweep is the document of a sweep.
type Sweep struct {
	File result.Sweep
	Path string
}

// maxSweep limits the file of a sweep, in bytes.
const maxSweep = 1 << 30

// readSweep reads the file of a sweep.
func readSweep(path string) (Sweep, error) {
	data, err := inputfile.Read(path, maxSweep)
	if err != nil {
		return Sweep{}, err
	}
	s := Sweep{Path: path}
	if err := json.Unmarshal(data, &s.File); err != nil {
		return Sweep{}, fmt.Errorf("read %s: %w", path, err)
	}
	return s, nil
}

func (Sweep) annotations() []annotation { return nil }

// suites returns a case for each combination, which is an error if no question has an answer.
func (w Sweep) suites() []suite {
	s := suite{name: "sweep." + w.File.SDK, started: w.File.StartedAt, ms: float64(w.File.FinishedAt.Sub(w.File.StartedAt).Milliseconds())}
	for _, c := range w.File.Cells {
		one := testCase{class: s.name, name: CellName(c)}
		if c.Unanswered() {
			one.status, one.kind, one.message = errored, "unanswered", "no question has an answer"
		}
		s.cases = append(s.cases, one)
	}
	return []suite{s}
}

// CellName names a combination.
func CellName(c result.Cell) string {
	name := fmt.Sprintf("%s top-k %d", c.Mode, c.TopK)
	if c.CandidateK > 0 {
		name += fmt.Sprintf(" candidate-k %d", c.CandidateK)
	}
	return name
}

// rankedBy returns the measures of a combination: by documents or, without expected_paths, by
// evidence.
func rankedBy(c result.Cell) *result.Retrieval { return cmp.Or(c.Result.Retrieval, c.Result.Evidence) }

// AtTopK returns a retrieval metric of a combination at its top-k, nil if it has none. A combination
// without answers has none: its mode does not work, which says nothing about a ranking.
func AtTopK(c result.Cell, metric string) *float64 {
	name := metric
	if metric != "mrr" {
		name = fmt.Sprintf("%s@%d", metric, c.TopK)
	}
	if r := rankedBy(c); r != nil && !c.Unanswered() {
		if v, ok := r.Macro[name]; ok {
			return &v
		}
	}
	return nil
}

func (w Sweep) reports() []*form.Report {
	r := &form.Report{Verdict: w.verdict()}
	s := form.Section{ID: "cells", Title: "Combinations"}
	w.chart(&s)
	s.Show(form.Everywhere, w.table())
	s.Note(form.Pages, "recall, nDCG and any are at the top-k of the combination, so they grow with it; * marks the best of a column")
	v := r.Verdict
	closing := form.Closing(form.F("%s", form.Toned(v.Tone, v.Word)), form.Join("; ", v.Sentences...),
		terminal.CommandLine("evalctl", "show", w.Path, "--html", "sweep.html"))
	r.Sections = []form.Section{s, w.ran(), closing}
	return []*form.Report{r}
}

// chart draws the recall of the combinations against their latency, with a series for each mode.
func (w Sweep) chart(s *form.Section) {
	c := svg.XY{Title: "Recall against latency; the table has the values", Front: true,
		X: svg.Dimension{Name: "p50", Log: true, Format: figure.Duration},
		Y: svg.Dimension{Name: "recall at top-k", Zero: true, Format: func(v float64) string { return fmt.Sprintf("%.2f", v) }}}
	for _, cell := range w.File.Cells {
		recall, p50 := AtTopK(cell, "recall"), cell.Result.Latency.P50
		if recall == nil || p50 == nil {
			continue
		}
		p := place(*p50, *recall)
		if i, ok := cell.Result.Retrieval.Intervals[fmt.Sprintf("recall@%d", cell.TopK)]; ok {
			p.Low, p.High = i.Low, i.High
		}
		p.Label = fmt.Sprint(cell.TopK)
		at := slices.IndexFunc(c.Lines, func(l svg.Line) bool { return l.Name == cell.Mode })
		if at < 0 {
			at, c.Lines = len(c.Lines), append(c.Lines, svg.Line{Name: cell.Mode})
		}
		c.Lines[at].Points = append(c.Lines[at].Points, p)
	}
	draw(s, c, "Recall against the median latency; numbers are the top-k. Whisker: the interval. Dotted line: the combinations that no other beats in both.")
}

func (w Sweep) verdict() form.Verdict {
	f := w.File
	v := form.Verdict{Tone: form.None, Mark: "≡", Word: "Measured", Title: form.F("sweep of %s", form.Name(f.SDK)),
		Sentences: []form.Text{form.F("%d of %s measured", len(f.Cells), figure.Count(f.Planned, "combination"))}}
	if f.Stopped != "" {
		v.Tone, v.Mark, v.Word = form.Doubt, "‖", "Stopped"
		v.Sentences = append(v.Sentences, form.F("the sweep was stopped: %s", form.Name(f.Stopped)))
	}
	best, of := math.Inf(-1), ""
	for _, c := range f.Cells {
		if recall := AtTopK(c, "recall"); recall != nil && *recall > best && !coversBrain(c) {
			best, of = *recall, CellName(c)
		}
	}
	if of != "" {
		v.Rate, v.Figure = fmt.Sprintf("%.3f", best), "highest recall, with "+of
	}
	return v
}

// ran describes the measurement.
func (w Sweep) ran() form.Section {
	s := form.Section{ID: "ran", Title: "What ran", Folded: true}
	if len(w.File.Cells) == 0 {
		return s
	}
	id := &w.File.Cells[0].Result.Identity
	s.FactIn(form.Pages, "daemon", "%s", words(id.Daemon.Program, id.Daemon.Endpoint, id.Daemon.Version))
	inputs(&s, id)
	s.FactIn(form.Pages, "warm-up", "%s not measured", figure.Count(w.File.WarmUp, "question"))
	s.FactIn(form.Pages, "time", "%s to %s", stamp(w.File.StartedAt), stamp(w.File.FinishedAt))
	return s
}
