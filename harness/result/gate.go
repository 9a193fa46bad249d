package result

// Verdict is the outcome of a whole run.
type Verdict string

// The verdicts. Only Pass, Fail and Measured are about the daemon's quality.
const (
	Pass Verdict = "pass"
	Fail Verdict = "fail"
	// Measured is a finished run with enough scores and without a floor.
	Measured Verdict = "measured"
	// Inconclusive is a run that stopped before its last question.
	Inconclusive Verdict = "inconclusive"
	// Invalid is a finished run with too few scores, or with an untrustworthy scorer.
	Invalid Verdict = "invalid"
)

// Scores reports whether the pass rate of a run with this verdict is a score.
func (v Verdict) Scores() bool { return v == Pass || v == Fail || v == Measured }

// Good reports whether a run with this verdict ends without an error.
func (v Verdict) Good() bool { return v == Pass || v == Measured }

// Reason is the rule that decided a verdict, a permanent name for programs.
type Reason string

// The reasons.
const (
	ReasonFloor Reason = "floor" // Pass, or Fail: the pass rate was compared with the floor
	// ReasonTag is Fail: the floor was reached, but a tag's floor was not. Without a floor it is
	// Pass: all floors of tags were reached.
	ReasonTag Reason = "tag_floor"
	// ReasonBaseline is Fail: the floors were reached, but the run is worse than its baseline, or
	// not shown to be not worse. Without a floor it is Pass: the run is not worse.
	ReasonBaseline Reason = "baseline"
	// ReasonLeak is Fail: a deleted text, or a text of another brain, came back.
	ReasonLeak    Reason = "leak"
	ReasonNoFloor Reason = "no_floor" // Measured
	ReasonStopped Reason = "stopped"  // Inconclusive: Gate.Stopped is the cause
	// ReasonNoQuestions is Invalid: every question was left out for lack of gold.
	ReasonNoQuestions Reason = "no_questions"
	ReasonNoAnswers   Reason = "no_answers" // Invalid: every question ended with an error
	// ReasonSuspect is Invalid: the run would fail or has no floor, and the target seems not to
	// store or not to find texts, see Result.Suspect.
	ReasonSuspect Reason = "suspect"
	// ReasonLost is Invalid: more questions without a score than allowed, or all of them because of
	// the reader of a replay.
	ReasonLost Reason = "lost"
	// ReasonControls is Invalid: the scorer misjudged answers known to be right or wrong, whether
	// or not this stopped the run.
	ReasonControls Reason = "controls"
)

// Gate is the verdict on a run with its reasons. The report, the result file, the JSON summary and
// the exit code are all derived from it, so that they agree.
type Gate struct {
	Verdict Verdict `json:"verdict"`
	Reason  Reason  `json:"reason"`
	// Stopped is why the run ended early. It is empty unless Reason is ReasonStopped, or Verdict is
	// Fail because failures stopped the run and it could not reach the floor any more.
	Stopped Stop `json:"stopped"`
	// Floor is the lowest pass rate that passes. Required is the minimum number of passes among
	// Total by Mode, Total+1 if no number suffices. If Proof is not for independent questions, a
	// bound decides, and Required is the minimum number of passes whose rate reaches the floor.
	Floor    float64 `json:"floor"`
	Required int     `json:"required"`
	Passed   int     `json:"passed"`
	Total    int     `json:"total"`
	// FloorFrom is the origin of the floor. With FloorNone, Floor and Required are 0 and decide
	// nothing.
	FloorFrom FloorFrom `json:"floor_from,omitempty"`
	// MaxErrors and MaxUnscored compare the questions without a score with the allowances in
	// Settings.
	MaxErrors   AllowanceUse `json:"max_errors"`
	MaxUnscored AllowanceUse `json:"max_unscored"`
	// Proof is nil unless Verdict is Pass or Fail, if Stopped is not empty, and without a floor.
	Proof *Proof `json:"proof"`
	// Mode says what must reach the floor, empty for FloorPoint.
	Mode FloorMode `json:"floor_mode,omitempty"`
	// Tags are the verdicts by the floors of tags, ordered by tag.
	Tags []TagGate `json:"tags,omitempty"`
	// Baseline is the comparison with the result of --baseline, nil without one.
	Baseline *BaselineGate `json:"baseline,omitempty"`
	// Loss attributes the Total - Passed questions that did not pass.
	Loss Loss `json:"loss"`
	// Sentence summarizes the verdict in one line without a full stop.
	Sentence string `json:"sentence"`
}

// Word returns the verdict to display. Versions that did not record the origin of the floor called
// a run without a floor a pass.
func (g *Gate) Word() Verdict {
	if g.Verdict == Pass && g.Floor == 0 && g.FloorFrom == "" && g.Baseline == nil && len(g.Tags) == 0 {
		return Measured
	}
	return g.Verdict
}

// FloorMode selects what must reach a floor.
type FloorMode string

// The modes. The zero value means FloorPoint.
const (
	FloorPoint      FloorMode = "point"       // the pass rate (spec 4.4)
	FloorProven     FloorMode = "proven"      // the one-sided 95% lower bound of the pass rate
	FloorNotRefuted FloorMode = "not-refuted" // the one-sided 95% upper bound of the pass rate
)

// Met reports whether a pass rate with this proof meets a floor. FloorPoint requires that passed is
// at least required; the other modes compare the bound.
func (m FloorMode) Met(passed, required int, p *Proof) bool {
	switch {
	case p == nil: // only in a damaged file
	case m == FloorProven:
		return p.Proven
	case m == FloorNotRefuted:
		return !p.Refuted
	}
	return passed >= required
}

