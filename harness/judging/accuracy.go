package judging

import (
	"fmt"
	"math"

	"evalctl/harness/result"
	"evalctl/internal/stats"
	"evalctl/scorer"
)

const (
	confidence   = 0.95
	wilsonMethod = "wilson"
	// judgeMethod names the method of stats.JudgeCorrected.
	judgeMethod = "lang-reiczigel"
)

// LabelledVerdict is the verdict on an answer known to be right or wrong.
type LabelledVerdict struct {
	ID      string
	Right   bool
	Verdict scorer.Verdict
}

// Accuracy is the agreement of a judge's verdicts with labels. Unscored answers are in no rate.
// Undefined rates and measures of agreement are nil.
type Accuracy struct {
	Labels      int `json:"labels"`
	RightPassed int `json:"right_passed"`
	RightFailed int `json:"right_failed"`
	WrongPassed int `json:"wrong_passed"`
	WrongFailed int `json:"wrong_failed"`
	Unscored    int `json:"unscored"`
	// Sensitivity is the share of right answers that passed, Specificity the share of wrong ones
	// that failed.
	Sensitivity *Rate `json:"sensitivity"`
	Specificity *Rate `json:"specificity"`
	// Agreement is the share of answers whose verdict matches the label. The measures below correct
	// it for chance; see stats.Pairs.
	Agreement *float64 `json:"agreement"`
	Kappa     *float64 `json:"kappa"`
	PABAK     *float64 `json:"pabak"`
	AC1       *float64 `json:"ac1"`
	// Wrong lists the misjudged and unscored answers in order. It is empty for given verdicts, whose
	// answers are all wrong.
	Wrong []Misjudgement `json:"misjudged"`
}

// Rate is a share with its interval.
type Rate struct {
	Rate float64 `json:"rate"`
	// Interval is zero if clusters determine none, or no rate explains the verdicts.
	Interval result.Interval `json:"interval,omitzero"`
}

// Misjudgement is an answer whose verdict differs from its label or is missing.
type Misjudgement struct {
	ID     string   `json:"id"`
	Right  bool     `json:"label"`
	Score  *float64 `json:"score"`
	Reason string   `json:"reason"`
}

// Measure compares verdicts with labels (statistics.md B.6).
func Measure(list []LabelledVerdict) Accuracy {
	a := Accuracy{Labels: len(list), Wrong: []Misjudgement{}}
	for _, l := range list {
		if !a.add(l) {
			m := Misjudgement{ID: l.ID, Right: l.Right, Reason: l.Verdict.Reason}
			if l.Verdict.Scored {
				m.Score = new(l.Verdict.Score)
			}
			a.Wrong = append(a.Wrong, m)
		}
	}
	a.rate()
	return a
}

// rate computes the rates and measures of agreement from the counts.
func (a *Accuracy) rate() {
	a.Sensitivity = rateOf(a.RightPassed, a.RightFailed)
	a.Specificity = rateOf(a.WrongFailed, a.WrongPassed)
	agreement := a.agreement()
	a.Agreement, a.Kappa = defined(agreement.Observed()), defined(agreement.Kappa())
	a.PABAK, a.AC1 = defined(agreement.PABAK()), defined(agreement.AC1())
}

// add counts a verdict and reports whether it matches the label.
func (a *Accuracy) add(l LabelledVerdict) bool {
	passed := l.Verdict.Passed()
	switch {
	case !l.Verdict.Scored:
		a.Unscored++
		return false
	case l.Right && passed:
		a.RightPassed++
	case l.Right:
		a.RightFailed++
	case passed:
		a.WrongPassed++
	default:
		a.WrongFailed++
	}
	return l.Right == passed
}

// Pessimistic returns the accuracy with all answers without a verdict counted as misjudged. Those
// that Wrong does not list are wrong answers. Its own Wrong is nil.
func (a *Accuracy) Pessimistic() Accuracy {
	p := *a
	p.Unscored, p.Wrong = 0, nil
	right := 0
	for _, m := range a.Wrong {
		if m.Score == nil && m.Right {
			right++
		}
	}
	p.RightFailed += right
	p.WrongPassed += a.Unscored - right
	p.rate()
	return p
}

// agreement returns the counts with the judge as the first rater.
func (a *Accuracy) agreement() stats.Pairs {
	return stats.Pairs{
		Both: a.RightPassed, First: a.WrongPassed,
		Second: a.RightFailed, Neither: a.WrongFailed,
	}
}

// skewedShare is the share of equal verdicts from which Kappa is misleading.
const skewedShare = 0.8

// Skewed reports whether the judge or the labels give so many equal verdicts that Kappa is low
// despite agreement. PABAK and AC1 are then more informative.
func (a *Accuracy) Skewed() bool {
	n := float64(a.Labels - a.Unscored)
	for _, passed := range []int{a.RightPassed + a.RightFailed, a.RightPassed + a.WrongPassed} {
		if share := float64(passed) / n; n > 0 && (share >= skewedShare || share <= 1-skewedShare) {
			return true
		}
	}
	return false
}

