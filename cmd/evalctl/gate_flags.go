package main

import (
	"errors"
	"fmt"

	"evalctl/harness/result"
)

// allowanceFlags says how many questions may end without a score. run, sweep and replay have them.
type allowanceFlags struct {
	MaxErrors   string `name:"max-errors" default:"10%" placeholder:"N|P%" help:"Number or share of questions on which the daemon may fail. Above it the exit code is 5 (${default})." group:"advanced"`
	MaxUnscored string `name:"max-unscored" default:"10%" placeholder:"N|P%" help:"Number or share of answers that the scorer may leave without a verdict. Above it the exit code is 5 (${default})." group:"advanced"`

	errors   result.Allowance
	unscored result.Allowance
}

func (a *allowanceFlags) validateAllowances() (err error) {
	if a.errors, err = result.ParseAllowance(a.MaxErrors); err != nil {
		return fmt.Errorf("--max-errors %s: %w", a.MaxErrors, err)
	}
	if a.unscored, err = result.ParseAllowance(a.MaxUnscored); err != nil {
		return fmt.Errorf("--max-unscored %s: %w", a.MaxUnscored, err)
	}
	return nil
}

// gateFlags says when a run passes. run and replay have them, with another default of the floor.
type gateFlags struct {
	Floor     string   `default:"${default_floor}" placeholder:"RATE" help:"Minimum pass rate. Below it the exit code is 1 (${default})." group:"gate"`
	FloorMode string   `name:"floor-mode" enum:"point,proven,not-refuted" default:"point" help:"What must reach the floors: point is the pass rate, proven its lower bound (one-sided, 95%), not-refuted its upper bound (${default})." group:"advanced"`
	FloorTag  []string `name:"floor-tag" placeholder:"TAG=RATE" sep:"none" help:"Minimum pass rate of the questions with a tag. May be repeated." group:"advanced"`
	allowanceFlags

	floor     float64
	tagFloors map[string]float64 // nil without --floor-tag
}

// validateGate parses the flags.
func (g *gateFlags) validateGate() (err error) {
	if g.floor, err = result.ParseRate(g.Floor); err != nil {
		return fmt.Errorf("--floor %s: %w", g.Floor, err)
	}
	if g.tagFloors, err = result.ParseTagFloors(g.FloorTag); err != nil {
		return fmt.Errorf("--floor-tag %w", err)
	}
	return g.validateAllowances()
}

// mode returns the mode of the floors, as results have it.
func (g *gateFlags) mode() result.FloorMode {
	if m := result.FloorMode(g.FloorMode); m != result.FloorPoint {
		return m
	}
	return ""
}

// settings adds the policy of the gate to s.
func (g *gateFlags) settings(s result.Settings) result.Settings {
	s.Floor, s.FloorMode, s.TagFloors = g.floor, g.mode(), g.tagFloors
	s.MaxErrors, s.MaxUnscored = g.errors, g.unscored
	return s
}

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
