package text

import (
	"evalctl/harness/report"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// Cell prints the details of a finished cell that its row in the table lacks.
func Cell(t *terminal.Terminal, cell result.Cell, failed *result.Record, shown ShownWarnings) {
	res := cell.Result
	name := report.CellName(cell)
	took := figure.Duration(float64(res.FinishedAt.Sub(res.StartedAt).Milliseconds()))
	t.Field("cell", "%s  %s in %s", name, figure.Count(res.Counts.Total, "question"), took)
	if ran := report.RanOtherwise(cell); ran != "" {
		t.Field("warning", "%s: the daemon ran %s", name, terminal.Line(ran))
	}
	if r := failed; r != nil {
		t.Field("warning", "%s: %s, first: %s", name, figure.Count(res.Counts.Errors, "error"), terminal.Short(r.Error.Message, 200))
	}
	if res.Retrieval != nil {
		for _, w := range shown.Add(res.Retrieval.Warnings) {
			t.Field("warning", "%s: %s", name, terminal.Line(w.Message))
		}
	}
}

// ShownWarnings is the set of messages that a sweep has printed. Each is printed once, even if it
// applies to several cells.
type ShownWarnings map[string]bool

// Add returns the warnings that are not in the set, and adds them.
func (s ShownWarnings) Add(warnings []result.Warning) []result.Warning {
	var out []result.Warning
	for _, w := range warnings {
		if !s[w.Message] {
			s[w.Message] = true
			out = append(out, w)
		}
	}
	return out
}
