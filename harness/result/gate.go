package result

import "fmt"

// Verdict is the outcome of a whole run.
type Verdict string

// The verdicts. Only Pass and Fail are about the daemon's quality.
const (
	Pass Verdict = "pass"
	Fail Verdict = "fail"
	// Inconclusive is a run that stopped before its last question.
	Inconclusive Verdict = "inconclusive"
	// Invalid is a finished run with too few scores to say anything, or one whose scorer cannot be
	// trusted.
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
	// ReasonLost is Invalid: more questions without a score than allowed, or all because of the model
	// that answers in a replay.
	ReasonLost Reason = "lost"
	// ReasonControls is Invalid: the scorer misjudged answers that are known to be right or wrong,
	// whether or not the run was stopped for that.
	ReasonControls Reason = "controls"
)

// Gate is the verdict on a run and everything that it follows from. The report, the result file,
// the JSON summary and the exit code of a run are all printed from it, so that they cannot
// disagree.
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
	// Allowance compares the questions without a score with what Settings.MaxUnscored allows.
	Allowance AllowanceUse `json:"allowance"`
	// Proof is nil unless Verdict is Pass or Fail.
	Proof *Proof `json:"proof"`
	// Mode is what must reach the floor, empty for FloorPoint.
	Mode FloorMode `json:"floor_mode,omitempty"`
	// Tags are the verdicts by the floors of tags, in order of the tag.
	Tags []TagGate `json:"tags,omitempty"`
	// Baseline is the comparison with the result of --baseline, nil without one.
	Baseline *BaselineGate `json:"baseline,omitempty"`
	// Loss attributes the Total - Passed questions that did not pass.
	Loss Loss `json:"loss"`
	// Sentence says all this to people, in one line without a full stop.
	Sentence string `json:"sentence"`
}

// FloorMode is what must reach a floor.
type FloorMode string

// The modes. The zero value means FloorPoint.
const (
	FloorPoint      FloorMode = "point"       // the pass rate (spec 4.4)
	FloorProven     FloorMode = "proven"      // the one-sided 95% lower bound of the pass rate
	FloorNotRefuted FloorMode = "not-refuted" // the one-sided 95% upper bound of the pass rate
)

// TagGate is the verdict on the questions that have a tag.
type TagGate struct {
	Tag string `json:"tag"`
	// Floor, Required, Passed and Total are as in Gate. Met is false for a tag without questions.
	Floor    float64 `json:"floor"`
	Required int     `json:"required"`
	Passed   int     `json:"passed"`
	Total    int     `json:"total"`
	Met      bool    `json:"met"`
	Proof    *Proof  `json:"proof"`
}

// BaselineVerdict says how a run compares with its baseline.
type BaselineVerdict string

// The verdicts of a test of non-inferiority (statistics.md B.11).
const (
	NotWorse BaselineVerdict = "not_worse" // the interval lies above -margin
	Worse    BaselineVerdict = "worse"     // the interval lies below -margin
	Unknown  BaselineVerdict = "unknown"   // the interval contains -margin
)

// BaselineGate compares a run with a baseline, question by question.
type BaselineGate struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	// Margin is the largest loss of pass rate that is accepted, from 0 to 1.
	Margin float64 `json:"margin"`
	// Both, OnlyRun, OnlyBaseline and Neither count the pairs of questions by who passed.
	Both         int `json:"both"`
	OnlyRun      int `json:"only_run"`
	OnlyBaseline int `json:"only_baseline"`
	Neither      int `json:"neither"`
	// Unpaired questions are in one of the results only, or without a score in one of them.
	Unpaired int `json:"unpaired"`
	// Difference is the pass rate of the run less that of the baseline, over the pairs.
	Difference float64         `json:"difference"`
	Interval   *Interval       `json:"interval"`
	P          float64         `json:"mcnemar_exact_p"`
	Verdict    BaselineVerdict `json:"verdict"`
	// Broke and Fixed are the ids of the pairs that differ, in the order of the run.
	Broke []string `json:"broke"`
	Fixed []string `json:"fixed"`
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

// ProofText says how certain it is that the floor is reached. It is empty without a Proof.
func (g *Gate) ProofText() string {
	p := g.Proof
	switch {
	case p == nil:
		return ""
	case p.Proven:
		return "proven: even the one-sided 95% lower bound reaches it"
	case g.Floor == 1:
		return "not proven: no number of questions can prove that none would fail"
	}
	s := fmt.Sprintf("not proven at this size: a true rate of %.2f passes %.0f%% of the time", p.WorseRate, 100*p.WorsePasses)
	if p.Needed == nil {
		return s + "; no result on so few questions would prove it"
	}
	return s + fmt.Sprintf("; %d/%d would prove it", *p.Needed, g.Total)
}
