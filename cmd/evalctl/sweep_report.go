package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// cell tells of a finished cell what its row in the table has no room for.
func (t *terminal) cell(cell result.Cell, res result.Result, p *progress, told guardsTold) {
	name := fmt.Sprintf("%s top-k %d", cell.Mode, cell.TopK)
	if cell.CandidateK > 0 {
		name += fmt.Sprintf(" candidate-k %d", cell.CandidateK)
	}
	t.field("cell", "%s  %s in %s", name, count(res.Counts.Total, "question"), duration(float64(res.FinishedAt.Sub(res.StartedAt).Milliseconds())))
	if ran := ranOtherwise(cell, res); ran != "" {
		t.field("warning", "%s: the daemon ran %s", name, ran)
	}
	for _, r := range p.failed {
		if r.Error != nil {
			t.field("warning", "%s: %s, the first: %s", name, count(res.Counts.Errors, "error"), short(r.Error.Message, 200))
			break
		}
	}
	if res.Retrieval != nil {
		for _, g := range told.news(res.Retrieval.Warnings) {
			t.field("warning", "%s: %s", name, printable(g.Message, oneLine))
		}
	}
}

// guardsTold are the guards that were printed, by what they say: each is said once
// in a sweep, whatever cells it is true of.
type guardsTold map[string]bool

// news gives the guards that were not told before, and notes that they are now.
func (g guardsTold) news(guards []result.Warning) []result.Warning {
	var out []result.Warning
	for _, guard := range guards {
		if !g[guard.Message] {
			g[guard.Message] = true
			out = append(out, guard)
		}
	}
	return out
}

// covered tells whether a cell's top-k is so large that every document of a
// brain is retrieved.
func covered(c result.Cell) bool {
	return c.Result.Retrieval != nil && slices.ContainsFunc(c.Result.Retrieval.Warnings, func(g result.Warning) bool { return g.Kind == result.TopKCoversBrain })
}

// silent tells whether no question of a cell was answered.
func silent(c result.Cell) bool { return c.Result.Counts.Errors == c.Result.Counts.Total }

// modesRan names the modes that a cell's answers tell of.
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
		return printable(strings.Join(modes, ", "), oneLine)
	case answered == 0:
		return "none"
	}
	return "untold"
}

// ranOtherwise says what ran instead of the mode that was asked for, empty when
// that ran. Auto may be any.
func ranOtherwise(cell result.Cell, res result.Result) string {
	ran := modesRan(res)
	if ran == cell.Mode || cell.Mode == protocol.ModeAuto || ran == "none" {
		return ""
	}
	return ran + ", not " + cell.Mode
}

// column is a measure in the table. The best value is the highest, or the
// lowest where less is better.
type column struct {
	name   string
	less   bool
	sure   bool                      // where a cell is covered, so that it is no merit
	of     func(result.Cell) float64 // NaN for none
	format func(float64) string
}

func plain(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf("%.3f", v)
}

// figure is a measure of retrieval at the cell's own top-k. A cell without any
// answer has none: it is the mode that is bad there, not a ranking.
func figure(name string) func(result.Cell) float64 {
	return func(c result.Cell) float64 {
		key := name
		if name != "mrr" {
			key = fmt.Sprintf("%s@%d", name, c.TopK)
		}
		if c.Result.Retrieval == nil || silent(c) {
			return math.NaN()
		}
		if v, ok := c.Result.Retrieval.Macro[key]; ok {
			return v
		}
		return math.NaN()
	}
}

func passRate(c result.Cell) float64 {
	if c.Result.PassRate == nil || silent(c) {
		return math.NaN()
	}
	return *c.Result.PassRate
}

