package text

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/bench/record"
	"evalctl/harness/bench/table"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// Bench returns the tables of a bench.
func Bench(f *record.File) string {
	var parts []string
	for _, t := range table.Of(f) {
		for _, row := range t.Rows {
			for i := range row {
				row[i] = terminal.Line(row[i])
			}
		}
		part := terminal.Aligned(t.Rows, t.Columns)
		for _, line := range t.Below {
			part += terminal.Line(line) + "\n"
		}
		parts = append(parts, part)
	}
	if verdicts := benchVerdicts(f); verdicts != "" {
		parts = append(parts, verdicts)
	}
	return strings.Join(parts, "\n")
}

// BenchNotes prints what the tables do not say: what was left out, and what their marks mean.
func BenchNotes(t *terminal.Terminal, f *record.File) {
	if f.Client == record.Ordinary {
		t.Field("note", "requests are sent by net/http, which is slower: a target is reached by TLS or a proxy, or the system is Windows")
	}
	for _, x := range f.Targets {
		w, name := x.WarmUp, terminal.Line(x.Name)
		if w.Method == "none" {
			t.Field("warm-up", "%s: not looked for (--warm-up 0)", name)
		} else if w.Method != "" {
			t.Field("warm-up", "%s: %s in %.1f s left out (%s)", name, figure.Count(int(w.Requests), "request"), w.Seconds, strings.ToUpper(w.Method))
			if !w.Steady {
				t.Field("warning", "%s: the latency was still changing when the warm-up ended; allow more with --warm-up", name)
			}
		}
		for _, why := range x.Lacks {
			t.Field("note", "%s: left out of the mix: %s", name, terminal.Line(why))
		}
	}
	if left := benchLeftOut(f); left > 0 {
		t.Field("left out", "%s at the beginnings of blocks", figure.Count(int(left), "request"))
	}
	for _, s := range f.Summaries {
		for _, o := range s.Ops {
			if o.FirstError != "" && o.Op != record.All {
				t.Field("error", "%s %s: %s, first: %s", terminal.Line(f.Targets[s.Target].Name), terminal.Line(o.Op), errorKinds(o.Errors), terminal.Short(o.FirstError, 200))
			}
		}
	}
	if table.Near(f) {
		t.Field("note", table.NearNote)
	}
}

func benchLeftOut(f *record.File) (n int64) {
	for _, b := range f.Blocks {
		n += b.LeftOut
	}
	return n
}

// errorKinds returns the numbers of errors by kind.
func errorKinds(errors map[string]int64) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(errors)) {
		parts = append(parts, fmt.Sprintf("%s ×%d", terminal.Line(kind), errors[kind]))
	}
	return strings.Join(parts, ", ")
}

func benchVerdicts(f *record.File) string {
	var b strings.Builder
	for _, v := range f.Verdicts {
		word := "PASS"
		if v.Unjudged {
			word = "----"
		} else if !v.Held {
			word = "FAIL"
		}
		fmt.Fprintf(&b, "%s  %s\n", word, terminal.Line(v.Sentence))
	}
	return b.String()
}
