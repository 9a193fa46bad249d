package aggregate

import (
	"math"
	"sort"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// proofConfidence is the confidence of a Proof.
const proofConfidence = 0.95

// worseBy is how far below the floor the example of a Proof is.
const worseBy = 0.05

// newGate judges res by its counts, Stopped, Planned, Settings and the scenario in its identity.
// loss counts its questions as in a scenario with a reader.
func newGate(res *result.Result, loss result.Loss) *result.Gate {
	n := res.Counts
	floor, allowance := res.Settings.Floor, res.Settings.MaxUnscored
	g := &result.Gate{
		Floor: floor, Required: stats.Required(n.Total, floor), Passed: n.Passed, Total: n.Total,
		Allowance: result.AllowanceUse{
			Max: allowance, Allowed: allowance.Of(n.Total),
			Lost: n.Errors + n.Unscored, Errors: n.Errors, Unscored: n.Unscored,
		},
		Loss: lossIn(res.Identity.Scenario, loss),
	}
	switch {
	case res.Replay != nil && !res.Replay.Controls.Valid():
		g.Verdict, g.Reason = result.Invalid, result.ReasonControls
	case res.Stopped != "":
		g.Verdict, g.Reason, g.Stopped = result.Inconclusive, result.ReasonStopped, res.Stopped
	case n.Total == 0:
		g.Verdict, g.Reason = result.Invalid, result.ReasonNoQuestions
	case n.Errors == n.Total && readerErrors(res) > 0:
		g.Verdict, g.Reason = result.Invalid, result.ReasonLost
	case n.Errors == n.Total:
		g.Verdict, g.Reason = result.Invalid, result.ReasonNoAnswers
	case g.Allowance.Lost > g.Allowance.Allowed:
		g.Verdict, g.Reason = result.Invalid, result.ReasonLost
	case n.Passed < g.Required:
		g.Verdict, g.Reason = result.Fail, result.ReasonFloor
	default:
		g.Verdict, g.Reason = result.Pass, result.ReasonFloor
	}
	if g.Reason == result.ReasonFloor {
		g.Proof = newProof(n.Passed, n.Total, floor)
	}
	g.Sentence = sentence(g, res)
	return g
}

// readerErrors returns the number of questions of a replay on which the model that answers failed.
func readerErrors(res *result.Result) int {
	if res.Replay == nil {
		return 0
	}
	return res.Replay.Losses[result.CauseReaderError]
}

// newProof judges passed of total questions, which must be at least 1.
func newProof(passed, total int, floor float64) *result.Proof {
	worse := math.Round(max(0, floor-worseBy)*1e9) / 1e9 // without the noise of the subtraction
	p := result.Proof{
		Method: "wilson", Confidence: proofConfidence,
		Lower:     stats.WilsonLower(passed, total, proofConfidence),
		WorseRate: worse, WorsePasses: stats.GatePass(total, floor, worse),
	}
	needed := sort.Search(total+1, func(k int) bool {
		return stats.WilsonLower(k, total, proofConfidence) >= floor
	})
	if needed <= total {
		p.Needed, p.Proven = &needed, passed >= needed
	}
	return &p
}
