package text

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
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
	if ran := ranOtherwise(cell, res); ran != "" {
		t.Field("warning", "%s: the daemon ran %s", name, ran)
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

// coversBrain reports whether the top-k of a cell is large enough to retrieve every document of a
// brain.
func coversBrain(c result.Cell) bool {
	return c.Result.Retrieval != nil && slices.ContainsFunc(c.Result.Retrieval.Warnings, func(w result.Warning) bool {
		return w.Kind == result.TopKCoversBrain
	})
}

// modesRan returns the modes reported by the answers of a cell, with counts if there are several.
func modesRan(res result.Result) string {
	modes := slices.Sorted(maps.Keys(res.EffectiveModes))
	answered := res.Counts.Scored
	for i, m := range modes {
		if res.EffectiveModes[m] != answered {
			modes[i] = fmt.Sprintf("%s ×%d", m, res.EffectiveModes[m])
		}
	}
	switch {
	case len(modes) > 0:
		return terminal.Line(strings.Join(modes, ", "))
	case answered == 0:
		return "none"
	}
	return "unknown mode"
}

// ranOtherwise describes the mode that ran instead of the requested one, "" if it was the requested
// one. For auto, any mode is right.
func ranOtherwise(cell result.Cell, res result.Result) string {
	ran := modesRan(res)
	if ran == cell.Mode || cell.Mode == protocol.ModeAuto || ran == "none" {
		return ""
	}
	return ran + ", not " + cell.Mode
}

// column is a metric in the table.
type column struct {
	name string
	// unranked is set if one run of each cell cannot show which is best: runs differ in latency.
	unranked bool
	// inflated is set if a top-k that covers the brain makes the metric meaningless.
	inflated bool
	value    func(result.Cell) *float64 // nil if the cell has none
	format   func(*float64) string
}

// rate formats a value from 0 to 1.
func rate(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *v)
}

// metric returns the value function of a retrieval metric.
func metric(name string) func(result.Cell) *float64 {
	return func(c result.Cell) *float64 { return report.AtTopK(c, name) }
}

func passRate(c result.Cell) *float64 {
	if c.Unanswered() {
		return nil
	}
	return c.Result.PassRate
}

// latency returns the column of a percentile. A cell has a value if it has enough answers for a
// confidence interval. Otherwise the table shows that it has too few.
func latency(quantile func(result.Quantiles) *float64, p float64, need int) column {
	return column{
		name: fmt.Sprintf("p%.0f ms", p*100), unranked: true,
		value: func(c result.Cell) *float64 { return quantile(c.Result.Latency) },
		format: func(v *float64) string {
			if v == nil {
				return fmt.Sprintf("n<%d", need)
			}
			return fmt.Sprintf("%.1f", *v)
		},
	}
}

var columns = []column{
	{name: "recall@k", inflated: true, value: metric("recall"), format: rate},
	{name: "nDCG@k", value: metric("ndcg"), format: rate},
	{name: "MRR", value: metric("mrr"), format: rate},
	{name: "pass", inflated: true, value: passRate, format: rate},
	latency(func(q result.Quantiles) *float64 { return q.P50 }, 0.50, result.NeededForP50),
	latency(func(q result.Quantiles) *float64 { return q.P95 }, 0.95, result.NeededForP95),
}

// comparable reports whether the value of a cell may be the best of the column.
func (c column) comparable(cell result.Cell) bool {
	return !c.unranked && (!c.inflated || !coversBrain(cell))
}

// best returns the best value of a column, NaN if all cells have the same value.
func (c column) best(cells []result.Cell) float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, cell := range cells {
		if v := c.value(cell); v != nil && c.comparable(cell) {
			lo, hi = min(lo, *v), max(hi, *v)
		}
	}
	if !(lo < hi) {
		return math.NaN()
	}
	return hi
}

// Sweep returns the table of the cells.
func Sweep(cells []result.Cell) string { return terminal.Table(sweepRows(cells), 2) }

// sweepRows returns the rows of the table. A star marks the best value of a column.
func sweepRows(cells []result.Cell) [][]string {
	withCandidates := slices.ContainsFunc(cells, func(c result.Cell) bool { return c.CandidateK > 0 })
	withErrors := slices.ContainsFunc(cells, func(c result.Cell) bool { return c.Result.Counts.Errors > 0 })
	rows := [][]string{{"mode", "ran", "top-k"}}
	add := func(row int, when bool, text string) {
		if when {
			rows[row] = append(rows[row], text)
		}
	}
	add(0, withCandidates, "candidate-k")
	add(0, true, "n")
	add(0, withErrors, "errors")
	for _, c := range columns {
		add(0, true, c.name)
	}
	for i, cell := range cells {
		ran := ranOtherwise(cell, cell.Result)
		if ran == "" {
			ran = modesRan(cell.Result)
		}
		if f := slices.Sorted(maps.Keys(cell.Result.Fusions)); len(f) > 0 {
			ran += terminal.Line(" (" + strings.Join(f, ", ") + ")")
		}
		rows = append(rows, []string{cell.Mode, terminal.Clip(ran, 40), fmt.Sprint(cell.TopK)})
		add(i+1, withCandidates, fmt.Sprint(cell.CandidateK))
		add(i+1, true, fmt.Sprint(cell.Result.Counts.Total))
		add(i+1, withErrors, fmt.Sprint(cell.Result.Counts.Errors))
	}
	for _, c := range columns {
		best := c.best(cells)
		for i, cell := range cells {
			v := c.value(cell)
			text := c.format(v)
			if v != nil && *v == best && c.comparable(cell) {
				text = "*" + text
			}
			add(i+1, true, text)
		}
	}
	return rows
}
