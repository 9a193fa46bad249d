package text

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/bench/record"
	"evalctl/harness/bench/table"
	"evalctl/harness/board"
	"evalctl/harness/conformance"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// BenchNotes prints notes to the tables: omissions, errors, and the meaning of marks.
func BenchNotes(t *terminal.Terminal, f *record.File) {
	if f.Client == record.Ordinary {
		t.Field("note", "requests are sent by net/http, which is slower: a target is reached by TLS or a proxy, or the system is Windows")
	}
	for _, x := range f.Targets {
		w, name := x.WarmUp, terminal.Line(x.Name)
		if w.Method == "none" {
			t.Field("warning", "%s: what is slow at first is part of the figures (--warm-up 0)", name)
		} else if w.Method != "" {
			t.Field("warm-up", "%s: %s in %.1f s left out", name, figure.Count(int(w.Requests), "request"), w.Seconds)
			if !w.Steady {
				t.Field("warning", "%s: the latency was not shown to be steady when the warm-up ended; allow more with --warm-up, at least 2s", name)
			}
		}
		if x.Started || x.Escaped != nil {
			Escaped(t, x.Escaped)
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

// errorKinds formats the numbers of errors by kind.
func errorKinds(errors map[string]int64) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(errors)) {
		parts = append(parts, fmt.Sprintf("%s ×%d", terminal.Line(kind), errors[kind]))
	}
	return strings.Join(parts, ", ")
}

// NotRanked prints which results in dir a board leaves out.
func NotRanked(t *terminal.Terminal, b *board.Board, dir string) {
	if len(b.Groups) == 0 {
		t.Field("empty", "no result in %s can be ranked: evalctl run writes them", terminal.Line(dir))
	}
	for _, l := range b.LeftOut {
		t.Field("left out", "%s: %s", terminal.Line(l.Path), terminal.Line(l.Reason))
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

// Checks lists the checks, one per line: the level, the id, the section of the specification and the
// requirement.
func Checks(w io.Writer, checks []conformance.Check) error {
	for _, check := range checks {
		if _, err := fmt.Fprintf(w, "%-6s  %-44s  %-4s  %s\n", check.Level, check.ID, check.Section, check.Sentence); err != nil {
			return err
		}
	}
	return nil
}
