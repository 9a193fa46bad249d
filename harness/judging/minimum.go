package judging

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
)

// Minimum is the required accuracy of a judge. A nil figure is not required.
type Minimum struct{ Kappa, Specificity *float64 }

// BelowError reports that a judge does not reach its Minimum.
type BelowError struct {
	// Uncertain is set if the judge may reach it, because some answers have no verdict.
	Uncertain bool
	message   string
}

func (e *BelowError) Error() string { return e.message }

// CanShow returns an error if the labels cannot show the required accuracy, whatever the verdicts.
// correct is set if they are also to correct the pass rate of a result.
func (m Minimum) CanShow(labels []dataset.Label, correct bool) error {
	right := rightOf(labels)
	switch {
	case (correct || m != Minimum{}) && Harder(labels):
		return errors.New("--result, --min-kappa and --min-specificity need labels of answers drawn at random, and these were drawn with " +
			"--sample disagreement, where judges err more often: evalctl judge estimate allows for that")
	case m.Specificity != nil && right == len(labels):
		return errors.New("--min-specificity needs labels of wrong answers, and there are none")
	case m.Kappa != nil && (right == 0 || right == len(labels)):
		return errors.New("--min-kappa needs labels of right and of wrong answers, and all are of one kind")
	}
	return nil
}

// Harder reports whether the labels have more answers on which the recipes of a panel disagree than
// the result that they were drawn from.
func Harder(labels []dataset.Label) bool {
	return slices.ContainsFunc(labels, func(l dataset.Label) bool { return l.Disagreement })
}

// Reached returns a *BelowError if a judge is, or may be, below the minimum. One that is below is
// reported first.
func (m Minimum) Reached(a *Accuracy) error {
	worst := a.Pessimistic()
	var uncertain error
	for _, f := range []struct {
		flag, text        string
		min, found, worst *float64
	}{
		{"--min-kappa", "kappa " + figure.Coefficient(a.Kappa), m.Kappa, a.Kappa, worst.Kappa},
		{"--min-specificity", "specificity " + a.Specificity.String(), m.Specificity, a.Specificity.share(), worst.Specificity.share()},
	} {
		switch {
		case f.min == nil:
		case f.found != nil && misses(*f.found, *f.min):
			if !misses(math.Round(*f.found*1000)/1000, *f.min) {
				f.text += fmt.Sprintf(", exactly %v,", *f.found)
			}
			return &BelowError{false, fmt.Sprintf("%s is below %s %v", f.text, f.flag, *f.min)}
		case uncertain == nil && (f.worst == nil || misses(*f.worst, *f.min)):
			uncertain = &BelowError{true, fmt.Sprintf("%s is not certain to reach %s %v: %s without a verdict may be misjudged; check the judge again",
				f.text, f.flag, *f.min, figure.Count(a.Unscored, "answer"))}
		}
	}
	return uncertain
}

// misses reports whether x is below least by more than rounding.
func misses(x, least float64) bool { return x < least-1e-9 }

// share returns the rate, nil if r is nil.
func (r *Rate) share() *float64 {
	if r == nil {
		return nil
	}
	return &r.Rate
}

// String returns the rate with its interval, "n/a" without one.
func (r *Rate) String() string {
	if r == nil {
		return "n/a"
	}
	if r.Interval == (result.Interval{}) {
		return fmt.Sprintf("%.3f (no interval)", r.Rate)
	}
	return fmt.Sprintf("%.3f [%.3f %.3f] (%s)", r.Rate, r.Interval.Low, r.Interval.High, wording.IntervalName(&r.Interval))
}
