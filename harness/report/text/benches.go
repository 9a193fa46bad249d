package text

import (
	"fmt"
	"slices"

	"evalctl/harness/bench/table"
	"evalctl/harness/history"
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
