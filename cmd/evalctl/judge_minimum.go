package main

import (
	"errors"
	"fmt"

	"evalctl/harness/dataset"
	"evalctl/harness/judging"
	"evalctl/harness/report/text"
)

// minimumFlags are what a judge must reach.
type minimumFlags struct {
	MinKappa       *float64 `name:"min-kappa" placeholder:"K" help:"Least kappa, 0 to 1. Below it the exit code is 1."`
	MinSpecificity *float64 `name:"min-specificity" placeholder:"RATE" help:"Least share of the wrong answers that the judge fails, 0 to 1. Below it the exit code is 1."`
}

func (f *minimumFlags) validateMinimum() error {
	check := func(name string, v *float64) error {
		if v != nil && !(*v >= 0 && *v <= 1) {
			return fmt.Errorf("%s %v: must be from 0 to 1", name, *v)
		}
		return nil
	}
	return errors.Join(check("--min-kappa", f.MinKappa), check("--min-specificity", f.MinSpecificity))
}

// canShow returns an error if labels cannot show what is required, whatever the verdicts.
func (f *minimumFlags) canShow(labels []dataset.Label) error {
	right := 0
	for _, l := range labels {
		if l.Right {
			right++
		}
	}
	switch {
	case f.MinSpecificity != nil && right == len(labels):
		return errors.New("--min-specificity needs labels of wrong answers, and there are none")
	case f.MinKappa != nil && (right == 0 || right == len(labels)):
		return errors.New("--min-kappa needs labels of right and of wrong answers, and all are of one kind")
	}
	return nil
}

// reached returns a belowError if a judge is below what is required, and an unscoredError if it may
// be, because answers have no verdict.
func (f *minimumFlags) reached(a *judging.Accuracy) error {
	worst := a.Pessimistic()
	for _, m := range []struct {
		flag, text        string
		min, found, worst *float64
	}{
		{"--min-kappa", "kappa " + text.Coefficient(a.Kappa), f.MinKappa, a.Kappa, worst.Kappa},
		{"--min-specificity", "specificity " + text.RateText(a.Specificity), f.MinSpecificity, shareIn(a.Specificity), shareIn(worst.Specificity)},
	} {
		switch {
		case m.min == nil:
		case m.found != nil && misses(*m.found, *m.min):
			return belowError{fmt.Errorf("%s is below %s %v", m.text, m.flag, *m.min)}
		case m.worst == nil || misses(*m.worst, *m.min):
			return unscoredError{fmt.Errorf("%s is not certain to reach %s %v: %s without a verdict may be misjudged; check the judge again",
				m.text, m.flag, *m.min, count(a.Unscored, "answer"))}
		}
	}
	return nil
}

// misses reports whether a figure is below another by more than its rounding.
func misses(x, least float64) bool { return x < least-1e-9 }

func shareIn(r *judging.Rate) *float64 {
	if r == nil {
		return nil
	}
	return &r.Rate
}
