package aggregate

import (
	"maps"
	"slices"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// newGate judges res by its counts, clusters, Stopped, Planned, Settings and scenario. loss counts
// its questions as in a scenario with a reader. tags are the verdicts on tag floors. base is the
// comparison with the baseline, nil without one.
//
// The first violated rule decides: the scorer is trusted, the run finished, questions count and
// were answered, errors and unscored questions are within their allowances, nothing deleted or
// foreign came back, the floor is met, the tag floors are met, and the run is shown not to be worse
// than its baseline. A run without any of the last three is only measured.
func newGate(res *result.Result, loss result.Loss, tags []result.TagGate, base *result.BaselineGate) *result.Gate {
	n, set := res.Counts, res.Settings
	g := &result.Gate{
		Floor: set.Floor, Required: required(set.FloorMode, n.Total, set.Floor, res.Clustered), Passed: n.Passed, Total: n.Total,
		FloorFrom: set.FloorFrom,
		MaxErrors: use(set.MaxErrors, n.Errors, n.Total), MaxUnscored: use(set.MaxUnscored, n.Unscored, n.Total),
		Loss: lossIn(res.Identity.Scenario, loss),
	}
	if set.FloorMode != result.FloorPoint {
		g.Mode = set.FloorMode
	}
	switch {
	case res.Replay != nil && !res.Replay.Controls.Valid():
		g.Verdict, g.Reason = result.Invalid, result.ReasonControls
	case unreachable(res):
		g.Verdict, g.Reason, g.Stopped = result.Fail, result.ReasonFloor, res.Stopped
	case res.Stopped != "":
		g.Verdict, g.Reason, g.Stopped = result.Inconclusive, result.ReasonStopped, res.Stopped
	case n.Total == 0:
		g.Verdict, g.Reason = result.Invalid, result.ReasonNoQuestions
	case n.Errors == n.Total && readerErrors(res) > 0:
		g.Verdict, g.Reason = result.Invalid, result.ReasonLost
	case n.Errors == n.Total:
		g.Verdict, g.Reason = result.Invalid, result.ReasonNoAnswers
	case exceeded(g.MaxErrors) || exceeded(g.MaxUnscored):
		g.Verdict, g.Reason = result.Invalid, result.ReasonLost
	default:
		if set.FloorFrom != result.FloorNone {
			g.Proof = newProof(g.Mode, n.Passed, n.Total, set.Floor, res.Clustered)
		}
		g.Tags, g.Baseline = tags, base
		g.Verdict, g.Reason = quality(g)
		if severe := res.Leaks; set.NoLeaks && severe != nil && severe.Severe > 0 {
			g.Verdict, g.Reason = result.Fail, result.ReasonLeak
		}
		if res.Suspected() && g.Verdict != result.Pass {
			g.Verdict, g.Reason = result.Invalid, result.ReasonSuspect
			g.Proof, g.Tags, g.Baseline = nil, nil, nil // what they compare is not a score
		}
	}
	g.Sentence = sentence(g, res)
	return g
}

// use compares count questions of total with an allowance.
func use(max result.Allowance, count, total int) result.AllowanceUse {
	return result.AllowanceUse{Max: max, Allowed: max.Of(total), Count: count}
}

// quality judges a run with enough scores by its floors and baseline.
func quality(g *result.Gate) (result.Verdict, result.Reason) {
	floor := g.FloorFrom != result.FloorNone
	switch {
	case floor && !g.Mode.Met(g.Passed, g.Required, g.Proof):
		return result.Fail, result.ReasonFloor
	case slices.ContainsFunc(g.Tags, func(t result.TagGate) bool { return !t.Met }):
		return result.Fail, result.ReasonTag
	case g.Baseline != nil && g.Baseline.Verdict != result.NotWorse:
		return result.Fail, result.ReasonBaseline
	case floor:
		return result.Pass, result.ReasonFloor
	case len(g.Tags) > 0:
		return result.Pass, result.ReasonTag
	case g.Baseline != nil:
		return result.Pass, result.ReasonBaseline
	}
	return result.Measured, result.ReasonNoFloor
}

// tagGates judges the tags with floors, in the run's floor mode.
func (s *Sum) tagGates(res *result.Result) []result.TagGate {
	var out []result.TagGate
	for _, tag := range slices.Sorted(maps.Keys(res.Settings.TagFloors)) {
		floor, mode := res.Settings.TagFloors[tag], res.Settings.FloorMode
		t := result.TagGate{Tag: tag, Floor: floor}
		n := res.Tags[tag]
		if (n == nil || n.Total == 0) && slices.Contains(res.Settings.Families, tag) {
			continue
		}
		if n != nil && n.Total > 0 {
			t.Passed, t.Total = n.Passed, n.Total
			clusters := s.clusteredTag(res, tag)
			t.Required = required(mode, t.Total, floor, clusters)
			t.Proof = newProof(mode, t.Passed, t.Total, floor, clusters)
			t.Met = mode.Met(t.Passed, t.Required, t.Proof)
		}
		out = append(out, t)
	}
	return out
}

// required returns the minimum number of passes among total that meets floor in a mode. A bound
// over clusters depends on more than the number of passes.
func required(mode result.FloorMode, total int, floor float64, clusters *result.ClusteredRate) int {
	switch {
	case clusters != nil || total == 0:
	case mode == result.FloorProven:
		return stats.RequiredProven(total, floor, proofConfidence)
	case mode == result.FloorNotRefuted:
		return stats.RequiredNotRefuted(total, floor, proofConfidence)
	}
	return stats.Required(total, floor)
}

// readerErrors returns the number of replay questions on which the answering model failed.
func readerErrors(res *result.Result) int {
	if res.Replay == nil {
		return 0
	}
	return res.Replay.Losses[result.CauseReaderError]
}

// exceeded reports whether Count is above Allowed.
func exceeded(u result.AllowanceUse) bool { return u.Count > u.Allowed }
