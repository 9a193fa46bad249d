package text

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/bench/record"
	"evalctl/harness/bench/table"
	"evalctl/harness/history"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// Benches returns a table of the benches in a folder, "" if there are none.
func Benches(t *terminal.Terminal, f *history.Folder) string {
	rows := [][]string{{"started (UTC)", "kind", "target", "operation", "load", "documents", "done/s", "p50 ms", "p99 ms", "file"}}
	for _, e := range f.Entries {
		if e.Kind != history.Bench {
			continue
		}
		loads := e.Loads
		if e.Stopped != "" || len(loads) == 0 {
			loads = append(slices.Clone(loads), history.Load{Target: e.Name, Op: e.VerdictText()})
		}
		for _, l := range loads {
			rows = append(rows, []string{
				e.StartedAt.UTC().Format("2006-01-02 15:04"), string(e.Kind), terminal.Short(l.Target, 16), terminal.Short(l.Op, 28),
				terminal.Short(l.Arrival, 48), fmt.Sprint(l.Documents), table.Quantity(l.Rate), table.Quantity(l.P50), table.Quantity(l.P99),
				terminal.Line(f.Below(e.Path)),
			})
		}
	}
	if len(rows) == 1 {
		return ""
	}
	return t.Fit(rows, "lllllrrrrl")
}

// BenchTrend prints a line of benches with the same work.
func BenchTrend(t *terminal.Terminal, l *history.BenchLine) {
	title := fmt.Sprintf("%s  bench  %s  %s  %s", terminal.Short(l.Target, 32), terminal.Short(l.Op, 48), terminal.Short(l.Arrival, 80),
		figure.Count(l.Documents, "document"))
	fmt.Fprintln(t, t.Wrap("", title))
	rows := [][]string{{"night", "done/s", "p50 ms", "p99 ms", "p99 of the null daemon", "daemon"}}
	for _, n := range l.Nights {
		null := "–"
		if n.NullP99 != nil {
			null = table.Quantity(&record.Quantity{Value: n.NullP99.Value})
		}
		rows = append(rows, []string{n.Date, table.Quantity(n.Rate), table.Quantity(n.P50), table.Quantity(n.P99), null, terminal.Short(n.Daemon, 32)})
	}
	for row := range strings.Lines(t.Fit(rows, "lrrrrl")) {
		fmt.Fprint(t, " "+row)
	}
	if l.Older > 0 {
		t.Field("older", "%s not shown: give --last 0", figure.Count(l.Older, "night"))
	}
	t.Blank()
}
