// Package nightly writes the Markdown report of a replay: the verdicts, the trend of previous
// nights, and the figures, all of which package report describes.
package nightly

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"evalctl/harness/compare"
	"evalctl/harness/report"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/atomicfile"
	"evalctl/internal/figure"
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
	var measured []*armResult
	for _, a := range arms {
		if a.Run != nil {
			measured = append(measured, &armResult{a, &a.Run.Result})
		}
	}
	title(&page, measured)
	replay := report.Replay{Arms: arms, Compared: compared}
	if err := report.Markdown(&page, report.Verdicts{Replay: replay}, report.MaxSummary); err != nil {
		return err
	}
	if err := trends(&page, measured, history); err != nil {
		return err
	}
	if err := report.Markdown(&page, report.Figures{Replay: replay}, report.MaxSummary-page.Len()); err != nil {
		return err
	}
	_, err := w.Write(page.Bytes())
	return err
}

// textLength limits shown texts, in characters.
const textLength = 300

// armResult is an arm with its result.
type armResult struct {
	report.Arm
	res *result.Result
}

// title writes the heading, which names the dataset and the questions.
func title(w io.Writer, measured []*armResult) {
	if len(measured) == 0 {
		fmt.Fprint(w, "# Replay without a result\n\n")
		return
	}
	res := measured[0].res
	about := form.F("%s UTC", res.StartedAt.UTC().Format("2006-01-02 15:04"))
	if r := res.Replay; r != nil {
		about = form.F("%s, %d of %s", about, r.Sample.Size, figure.Count(r.Sample.Population, "question"))
		if !r.Sample.Listed && r.Sample.Size < r.Sample.Population {
			about = form.F("%s drawn with seed %d", about, r.Sample.Seed)
		}
	}
	about = form.F("%s, scorer %s", about, form.Name(wording.ScoredBy(res.Identity)))
	heading := form.F("Replay of %s", form.Name(report.DatasetName(&res.Identity)))
	fmt.Fprintf(w, "# %s\n\n%s\n\n", heading.Markdown(), about.Markdown())
}

// dayOf returns the day of a result, in UTC.
func dayOf(res *result.Result) time.Time {
	return res.StartedAt.UTC().Truncate(24 * time.Hour)
}
