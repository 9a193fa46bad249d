package text

import (
	"cmp"
	"fmt"
	"strings"

	"evalctl/harness/signing"
	"evalctl/harness/verify"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// shownDifferences limits the printed differences of one file.
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

// Verified formats the results of recomputing a result file and checking its signature.
func Verified(v signing.Verification) string {
	var b strings.Builder
	what := fmt.Sprintf("%s of %s", figure.Count(v.Figures, "figure"), figure.Count(v.Questions, "question"))
	switch v.Kind {
	case "bench":
		what = fmt.Sprintf("%s of %s", figure.Count(v.Figures, "figure"), figure.Count(v.Blocks, "block"))
	case "sweep":
		what += " in " + figure.Count(v.Cells, "cell")
	}
	what += " recomputed"
	verdict := "ok"
	if !v.OK {
		verdict = "DIFFERS"
		what += ", " + figure.Count(v.Found, "difference")
	}
	fmt.Fprintf(&b, "%s %s: %s\n", verdict, terminal.Line(v.Path), what)
	if !v.OK {
		writeDifferences(&b, v.Report)
	}
	switch s := v.Signature; {
	case s == nil:
	case s.OK:
		fmt.Fprintf(&b, "signed by %s  %s\n", terminal.Line(s.Principal), s.Key)
	default:
		fmt.Fprintf(&b, "NOT SIGNED %s\n", terminal.Line(s.Problem))
	}
	return b.String()
}

// NotVerified lists the figures that cannot be recomputed, and the limits of signatures.
func NotVerified(left []string, signed bool) string {
	var lines string
	if len(left) > 0 {
		lines = "not checked: " + terminal.Line(strings.Join(left, "; ")) + "\n"
	}
	if signed {
		lines += "a signature does not show: " + signing.NotVouched + "\n"
	}
	return lines
}
