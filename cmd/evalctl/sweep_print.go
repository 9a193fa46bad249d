package main

import (
	"encoding/json"
	"io"

	"evalctl/harness/report/text"
	"evalctl/harness/result"
)

// print writes the table to stdout, or one JSON object with --json.
func (c *sweepCmd) print(p *process, s result.Sweep, path string, code int) error {
	if !c.JSON {
		_, err := io.WriteString(p.stdout, text.Sweep(s.Cells))
		return err
	}
	cells := []map[string]any{}
	for _, cell := range s.Cells {
		r := cell.Result
		m := map[string]any{
			"mode": cell.Mode, "effective_modes": r.EffectiveModes, "top_k": cell.TopK, "candidate_k": cell.CandidateK,
			"total": r.Total, "errors": r.Counts.Errors, "pass_rate": r.PassRate,
			"p50_ms": r.Latency.P50, "p95_ms": r.Latency.P95,
		}
		if len(r.Fusions) > 0 {
			m["fusions"] = r.Fusions
		}
		if r.Retrieval != nil {
			m["macro"] = r.Retrieval.Macro
		}
		cells = append(cells, m)
	}
	var selection *result.Selection // of all cells
	if len(s.Cells) > 0 {
		selection = s.Cells[0].Result.Identity.Dataset.Selection
	}
	own, latest := resultNames(path)
	return json.NewEncoder(p.stdout).Encode(map[string]any{
		"sdk": s.SDK, "selection": selection, "cells": cells, "planned": s.Planned, "stopped": s.Stopped, "exit_code": code, "result": own, "latest": latest,
	})
}
