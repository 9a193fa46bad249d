package report

import (
	"io"

	"evalctl/harness/bench/record"
	"evalctl/harness/board"
	"evalctl/harness/compare"
	"evalctl/harness/conformance"
	"evalctl/harness/report/page"
)

// Page is what an HTML page shows. It needs one of Run, Comparison, Compared, Conformance, Board and Bench; the
// other parts are optional.
type Page struct {
	// Run is a result.
	Run        *Run
	Comparison *compare.Comparison
	// Compared are the arms of a replay.
	Compared *compare.Arms
	// Conformance is the report of evalctl conformance.
	Conformance *conformance.Report
	// Board has ranked results, BoardURLs their pages by their paths.
	Board     *board.Board
	BoardURLs map[string]string
	// Bench is what a bench measured.
	Bench *record.File
	// Trend has results that are comparable with Run, the oldest first.
	Trend []TrendPoint
	// Links lead to other pages, for a page that is served.
	Links []Link
}

// Link is a link to another page.
type Link = page.Link

// TrendPoint is one result of a trend.
type TrendPoint = page.TrendPoint

// HTML writes a page that needs no other file, no network and no script. With scripts, its
// questions can be sorted and filtered. All text of datasets and daemons is escaped, and characters
// that cannot be seen are shown as their numbers. Long texts are cut, which the page says.
func HTML(w io.Writer, p Page) error {
	c := page.Content{
		Conformance: p.Conformance,
		Board:       p.Board, BoardURLs: p.BoardURLs, Bench: p.Bench, Trend: p.Trend, Links: p.Links,
	}
	switch {
	case p.Comparison != nil:
		c.Report = Comparison{p.Comparison}.report()
	case p.Compared != nil:
		c.Report = Compared{p.Compared}.report()
	}
	if p.Run != nil {
		c.Path, c.Result, c.Questions = p.Run.Path, &p.Run.Result, p.Run.Questions
	}
	return page.Write(w, c)
}
