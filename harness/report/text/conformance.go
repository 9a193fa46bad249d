package text

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"evalctl/harness/conformance"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// Conformance writes the findings, the causes of the checks that are not judged, and the counts
// of each group.
func Conformance(w io.Writer, r conformance.Report) error {
	var b bytes.Buffer
	if r.Partial {
		fmt.Fprintf(&b, "PARTIAL: %d of %d checks were done before the run was stopped.\n", len(r.Results), r.Planned)
	}
	for _, d := range r.Deaths {
		fmt.Fprintf(&b, "The daemon died %s.\n", terminal.Lines(d.String()))
	}
	if r.Partial || len(r.Deaths) > 0 {
		b.WriteByte('\n')
	}
	if text := r.Unsettled(); text != "" {
		fmt.Fprintf(&b, "Too little was judged: %s.\n\n", text)
	}
	if of := r.Of(); of != "" {
		broken := r.Count("", conformance.Must, conformance.Broken)
		fmt.Fprintf(&b, "%d of %d MUST requirements%s are broken.\n\n", broken, broken+r.Count("", conformance.Must, conformance.Kept), of)
	}
	writeFindings(&b, r)
	writeNotJudged(&b, r)
	writeNormalised(&b, r)
	writeGroups(&b, r)
	writeBrainsLeft(&b, r)
	_, err := w.Write(b.Bytes())
	return err
}

func writeGroups(b *bytes.Buffer, r conformance.Report) {
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "MUST kept\tbroken\tSHOULD kept\tbroken\tnot judged\t  group")
	row := func(group, name string) {
		fmt.Fprintf(table, "%d\t%d\t%d\t%d\t%d\t  %s\n",
			r.Count(group, conformance.Must, conformance.Kept), r.Count(group, conformance.Must, conformance.Broken),
			r.Count(group, conformance.Should, conformance.Kept), r.Count(group, conformance.Should, conformance.Broken),
			r.NotJudged(group), name)
	}
	for _, group := range r.Groups() {
		row(group, group)
	}
	row("", "total")
	_ = table.Flush() // cannot fail: writes to memory
}

// The parts of a report that the table shows. The JSON has all of it.
const (
	shownChecks   = 6   // of a finding
	shownLines    = 8   // of a request or a response
	shownColumns  = 160 // of each line
	shownUnjudged = 20  // groups
)

// writeFindings writes the causes of the broken checks, each with its evidence.
func writeFindings(b *bytes.Buffer, r conformance.Report) {
	if len(r.Findings) == 0 {
		return
	}
	fmt.Fprintf(b, "%s:\n\n", figure.Count(len(r.Findings), "finding"))
	for _, f := range r.Findings {
		fmt.Fprintf(b, "  %-6s  %s\n", f.Level, terminal.Short(f.Cause, shownColumns))
		line := func(text string) { fmt.Fprintf(b, "          %s\n", text) }
		line(terminal.Short(f.Summary(shownChecks), 10*shownColumns))
		if f.Sentence != "" {
			line(fmt.Sprintf("spec %s: %s", f.Section, f.Sentence))
		}
		line(terminal.Short(f.Detail, 4*shownColumns))
		writeMessage(b, ">", f.Request)
		writeMessage(b, "<", f.Response)
		b.WriteByte('\n')
	}
}

// writeMessage writes the first lines of a request or a response.
func writeMessage(b *bytes.Buffer, mark, text string) {
	if text == "" {
		return
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines[:min(shownLines, len(lines))] {
		fmt.Fprintf(b, "          %s\n", strings.TrimRight(mark+" "+terminal.Short(line, shownColumns), " "))
	}
	if more := len(lines) - shownLines; more > 0 {
		fmt.Fprintf(b, "          %s … %s, in the report with --format json\n", mark, figure.Count(more, "more line"))
	}
}

// writeNotJudged writes how many checks have no verdict, by reason and cause, with one check of
// each.
func writeNotJudged(b *bytes.Buffer, r conformance.Report) {
	groups := r.Unjudged()
	if len(groups) == 0 {
		return
	}
	fmt.Fprintf(b, "%s not judged:\n\n", figure.Count(r.NotJudged(""), "check"))
	for _, g := range groups[:min(shownUnjudged, len(groups))] {
		fmt.Fprintf(b, "  %d: %s\n", len(g.Results), terminal.Short(g.String(), 2*shownColumns))
		if first := g.Results[0]; first.Reason != conformance.ReasonNeed {
			fmt.Fprintf(b, "    such as %s: %s\n", first.ID, terminal.Short(first.Detail, 2*shownColumns))
		}
	}
	if more := len(groups) - shownUnjudged; more > 0 {
		fmt.Fprintf(b, "  … and %s, in the report with --format json\n", figure.Count(more, "more cause"))
	}
	b.WriteByte('\n')
}

// writeNormalised says what the checks did not see as it was.
func writeNormalised(b *bytes.Buffer, r conformance.Report) {
	if len(r.Normalised) == 0 {
		return
	}
	b.WriteString("Found once, and allowed for in the other checks:\n\n")
	for _, text := range r.Normalised {
		fmt.Fprintf(b, "  %s\n", terminal.Short(text, 2*shownColumns))
	}
	b.WriteByte('\n')
}

// writeBrainsLeft names the brains that could not be deleted, or the first of many.
func writeBrainsLeft(b *bytes.Buffer, r conformance.Report) {
	const most = 10
	if len(r.BrainsLeft) == 0 {
		return
	}
	fmt.Fprintf(b, "\nBrains left behind, which could not be deleted: %d\n\n", len(r.BrainsLeft))
	for _, id := range r.BrainsLeft[:min(most, len(r.BrainsLeft))] {
		fmt.Fprintf(b, "  %s\n", terminal.Line(id))
	}
	if len(r.BrainsLeft) > most {
		b.WriteString("  … all of them are in the report with --format json\n")
	}
}

// BrainsLeft prints how many brains a run of checks could not delete.
func BrainsLeft(t *terminal.Terminal, r conformance.Report) {
	switch n := len(r.BrainsLeft); {
	case n > 1:
		t.Field("brains", "%d left behind, such as %s; the report names them", n, terminal.Line(r.BrainsLeft[0]))
	case n == 1:
		t.Field("brains", "1 left behind: %s", terminal.Line(r.BrainsLeft[0]))
	}
}

// Checks writes the checks as a list, a line each: the level, or own for a check of what only the
// reference daemon decided, the id, the section of the specification and the requirement.
func Checks(w io.Writer, checks []conformance.Check) error {
	for _, check := range checks {
		level := string(check.Level)
		if check.Own {
			level = "own"
		}
		if _, err := fmt.Fprintf(w, "%-6s  %-44s  %-4s  %s\n", level, check.ID, check.Section, check.Sentence); err != nil {
			return err
		}
	}
	return nil
}
