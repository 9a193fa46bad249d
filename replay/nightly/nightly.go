// Package nightly writes the report of a replay: quality and cost of each arm, a comparison of the
// arms, and the trend of previous nights.
//
// The report is Markdown for GitHub. Text of datasets, daemons and models is shown verbatim, and
// cannot become a link, a heading, a mention or HTML.
package nightly

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"evalctl/harness/compare"
	"evalctl/harness/report"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/atomicfile"
	"evalctl/internal/figure"
	"evalctl/internal/markdown"
)

// Write replaces the file at path with the report, and creates its folder. See Report.
func Write(path string, arms report.Arms, compared *compare.Arms, history string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, 0o644, func(w io.Writer) error { return Report(w, arms, compared, history) })
}

// Report writes the report. history is the folder with the results of previous nights, empty for
// none. It returns the error of w.
func Report(w io.Writer, arms report.Arms, compared *compare.Arms, history string) error {
	var page bytes.Buffer
	var all []*armResult
	var reported report.Arms
	for _, a := range arms {
		m := &armResult{Arm: a}
		if all = append(all, m); a.Run != nil {
			m.res, reported = &a.Run.Result, append(reported, a)
		}
	}
	title(&page, all)
	sentences(&page, compared)
	verdicts(&page, all)
	if compared != nil && len(reported) > 1 {
		fmt.Fprint(&page, "## Comparison\n\n")
		if err := report.Markdown(&page, report.ArmComparison{Arms: compared, Of: reported}, comparisonSize); err != nil {
			return err
		}
	}
	trends(&page, all, history)
	var figures report.Document = report.ArmFigures{Arms: reported}
	if len(reported) < 2 {
		figures = reported
	}
	if err := report.Markdown(&page, figures, report.MaxSummary-page.Len()); err != nil {
		return err
	}
	_, err := w.Write(page.Bytes())
	return err
}

// comparisonSize limits the comparison, in bytes.
const comparisonSize = 1 << 18

// sentences writes how the arms compare: the verdict, and then why.
func sentences(w io.Writer, compared *compare.Arms) {
	if compared == nil {
		return
	}
	fmt.Fprintf(w, "**%s.**\n\n", report.ArmComparison{Arms: compared}.Headline().Markdown())
	for _, s := range compared.Findings() {
		fmt.Fprintf(w, "- %s\n", markdown.Span(s, 2*textLength))
	}
	fmt.Fprintln(w)
}

// textLength limits shown texts, in characters.
const textLength = 300

// armResult is an arm with its result.
type armResult struct {
	report.Arm
	res *result.Result // nil without one
}

// title writes the heading, which names the dataset and the questions.
func title(w io.Writer, arms []*armResult) {
	i := slices.IndexFunc(arms, func(m *armResult) bool { return m.res != nil })
	if i < 0 {
		fmt.Fprint(w, "# Replay without a result\n\n")
		return
	}
	res := arms[i].res
	fmt.Fprintf(w, "# Replay of %s\n\n", markdown.Code(filepath.Base(res.Identity.Dataset.Path)))
	fmt.Fprintf(w, "%s UTC", res.StartedAt.UTC().Format("2006-01-02 15:04"))
	if r := res.Replay; r != nil {
		s := r.Sample
		fmt.Fprintf(w, ", %d of %s", s.Size, figure.Count(s.Population, "question"))
		if !s.Listed && s.Size < s.Population {
			fmt.Fprintf(w, " drawn with seed %d", s.Seed)
		}
	}
	fmt.Fprintf(w, ", scorer %s\n\n", markdown.Code(wording.ScoredBy(res.Identity)))
}

// dayOf returns the day of a result, in UTC.
func dayOf(res *result.Result) time.Time {
	return res.StartedAt.UTC().Truncate(24 * time.Hour)
}
