package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/printable"
	"evalctl/internal/terminal"
)

// Cells prints the table of the combinations on a terminal.
func (w Sweep) Cells(t *terminal.Terminal) {
	s := form.Section{}
	s.Show(form.Terminal, w.table())
	s.Text(t)
}

// sweepColumn is a measure in the table. A star marks its best value.
type sweepColumn struct {
	name string
	// inflated is set if a top-k that covers the brain makes the measure meaningless.
	inflated bool
	value    func(result.Cell) *float64 // nil if the cell has none
}

var sweepColumns = []sweepColumn{
	{">recall@k", true, ofTopK("recall")},
	{">nDCG@k", false, ofTopK("ndcg")},
	{">MRR", false, ofTopK("mrr")},
	{">|any@k", true, ofTopK("any")},
	{">pass", true, func(c result.Cell) *float64 {
		if c.Unanswered() {
			return nil
		}
		return c.Result.PassRate
	}},
}

func ofTopK(name string) func(result.Cell) *float64 {
	return func(c result.Cell) *float64 { return AtTopK(c, name) }
}

// table has a row for each combination. Latencies have no star: one run of each combination cannot
// show which is the fastest.
func (w Sweep) table() *form.Table {
	cells := w.File.Cells
	candidates := slices.ContainsFunc(cells, func(c result.Cell) bool { return c.CandidateK > 0 })
	failed := slices.ContainsFunc(cells, func(c result.Cell) bool { return c.Result.Counts.Errors > 0 })
	columns := []any{"mode", "ran", ">top-k"}
	if candidates {
		columns = append(columns, ">candidate-k")
	}
	if columns = append(columns, ">n"); failed {
		columns = append(columns, ">errors")
	}
	for _, c := range sweepColumns {
		columns = append(columns, c.name)
	}
	t := form.NewTable(form.F("Combinations"), append(columns, ">p50", ">p95")...)
	for _, cell := range cells {
		res := &cell.Result
		row := []any{form.Name(cell.Mode), form.Name(printable.Short(ran(cell), 40)), cell.TopK}
		if candidates {
			row = append(row, cell.CandidateK)
		}
		if row = append(row, res.Counts.Total); failed {
			row = append(row, res.Counts.Errors)
		}
		for _, c := range sweepColumns {
			row = append(row, c.text(cell, c.best(cells)))
		}
		t.Row(append(row, percentile(res.Latency.P50, nil, result.NeededForP50), percentile(res.Latency.P95, nil, result.NeededForP95))...)
	}
	return t
}

// text formats the value of a cell.
func (c sweepColumn) text(cell result.Cell, best float64) string {
	v := c.value(cell)
	if v != nil && *v == best && c.ranks(cell) {
		return "*" + figure.Rate(v)
	}
	return figure.Rate(v)
}

// ranks reports whether the value of a cell may be the best of the column.
func (c sweepColumn) ranks(cell result.Cell) bool { return !c.inflated || !coversBrain(cell) }

// best returns the best value of a column, NaN if all cells have the same value.
func (c sweepColumn) best(cells []result.Cell) float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, cell := range cells {
		if v := c.value(cell); v != nil && c.ranks(cell) {
			lo, hi = min(lo, *v), max(hi, *v)
		}
	}
	if !(lo < hi) {
		return math.NaN()
	}
	return hi
}

// coversBrain reports whether the top-k of a cell is large enough to retrieve every document of a
// brain.
func coversBrain(c result.Cell) bool {
	r := rankedBy(c)
	return r != nil && slices.ContainsFunc(r.Warnings, func(w result.Warning) bool {
		return w.Kind == result.TopKCoversBrain
	})
}

// ran describes what answered in a cell: the mode, also if it is not the requested one, and the
// fusion.
func ran(c result.Cell) string {
	text := RanOtherwise(c)
	if text == "" {
		text = modesOfCell(c)
	}
	if f := slices.Sorted(maps.Keys(c.Result.Fusions)); len(f) > 0 {
		text += " (" + strings.Join(f, ", ") + ")"
	}
	return text
}

// RanOtherwise describes the mode that ran instead of the requested one, in words of the daemon. It
// is empty if the requested mode ran. For auto, any mode is right.
func RanOtherwise(c result.Cell) string {
	ran := modesOfCell(c)
	if ran == c.Mode || c.Mode == protocol.ModeAuto || ran == "none" {
		return ""
	}
	return ran + ", not " + c.Mode
}

// modesOfCell returns the modes reported by the answers of a cell, with counts if there are several.
func modesOfCell(c result.Cell) string {
	modes := slices.Sorted(maps.Keys(c.Result.EffectiveModes))
	answered := c.Result.Counts.Scored
	for i, m := range modes {
		if n := c.Result.EffectiveModes[m]; n != answered {
			modes[i] = fmt.Sprintf("%s ×%d", m, n)
		}
	}
	switch {
	case len(modes) > 0:
		return strings.Join(modes, ", ")
	case answered == 0:
		return "none"
	}
	return "unknown mode"
}
