// Package report describes results, reports of conformance and comparisons, and writes them for
// people and for continuous integration: as text for terminals, Markdown, HTML, JUnit XML, and
// annotations of GitHub. A report has each fact once; package form defines how each form shows it.
//
// Text of datasets, daemons and models is shown verbatim and never interpreted in any form.
package report

import (
	"io"

	"evalctl/harness/report/form"
	"evalctl/harness/report/page"
	"evalctl/internal/terminal"
)

// Document is a document that can be rendered: *Run, Arms, Replay or its Verdicts and Figures,
// Comparison, Conformance, Bench, Sweep, Board, Trend, Past or Audit.
type Document interface {
	// suites returns the test suites, with a case for everything that passes or fails.
	suites() []suite
	// annotations returns everything that did not pass, the most important first.
	annotations() []annotation
	// reports returns the reports for people. A terminal and Markdown show all, an HTML page only
	// the first, or the page of a Replay.
	reports() []*form.Report
}

// MaxSummary is the maximum size of a step summary on GitHub, in bytes.
const MaxSummary = 1 << 20

// Text prints a document on a terminal, with the verdict last.
func Text(t *terminal.Terminal, d Document) {
	if r, ok := d.(Replay); ok {
		r.text(t)
		return
	}
	for _, r := range d.reports() {
		r.Text(t)
	}
}

// Markdown writes a document as the summary of a job: the verdict first, then figures, then a
// folded list of failures. The page has fewer than limit bytes; it says how much was omitted.
// Markdown returns the error of w.
func Markdown(w io.Writer, d Document, limit int) error {
	p := form.NewSummary(limit)
	for _, r := range d.reports() {
		r.Markdown(p)
	}
	_, err := p.WriteTo(w)
	return err
}

// HTML writes a self-contained page that works without network and without scripts. With scripts,
// its questions can be sorted and filtered. All text of datasets and daemons is escaped, and
// invisible characters are shown as their numbers. The page says where it shortens long texts.
func HTML(w io.Writer, p Page) error {
	r := pageOf(p.Document)
	c := page.Content{Report: r}
	if run := theRun(p.Document); run != nil {
		r.Sections = append(r.Sections, p.Trend.before(run))
		c.Result, c.Questions = &run.Result, run.Questions
	}
	r.Links = p.Links
	return page.Write(w, c)
}

func pageOf(d Document) *form.Report {
	if r, ok := d.(Replay); ok {
		return r.page()
	}
	return d.reports()[0]
}

// Page is the content of an HTML page.
type Page struct {
	Document Document
	// Trend has the line of the result of a Run.
	Trend Trend
	// Links lead to other pages, for a page that is served.
	Links []form.Link
}

// hasPage reports whether a document has a page. Arms have one only if there is a single arm with a
// result.
func hasPage(d Document) bool {
	arms, ok := d.(Arms)
	return !ok || len(arms) == 1 && arms[0].Run != nil
}

// theRun returns the only result of a document, nil if there are none or several.
func theRun(d Document) *Run {
	switch d := d.(type) {
	case *Run:
		return d
	case Arms:
		return d[0].Run
	}
	return nil
}

// Arm is a run, or an arm of a replay.
type Arm struct {
	// Name is the SDK or the baseline.
	Name string
	// Run is nil without a result.
	Run *Run
	// Problem is why the arm ended early, empty if it did not.
	Problem string
}

// Arms are the arms of one replay, or a single run.
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
