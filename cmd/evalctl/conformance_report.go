package main

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/schollz/progressbar/v3"

	"evalctl/harness/conformance"
)

// writeCheckTable writes the counts of each group, then the failed checks, MUST first.
func writeCheckTable(w io.Writer, r conformance.Report) error {
	var b bytes.Buffer
	if r.Partial {
		fmt.Fprintf(&b, "PARTIAL: %d of %d checks were done before the run was stopped.\n\n", len(r.Results), r.Planned)
	}
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "MUST pass\tfail\tSHOULD pass\tfail\tskipped\t  group")
	row := func(group, name string) {
		fmt.Fprintf(table, "%d\t%d\t%d\t%d\t%d\t  %s\n",
			r.Count(group, conformance.Must, conformance.Pass), r.Count(group, conformance.Must, conformance.Fail),
			r.Count(group, conformance.Should, conformance.Pass), r.Count(group, conformance.Should, conformance.Fail),
			r.Skipped(group), name)
	}
	for _, group := range r.Groups() {
		row(group, group)
	}
	row("", "total")
	_ = table.Flush() // cannot fail: writes to memory
	for _, level := range []conformance.Level{conformance.Must, conformance.Should} {
		writeFailures(&b, r, level)
	}
	writeSkips(&b, r)
	_, err := w.Write(b.Bytes())
	return err
}

func writeFailures(b *bytes.Buffer, r conformance.Report, level conformance.Level) {
	if r.Count("", level, conformance.Fail) == 0 {
		return
	}
	fmt.Fprintf(b, "\nFailed, %s:\n", level)
	for _, res := range r.Results {
		if res.Level == level && res.Status == conformance.Fail {
			fmt.Fprintf(b, "\n  %s  (spec %s)\n    %s\n    %s\n    %s\n", res.ID, res.Section, res.Sentence,
				printable(res.Detail, oneLine), printable(res.Request, oneLine))
		}
	}
}

// writeSkips writes how many checks were skipped for each reason.
func writeSkips(b *bytes.Buffer, r conformance.Report) {
	var reasons []string
	count := map[string]int{}
	for _, res := range r.Results {
		if res.Status == conformance.Skip {
			if count[res.Detail] == 0 {
				reasons = append(reasons, res.Detail)
			}
			count[res.Detail]++
		}
	}
	if len(reasons) > 0 {
		b.WriteString("\nSkipped:\n\n")
	}
	for _, reason := range reasons {
		fmt.Fprintf(b, "  %d: %s\n", count[reason], printable(reason, oneLine))
	}
}

// checkProgress is a progress bar. It is shown on terminals only, because a run is short.
type checkProgress struct{ bar *progressbar.ProgressBar }

func (t *terminal) checkProgress(total int) *checkProgress {
	p := &checkProgress{}
	if t.live && !t.quiet {
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(t.w), progressbar.OptionSetWidth(24), progressbar.OptionShowCount(),
			progressbar.OptionThrottle(redrawInterval), progressbar.OptionSetDescription("  check"),
			progressbar.OptionClearOnFinish())
	}
	return p
}

// add counts a result. It is called by one goroutine at a time.
func (p *checkProgress) add(conformance.Result) {
	if p.bar != nil {
		_ = p.bar.Add(1) // a drawing error must not stop the checks
	}
}

// done removes the bar.
func (p *checkProgress) done() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
