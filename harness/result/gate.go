package result

import (
	"math"
	"sort"

	"evalctl/internal/stats"
)

// Verdict is the outcome of a whole run.
type Verdict string

// The verdicts. Only Pass and Fail are about the daemon's quality.
const (
	Pass Verdict = "pass"
	Fail Verdict = "fail"
	// Inconclusive is a run that stopped before its last question.
	Inconclusive Verdict = "inconclusive"
	// Invalid is a finished run with too few scores to say anything.
	Invalid Verdict = "invalid"
)

// Reason is the rule that decided a verdict, a stable name for programs.
type Reason string

// The reasons.
const (
	ReasonFloor   Reason = "floor"   // Pass or Fail: the pass rate was compared with the floor
	ReasonStopped Reason = "stopped" // Inconclusive: Gate.Stopped is the cause
	// ReasonNoQuestions is Invalid: every question was left out for lack of gold.
	ReasonNoQuestions Reason = "no_questions"
	ReasonNoAnswers   Reason = "no_answers" // Invalid: every question ended with an error
	ReasonLost        Reason = "lost"       // Invalid: more questions without a score than allowed
)

// Policy is what a run must reach to pass.
type Policy struct {
	// Floor is the lowest pass rate that passes, from 0 to 1.
	Floor float64
	// MaxUnscored is how many questions may end without a score.
	MaxUnscored Allowance
}

// Gate is the verdict on a run and everything that it follows from. The report, the result file,
// the JSON summary and the exit code of a run are all printed from it, so that they cannot disagree.
type Gate struct {
	Verdict Verdict `json:"verdict"`
	Reason  Reason  `json:"reason"`
	// Stopped is why the run ended early, empty unless Reason is ReasonStopped.
	Stopped Stop `json:"stopped"`
	// Floor is the lowest pass rate that passes, and Required the fewest passes among Total that
	// reach it.
	Floor    float64 `json:"floor"`
	Required int     `json:"required"`
	Passed   int     `json:"passed"`
	Total    int     `json:"total"`
	// Allowance compares the questions without a score with what the policy allows.
	Allowance AllowanceUse `json:"allowance"`
	// Proof is nil unless Verdict is Pass or Fail.
	Proof *Proof `json:"proof"`
	// Loss attributes the Total - Passed questions that did not pass.
	Loss Loss `json:"loss"`
	// Sentence says all this to people, in one line without a full stop.
	Sentence string `json:"sentence"`
}

// AllowanceUse is how much of an allowance a run used. Lost is the sum of Errors and Unscored.
type AllowanceUse struct {
	Max      Allowance `json:"max"`
	Allowed  int       `json:"allowed"`
	Lost     int       `json:"lost"`
	Errors   int       `json:"errors"`
	Unscored int       `json:"unscored"`
}

// Proof is how certain it is that the daemon's true pass rate reaches the floor.
type Proof struct {
	// Proven is set if the lower bound of the pass rate reaches the floor.
	Proven bool `json:"proven"`
	// Method is "wilson": Lower is the one-sided lower bound of the score interval at this
	// confidence.
	Method     string  `json:"method"`
	Confidence float64 `json:"confidence"`
	Lower      float64 `json:"lower"`
	// WorseRate is a true pass rate 0.05 below the floor, at least 0. WorsePasses is the
	// probability that a run of this size passes with it.
	WorseRate   float64 `json:"worse_rate"`
	WorsePasses float64 `json:"worse_passes"`
	// Needed is the fewest passes that prove the floor at this size, nil if none do.
	Needed *int `json:"needed"`
}

// proofConfidence is the confidence of Proof.
const proofConfidence = 0.95

// worseBy is how far below the floor Proof's example is.
const worseBy = 0.05

// NewGate judges a run by a policy. It uses the counts of res, Stopped, Planned and the scenario in
// its identity. loss must count the questions of res as Aggregate.Loss does.
func NewGate(res Result, policy Policy, loss Loss) Gate {
	n := res.Counts
	g := Gate{
		Floor: policy.Floor, Required: stats.Required(n.Total, policy.Floor), Passed: n.Passed, Total: n.Total,
		Allowance: AllowanceUse{
			Max: policy.MaxUnscored, Allowed: policy.MaxUnscored.Of(n.Total),
			Lost: n.Errors + n.Unscored, Errors: n.Errors, Unscored: n.Unscored,
		},
		Loss: loss.in(res.Identity.Scenario),
	}
	switch {
	case res.Stopped != "":
		g.Verdict, g.Reason, g.Stopped = Inconclusive, ReasonStopped, res.Stopped
	case n.Total == 0:
		g.Verdict, g.Reason = Invalid, ReasonNoQuestions
	case n.Errors == n.Total:
		g.Verdict, g.Reason = Invalid, ReasonNoAnswers
	case g.Allowance.Lost > g.Allowance.Allowed:
		g.Verdict, g.Reason = Invalid, ReasonLost
	case n.Passed < g.Required:
		g.Verdict, g.Reason = Fail, ReasonFloor
	default:
		g.Verdict, g.Reason = Pass, ReasonFloor
	}
	if g.Reason == ReasonFloor {
		g.Proof = newProof(n.Passed, n.Total, policy.Floor)
	}
	g.Sentence = g.sentence(res)
	return g
}

// newProof judges passed of total questions, which must be at least 1.
func newProof(passed, total int, floor float64) *Proof {
	worse := math.Round(max(0, floor-worseBy)*1e9) / 1e9 // without the noise of the subtraction
	p := Proof{
		Method: "wilson", Confidence: proofConfidence, Lower: stats.WilsonLower(passed, total, proofConfidence),
		WorseRate: worse, WorsePasses: stats.GatePass(total, floor, worse),
	}
	needed := sort.Search(total+1, func(k int) bool { return stats.WilsonLower(k, total, proofConfidence) >= floor })
	if needed <= total {
		p.Needed, p.Proven = &needed, passed >= needed
	}
	return &p
}
