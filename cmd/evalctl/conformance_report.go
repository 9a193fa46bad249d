package main

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"

	"evalctl/harness/conformance"
)

// writeCheckTable writes the counts of each group, then the broken checks, MUST first, and the
// reasons of those that are not judged.
func writeCheckTable(w io.Writer, r conformance.Report) error {
	var b bytes.Buffer
	if r.Partial {
		fmt.Fprintf(&b, "PARTIAL: %d of %d checks were done before the run was stopped.\n", len(r.Results), r.Planned)
	}
	for _, d := range r.Deaths {
		fmt.Fprintf(&b, "The daemon died %s.\n", printable(d.String(), keepLines))
	}
	if r.Partial || len(r.Deaths) > 0 {
		b.WriteByte('\n')
	}
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
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
	for _, level := range []conformance.Level{conformance.Must, conformance.Should} {
		writeBroken(&b, r, level)
	}
	writeNotJudged(&b, r)
	writeBrainsLeft(&b, r)
	_, err := w.Write(b.Bytes())
	return err
}

func writeBroken(b *bytes.Buffer, r conformance.Report, level conformance.Level) {
	if r.Count("", level, conformance.Broken) == 0 {
		return
	}
	fmt.Fprintf(b, "\nBroken, %s:\n", level)
	for _, res := range r.Results {
		if res.Level == level && res.Verdict == conformance.Broken {
			fmt.Fprintf(b, "\n  %s  (spec %s)\n    %s\n    %s\n    %s\n", res.ID, res.Section, res.Sentence,
				printable(res.Detail, oneLine), printable(res.Request, oneLine))
		}
	}
}

// writeNotJudged writes how many checks have no verdict, by reason, with one example of each.
func writeNotJudged(b *bytes.Buffer, r conformance.Report) {
	var reasons []string
	count, example := map[string]int{}, map[string]conformance.Result{}
	for _, res := range r.Results {
		if res.Verdict != conformance.NotJudged {
			continue
		}
		reason := res.Reason.String()
		if res.Reason == conformance.ReasonNeed || res.Reason == conformance.ReasonOptional {
			reason = res.Detail // one of a few texts
		}
		if count[reason]++; count[reason] == 1 {
			reasons = append(reasons, reason)
			example[reason] = res
		}
	}
	if len(reasons) > 0 {
		b.WriteString("\nNot judged:\n\n")
	}
	for _, reason := range reasons {
		fmt.Fprintf(b, "  %d: %s\n", count[reason], printable(reason, oneLine))
		if first := example[reason]; first.Detail != reason {
			fmt.Fprintf(b, "    such as %s: %s\n", first.ID, printable(first.Detail, oneLine))
		}
	}
}

// writeBrainsLeft names the brains that could not be deleted, or the first of many.
func writeBrainsLeft(b *bytes.Buffer, r conformance.Report) {
	const most = 10
	if len(r.BrainsLeft) == 0 {
		return
	}
	fmt.Fprintf(b, "\nBrains left behind, which could not be deleted: %d\n\n", len(r.BrainsLeft))
	for _, id := range r.BrainsLeft[:min(most, len(r.BrainsLeft))] {
		fmt.Fprintf(b, "  %s\n", printable(id, oneLine))
	}
	if len(r.BrainsLeft) > most {
		b.WriteString("  … all of them are in the report with --format json\n")
	}
}
