package report

import (
	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// Summary returns the summary of a run for scripts, as a JSON object. own and latest are the two
// paths of its result file, see journal.Names. code is the exit code.
func Summary(r result.Result, own, latest string, code int) map[string]any {
	spent, total := &r.Cost.SpentUSD, new(llm.USD)
	if r.Cost.UnpricedModel != "" {
		spent = nil // it is not known
	}
	var unknown bool
	if *total, unknown = r.Spent(); unknown {
		total = nil
	}
	floor := &r.Gate.Floor
	if r.Gate.FloorFrom == result.FloorNone {
		floor = nil
	}
	return named(own, latest, code, map[string]any{
		"sdk": r.SDK, "total": r.Total, "passed": r.Passed, "pass_rate": r.PassRate, "mean_score": r.MeanScore,
		"pass_rate_interval": r.Interval, "clustered": r.Clustered, "repeats": r.Repeats, "tags": r.Tags, "checks": r.Checks, "judge_panel": r.Panel,
		"latency": r.Latency, "felt": r.Felt, "first_delta": r.FirstDelta, "first_try_rate": r.FirstTryRate,
		"scored": r.Counts.Scored, "errors": r.Counts.Errors, "unscored": r.Counts.Unscored, "no_gold": r.Counts.NoGold,
		"not_measurable": r.Counts.NotMeasurable, "unjudged": r.Counts.Unjudged, "planned": r.Planned, "stopped": r.Stopped,
		"selection": r.Identity.Dataset.Selection, "spent_usd": spent, "total_usd": total, "cost_parts": r.Cost.Parts,
		"may_have_been_charged_usd": r.Cost.MayHaveBeenChargedUSD, "floor": floor, "gate": r.Gate,
	})
}

// named adds the paths and the exit code to a summary.
func named(own, latest string, code int, s map[string]any) map[string]any {
	s["exit_code"], s["result"], s["latest"] = code, own, nil
	if latest != "" {
		s["latest"] = latest
	}
	return s
}

// ArmSummary is Summary for an arm of a replay. The result may be nil. failed is why the arm
// stopped, nil if it did not.
func ArmSummary(arm string, r *result.Result, failed error, own, latest string, code int) map[string]any {
	s := named(own, latest, code, map[string]any{"arm": arm, "error": nil})
	if failed != nil {
		s["error"] = failed.Error()
	}
	if r == nil {
		return s
	}
	s["sdk"], s["total"], s["passed"], s["pass_rate"], s["mean_score"] = r.SDK, r.Total, r.Passed, r.PassRate, r.MeanScore
	s["planned"], s["errors"], s["unscored"], s["stopped"] = r.Planned, r.Counts.Errors, r.Counts.Unscored, r.Stopped
	s["cost_accounting"], s["gate"] = r.CostAccounting, r.Gate
	if r.Replay != nil {
		s["weighted_pass_rate"], s["controls"] = r.Replay.Estimate(), r.Replay.Controls
		s["judge_verdicts"], s["losses"] = r.Replay.Verdicts, r.Replay.Losses
	}
	return s
}

// SweepSummary is Summary for a sweep.
func SweepSummary(s result.Sweep, own, latest string, code int) map[string]any {
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
	return named(own, latest, code, map[string]any{
		"sdk": s.SDK, "selection": selection, "cells": cells, "planned": s.Planned, "stopped": s.Stopped,
	})
}
