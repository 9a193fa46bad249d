// Package report describes results, reports of conformance and comparisons, and writes them for
// people and for continuous integration: as text for terminals, Markdown, HTML, JUnit XML, and
// annotations of GitHub. A description has the facts once; package form has what each form makes of
// them.
//
// Text of datasets, daemons and models is data in all of them: it is shown as it is and never
// interpreted.
package report

import (
	"io"

	"evalctl/harness/report/form"
	"evalctl/harness/report/page"
	"evalctl/internal/terminal"
)

// Document is what can be rendered: *Run, Arms, Replay, Compared, Conformance, Comparison, Bench or Sweep.
type Document interface {
	// suites returns the test suites, with a case for everything that passes or fails.
	suites() []suite
	// annotations returns what did not pass, the most important first.
	annotations() []annotation
	// reports returns what people read. A terminal and Markdown show all, an HTML page the first.
	reports() []*form.Report
}

// MaxSummary is the size of the largest summary that GitHub shows of a step, in bytes.
const MaxSummary = 1 << 20

// Text prints a document on a terminal, the verdict last.
func Text(t *terminal.Terminal, d Document) {
	if r, ok := d.(Replay); ok {
		r.text(t)
		return
	}
	for _, r := range d.reports() {
		r.Text(t)
	}
}

// Markdown writes a document as a page for the summary of a job: the verdict first, then figures,
// then what did not pass, folded. The page has fewer than limit bytes: what does not fit is left
// out, and the page says how much. The error is that of w.
func Markdown(w io.Writer, d Document, limit int) error {
	p := form.NewSummary(limit)
	for _, r := range d.reports() {
		r.Markdown(p)
	}
	_, err := p.WriteTo(w)
	return err
}

// HTML writes a page that needs no other file, no network and no script. With scripts, its
// questions can be sorted and filtered. All text of datasets and daemons is escaped, and characters
// that cannot be seen are shown as their numbers. Long texts are cut, which the page says.
func HTML(w io.Writer, p Page) error {
	r := p.Document.reports()[0]
	c := page.Content{Report: r}
	if run := theRun(p.Document); run != nil {
		r.Sections = append(r.Sections, trendSection(p.Trend, run.Result.Gate))
		c.Result, c.Questions = &run.Result, run.Questions
	}
	r.Links = p.Links
	return page.Write(w, c)
}

// Page is what an HTML page shows.
type Page struct {
	Document Document
	// Trend has results that are comparable with that of a Run, the oldest first.
	Trend []TrendPoint
	// Links lead to other pages, for a page that is served.
	Links []form.Link
}

// hasPage reports whether there is a page of a document. There is none of arms that are not exactly
// one with a result.
func hasPage(d Document) bool {
	arms, ok := d.(Arms)
	return !ok || len(arms) == 1 && arms[0].Run != nil
}

// theRun returns the result of a document with a single one, nil for others.
func theRun(d Document) *Run {
	switch d := d.(type) {
	case *Run:
		return d
	case Arms:
		return d[0].Run
	}
	return nil
}

// Arm is a run, or one of the things that a replay measured.
type Arm struct {
	// Name is the SDK or the baseline.
	Name string
	// Run is nil without a result.
	Run *Run
	// Problem is what ended the arm early, empty if nothing did.
	Problem string
}

// Arms are the arms of one replay, or a run alone.
type Arms []Arm

func (r *Run) arms() Arms { return Arms{{Name: r.Result.SDK, Run: r}} }

func (r *Run) suites() []suite           { return r.arms().suites() }
func (r *Run) annotations() []annotation { return r.arms().annotations() }
func (r *Run) reports() []*form.Report   { return r.arms().reports() }

func (a Arms) reports() (out []*form.Report) {
	for i := range a {
		out = append(out, a[i].report())
	}
	return out
}
