package main

import (
	"errors"
	"fmt"

	"evalctl/harness/result"
)

// defaultMargin is the largest loss of pass rate that is accepted without --margin.
const defaultMargin = "0.03"

// baselineFlags compares a run with an earlier result.
type baselineFlags struct {
	Baseline string `placeholder:"FILE" help:"Result file that the run must not be worse than, question by question. If it is, or it is not shown to be not worse, the exit code is 1." group:"gate"`
	Margin   string `default:"0.03" placeholder:"RATE" help:"Largest loss of pass rate against --baseline that is accepted (${default})." group:"advanced"`

	margin float64
}

func (b *baselineFlags) validateBaseline(repeats int) (err error) {
	if b.margin, err = result.ParseRate(b.Margin); err != nil {
		return fmt.Errorf("--margin %s: must be a loss of pass rate from 0 to 1, such as %s", b.Margin, defaultMargin)
	}
	if b.Baseline != "" && repeats > 1 {
		return errors.New("--baseline and --repeats exclude each other: each question is compared once; " +
			"compare results with repeats with evalctl compare")
	}
	return nil
}