// latency is a percentile, of enough answers for it to mean anything.
func latency(of func(result.Quantiles) *float64, p float64) column {
	need := stats.QuantileCIMin(p, 0.95)
	return column{
		name: fmt.Sprintf("p%.0f ms", p*100), less: true,
		of: func(c result.Cell) float64 {
			if v := of(c.Result.Latency); v != nil && c.Result.Latency.N >= need {
				return *v
			}
			return math.NaN()
		},
		format: func(v float64) string {
			if math.IsNaN(v) {
				return fmt.Sprintf("needs %d", need)
			}
			return fmt.Sprintf("%.1f", v)
		},
	}
}

var columns = []column{
	{name: "recall@k", sure: true, of: figure("recall"), format: plain},
	{name: "nDCG@k", of: figure("ndcg"), format: plain},
	{name: "MRR", of: figure("mrr"), format: plain},
	{name: "pass rate", sure: true, of: passRate, format: plain},
	latency(func(q result.Quantiles) *float64 { return q.P50 }, 0.50),
	latency(func(q result.Quantiles) *float64 { return q.P95 }, 0.95),
}

// earned tells whether a cell's value could have been another.
func (c column) earned(cell result.Cell) bool { return !c.sure || !covered(cell) }

// best is the best value of a column, NaN when all cells have the same.
func (c column) best(cells []result.Cell) float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, cell := range cells {
		if v := c.of(cell); !math.IsNaN(v) && c.earned(cell) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	switch {
	case !(lo < hi):
		return math.NaN()
	case c.less:
		return lo
	}
	return hi
}

// sweepRows is the table, with the best of each column behind a star.
func sweepRows(cells []result.Cell) [][]string {
	wide := slices.ContainsFunc(cells, func(c result.Cell) bool { return c.CandidateK > 0 })
	broken := slices.ContainsFunc(cells, func(c result.Cell) bool { return c.Result.Counts.Errors > 0 })
	rows := [][]string{{"mode", "ran", "top-k"}}
	add := func(row int, when bool, text string) {
		if when {
			rows[row] = append(rows[row], text)
		}
	}
	add(0, wide, "candidate-k")
	add(0, true, "n")
	add(0, broken, "errors")
	for _, c := range columns {
		add(0, true, c.name)
	}
	for i, cell := range cells {
		ran := ranOtherwise(cell, cell.Result)
		if ran == "" {
			ran = modesRan(cell.Result)
		}
		rows = append(rows, []string{cell.Mode, clip(ran, 40), fmt.Sprint(cell.TopK)})
		add(i+1, wide, fmt.Sprint(cell.CandidateK))
		add(i+1, true, fmt.Sprint(cell.Result.Counts.Total))
		add(i+1, broken, fmt.Sprint(cell.Result.Counts.Errors))
	}
	for _, c := range columns {
		best := c.best(cells)
		for i, cell := range cells {
			v := c.of(cell)
			text := c.format(v)
			if v == best && c.earned(cell) {
				text = "*" + text
			}
			add(i+1, true, text)
		}
	}
	return rows
}

// print writes the table, or one JSON object, to stdout.
func (c *sweepCmd) print(p *process, s result.Sweep, path string, code int) error {
	if !c.JSON {
		_, err := fmt.Fprint(p.stdout, drawTable(sweepRows(s.Cells), 2))
		return err
	}
	cells := []map[string]any{}
	for _, cell := range s.Cells {
		r := cell.Result
		m := map[string]any{
			"mode": cell.Mode, "effective_modes": r.EffectiveModes, "top_k": cell.TopK, "candidate_k": cell.CandidateK,
			"total": r.Total, "errors": r.Counts.Errors, "pass_rate": r.PassRate, "p50_ms": r.Latency.P50, "p95_ms": r.Latency.P95,
		}
		if r.Retrieval != nil {
			m["macro"] = r.Retrieval.Macro
		}
		cells = append(cells, m)
	}
	return json.NewEncoder(p.stdout).Encode(map[string]any{
		"sdk": s.SDK, "cells": cells, "planned": s.Planned, "stopped": s.Stopped, "exit_code": code, "result": path,
	})
}
