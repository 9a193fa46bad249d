package text

import (
	"cmp"
	"fmt"
	"strings"

	"evalctl/harness/verify"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// shownDifferences is how many differences of one file are printed.
const shownDifferences = 20

// writeDifferences writes a table of the first differences.
func writeDifferences(b *strings.Builder, rep *verify.Report) {
	rows := [][]string{{"", "in the file", "recomputed"}}
	for _, d := range rep.Differences[:min(len(rep.Differences), shownDifferences)] {
		path := d.Path
		if d.Question != "" {
			path += " (" + d.Question + ")"
		}
		want := cmp.Or(d.Recomputed, "not there")
		if d.Problem != "" {
			want = d.Problem
		}
		rows = append(rows, []string{terminal.Short(path, 80), terminal.Short(cmp.Or(d.InFile, "missing"), 40), terminal.Short(want, 120)})
	}
	for line := range strings.Lines(terminal.Table(rows, 3)) {
		b.WriteString("  " + line)
	}
	if more := rep.Found - (len(rows) - 1); more > 0 {
		fmt.Fprintf(b, "  and %d more; --json lists up to %d\n", more, verify.MaxDifferences)
	}
}

// Verified returns what the recomputation of a result file found.
func Verified(rep *verify.Report) string {
	var b strings.Builder
	what := fmt.Sprintf("%s of %s recomputed", figure.Count(rep.Figures, "figure"), figure.Count(rep.Questions, "question"))
	if rep.Kind == "sweep" {
		what = fmt.Sprintf("%s of %s in %s recomputed",
			figure.Count(rep.Figures, "figure"), figure.Count(rep.Questions, "question"), figure.Count(rep.Cells, "cell"))
	}
	verdict := "ok"
	if !rep.OK {
		verdict = "DIFFERS"
		what += ", " + figure.Count(rep.Found, "difference")
	}
	fmt.Fprintf(&b, "%s %s: %s\n", verdict, terminal.Line(rep.Path), what)
	if !rep.OK {
		writeDifferences(&b, rep)
	}
	return b.String()
}