// TagGate is the verdict on the questions with a tag.
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

// BaselineVerdict is the result of comparing a run with its baseline.
type BaselineVerdict string

// The verdicts of a test of non-inferiority (statistics.md B.11).
const (
	NotWorse BaselineVerdict = "not_worse" // the interval lies above -margin
	Worse    BaselineVerdict = "worse"     // the interval lies below -margin
	Unknown  BaselineVerdict = "unknown"   // the interval contains -margin, or there are no pairs
)

// BaselineGate compares a run with a baseline, question by question.
type BaselineGate struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	// SDK is the SDK of the baseline. Differs are the keys of the identity, such as daemon.version,
	// in which baseline and run differ, in order.
	SDK     string   `json:"sdk"`
	Differs []string `json:"differs"`
	// Accepted lists accepted differences, empty for none.
	Accepted string `json:"accepted,omitempty"`
	// Margin is the maximum accepted loss of pass rate, from 0 to 1.
	Margin float64 `json:"margin"`
	// Both, OnlyRun, OnlyBaseline and Neither count the pairs of questions by who passed. An error
	// counts as not passed.
	Both         int `json:"both"`
	OnlyRun      int `json:"only_run"`
	OnlyBaseline int `json:"only_baseline"`
	Neither      int `json:"neither"`
	// Unpaired questions are only in one of the results, or have no verdict in one of them.
	// Unscored counts the latter.
	Unpaired int `json:"unpaired"`
	Unscored int `json:"unscored"`
	// Clusters are the clusters of the pairs, nil if the pairs are treated as independent.
	Clusters *PairClusters `json:"clusters,omitempty"`
	// Difference is the pass rate of the run minus the pass rate of the baseline, over the pairs.
	// Interval is two-sided (Newcombe 1998, method 10), so that its lower end is a one-sided bound
	// at 97.5%. With clusters it is the wider of this interval and the one by flipping the signs of
	// clusters, unless all pairs agree. Both are nil without pairs, and Interval also if the
	// clusters do not determine it.
	Difference *float64  `json:"difference"`
	Interval   *Interval `json:"interval"`
	// P is the two-sided p-value of the exact McNemar test of a difference of 0. MarginP is the
	// one-sided p-value of a loss of Margin or more, which Interval inverts: Verdict is NotWorse
	// exactly if it is at most 0.025. It is nil without pairs, and if it is not recorded.
	P       float64         `json:"mcnemar_exact_p"`
	MarginP *float64        `json:"margin_p,omitempty"`
	Verdict BaselineVerdict `json:"verdict"`
	// Settles is the minimum number of pairs, larger than the current one, that would show that the
	// run is not worse, if they had the same shares. It is nil unless Verdict is Unknown, and if no
	// number up to a million would. Earlier versions store the least whole multiple of the current
	// number.
	Settles *int `json:"settles"`
	// Broke are the ids of the pairs that only the baseline passed, Fixed the ids of those that
	// only the run passed, in the order of the dataset.
	Broke []string `json:"broke"`
	Fixed []string `json:"fixed"`
}

// PairClusters are the clusters of the pairs of a comparison.
type PairClusters struct {
	Tag      string `json:"tag"` // see Settings.ClusterTag
	Clusters int    `json:"clusters"`
}

// Pairs returns the number of questions with a verdict in both results.
func (b *BaselineGate) Pairs() int { return b.Both + b.OnlyRun + b.OnlyBaseline + b.Neither }

// AllowanceUse is the use of an allowance by a run: Count of Allowed questions.
type AllowanceUse struct {
	Max     Allowance `json:"max"`
	Allowed int       `json:"allowed"`
	Count   int       `json:"count"`
}

// Proof is the certainty that the daemon's true pass rate reaches the floor.
type Proof struct {
	// Proven is set if the lower bound of the pass rate reaches the floor, Refuted if the upper
	// bound does not.
	Proven  bool `json:"proven"`
	Refuted bool `json:"refuted"`
	// Method is the method of the one-sided bounds, each with this confidence.
	Method     string  `json:"method"`
	Confidence float64 `json:"confidence"`
	Lower      float64 `json:"lower"`
	Upper      float64 `json:"upper"`
	// Clusters is the number of clusters, 0 unless Method is MethodClustered.
	Clusters int `json:"clusters,omitempty"`
	// WorseRate is a true pass rate 0.05 below the floor, at least 0. WorsePasses is the
	// probability that a run of this size passes with it, if the questions are independent.
	WorseRate   float64 `json:"worse_rate"`
	WorsePasses float64 `json:"worse_passes"`
	// Needed is the minimum number of passes that proves the floor at this size, nil if none does
	// or the questions are not independent.
	Needed *int `json:"needed"`
	// Questions is the number of independent questions that would prove or refute the floor with
	// probability 0.8, if the true pass rate equals the run's. It is nil if the floor is proven or
	// refuted already, and if the run's rate equals the floor.
	Questions *int `json:"questions"`
}

// FloorFrom is the origin of a floor. It is empty in files that do not record it.
type FloorFrom string

// The origins of floors.
const (
	FloorNone    FloorFrom = "none"    // there is no floor
	FloorDefault FloorFrom = "default" // the specification (spec 4.4)
	FloorGiven   FloorFrom = "given"   // a flag, or a project file
)