// Correction is a pass rate corrected for the judge's errors, as estimated from labels.
type Correction struct {
	// Judged is the number of answers with a verdict, and Passed how many of these passed.
	Judged int `json:"judged"`
	Passed int `json:"passed"`
	// Raw is the share that passed, and Corrected the estimated share of right answers.
	Raw       Rate  `json:"raw_pass_rate"`
	Corrected *Rate `json:"corrected_pass_rate"`
	// Clamped is set if Corrected would be below 0 or above 1, which indicates that the labels are
	// of other answers.
	Clamped bool `json:"clamped,omitempty"`
	// Few says that labels are too few for a narrow interval, else empty.
	Few string `json:"few_labels,omitempty"`
	// Least is set if the judge's verdicts on right answers are unknown. Corrected then assumes
	// that every right answer passed and is a lower bound.
	Least bool `json:"least,omitempty"`
	// Impossible says why there is no corrected rate, else empty.
	Impossible string `json:"impossible,omitempty"`
}

// Correct corrects the pass rate of a result for the accuracy of its judge (statistics.md B.7). It
// covers answers with a verdict, not errors and unscored questions, and allows for the clusters of
// of.Clustered, which must be of these answers.
func (a *Accuracy) Correct(of *result.Result) Correction {
	c := newCorrection(of)
	switch {
	case c.Impossible != "":
	case a.Sensitivity == nil:
		c.Impossible = "no right answer with a verdict has a label, so the sensitivity is unknown"
	case a.Specificity == nil:
		c.Impossible = "no wrong answer with a verdict has a label, so the specificity is unknown"
	default:
		c.correct(of.Clustered, stats.JudgeAccuracy{
			Sensitivity: a.Sensitivity.Rate, Right: a.RightPassed + a.RightFailed,
			Specificity: a.Specificity.Rate, Wrong: a.WrongPassed + a.WrongFailed,
		}, "the judge passes wrong answers about as often as right ones "+
			"(sensitivity + specificity is not above 1, or not clearly with so few labels)")
	}
	return c
}

// newCorrection returns the pass rate of the answers with a verdict, to be corrected.
func newCorrection(of *result.Result) Correction {
	c := Correction{Judged: of.Counts.Scored, Passed: of.Counts.Passed}
	raw := rateOf(c.Passed, c.Judged-c.Passed)
	if raw == nil {
		c.Impossible = "the result has no answer with a verdict"
		return c
	}
	c.Raw = *raw
	if of.Clustered == nil {
		return c
	}
	if c.Raw.Interval = (result.Interval{}); of.Clustered.Interval == nil {
		c.Impossible = "the clusters of the questions do not show how uncertain its pass rate is"
		return c
	}
	c.Raw.Interval = *of.Clustered.Interval
	return c
}

// correct sets the corrected rate, or that it is impossible, and why.
func (c *Correction) correct(clustered *result.ClusteredRate, judge stats.JudgeAccuracy, why string) {
	corrected, ok := stats.JudgeCorrected(c.Raw.Rate, independent(c.Judged, clustered), judge, confidence)
	if !ok {
		c.Impossible = why
		return
	}
	c.Clamped, c.Corrected = corrected.Clamped, &Rate{Rate: corrected.Rate}
	if !math.IsNaN(corrected.Lo) {
		c.Corrected.Interval = interval(judgeMethod, corrected.Lo, corrected.Hi)
	}
	if few := min(judge.Right, judge.Wrong); few < stats.FewestLabels {
		kind := "wrong"
		if judge.Right == few {
			kind = "right"
		}
		c.Few = fmt.Sprintf("few %s answers are known (%d independent): with %d or more the interval is narrower", kind, few, stats.FewestLabels)
	}
}

// independent returns how many independent answers say as much as n answers in clusters, which are
// nil if all n are independent. Few clusters also make the standard error uncertain.
func independent(n int, clusters *result.ClusteredRate) int {
	switch {
	case clusters == nil:
		return n
	case *clusters.SE == 0:
		return clusters.Clusters // all passed or none, as in Wilson's interval over clusters
	}
	few := stats.StudentQuantile((1+confidence)/2, float64(clusters.Clusters-1)) / stats.NormalQuantile((1+confidence)/2)
	wider := max(1, few**clusters.SE/clusters.NaiveSE)
	return int(math.Round(1 + float64(n-1)/(wider*wider)))
}

// rateOf returns the share of hits, nil without any.
func rateOf(hits, misses int) *Rate {
	n := hits + misses
	if n == 0 {
		return nil
	}
	low, high := stats.Wilson(hits, n, confidence)
	return &Rate{float64(hits) / float64(n), interval(wilsonMethod, low, high)}
}

func interval(method string, low, high float64) result.Interval {
	return result.Interval{Method: method, Confidence: confidence, Low: low, High: high}
}

func defined(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}
