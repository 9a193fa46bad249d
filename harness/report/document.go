// Package report renders results, reports of conformance and comparisons for people and for
// continuous integration: as JUnit XML, as Markdown, and as annotations of GitHub.
//
// Text of datasets, daemons and models is data in all of them: it is shown as it is and never
// interpreted.
package report

// Document is what can be rendered: *Run, Arms, Replay, Compared, Conformance, Comparison or Bench.
type Document interface {
	// suites returns the test suites, with a case for everything that passes or fails.
	suites() []suite
	// write writes the page.
	write(p *summary)
	// annotations returns what did not pass, the most important first.
	annotations() []annotation
	// page returns the HTML page. It is nil for arms that are not exactly one with a result.
	page() *Page
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
func (r *Run) write(p *summary)          { r.arms().write(p) }
func (r *Run) annotations() []annotation { return r.arms().annotations() }
func (r *Run) page() *Page               { return &Page{Run: r} }

func (a Arms) page() *Page {
	if len(a) != 1 || a[0].Run == nil {
		return nil
	}
	return a[0].Run.page()
}
