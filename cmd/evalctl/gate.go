package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"evalctl/harness/aggregate"
	"evalctl/harness/dataset"
	"evalctl/harness/key"
	"evalctl/harness/project"
	"evalctl/harness/report"
	"evalctl/harness/report/text"
	"evalctl/harness/result"
)

// allowanceFlags says how many questions may end without a score. run, sweep and replay have them.
type allowanceFlags struct {
	MaxErrors   string `name:"max-errors" default:"10%" placeholder:"N|P%" help:"Questions on which the daemon may fail. Above it the exit code is 5 (${default})." group:"advanced"`
	MaxUnscored string `name:"max-unscored" default:"10%" placeholder:"N|P%" help:"Answers that the scorer may leave without a verdict. Above it the exit code is 5 (${default})." group:"advanced"`

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

// floorFlags is the floor of a run. The specification gives run one of 0.90, and replay none.
type floorFlags struct {
	Floor     string `default:"${default_floor}" placeholder:"RATE" help:"Minimum pass rate, or none. Below it the exit code is 1 (${default})." group:"gate"`
	FloorMode string `name:"floor-mode" enum:"point,proven,not-refuted" default:"point" help:"What must reach the floors: point is the pass rate, proven its lower bound (one-sided, 95%), not-refuted its upper bound (${default})." group:"advanced"`
}

// gateFlags says when a run passes. run, rescore and replay have them.
type gateFlags struct {
	floorFlags
	FloorTag []string `name:"floor-tag" placeholder:"TAG=RATE" sep:"none" help:"Minimum pass rate of the questions with a tag. Repeatable." group:"advanced"`
	allowanceFlags

	tagFloors map[string]float64 // nil without --floor-tag
}

// familyFlags is the floor of families. Only run asks questions that have some.
type familyFlags struct {
	FloorFamily string `name:"floor-family" placeholder:"RATE" help:"Minimum pass rate of each family of questions over time, or none. With it, no deleted or foreign text may come back. Default: 0.90, or --floor if it is lower or none." group:"advanced"`
}

// defaultFamilyFloor is the floor of families unless the run's floor is lower.
const defaultFamilyFloor = 0.9

// familyFloor returns the floor of families, nil for none, in a run with a floor.
func (f *familyFlags) familyFloor(run result.Settings) (*float64, error) {
	switch {
	case f.FloorFamily == "" && run.FloorFrom == result.FloorNone, f.FloorFamily == noFloor:
		return nil, nil
	case f.FloorFamily == "":
		return new(min(defaultFamilyFloor, run.Floor)), nil
	}
	rate, err := result.ParseRate(f.FloorFamily)
	if err != nil {
		return nil, fmt.Errorf("--floor-family %s: %w", f.FloorFamily, err)
	}
	return &rate, nil
}

// validateGate parses the flags.
func (g *gateFlags) validateGate() (err error) {
	if _, _, err = parseFloor(g.Floor, false); err != nil {
		return fmt.Errorf("--floor %s: %w", g.Floor, err)
	}
	if g.tagFloors, err = parseTagFloors(g.FloorTag); err != nil {
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

// settings adds the policy of the gate to s. flags are the command's.
func (g *gateFlags) settings(s result.Settings, flags *project.KeptFlags) (result.Settings, error) {
	if g.Floor == noFloor && g.tagFloors == nil && flags.Typed("floor-mode") {
		return s, errors.New("--floor-mode has no effect without a floor; add --floor RATE or --floor-tag TAG=RATE, or leave --floor-mode out")
	}
	var err error
	s.Floor, s.FloorFrom, err = parseFloor(g.Floor, flags.Given("floor"))
	s.FloorMode, s.TagFloors = g.mode(), g.tagFloors
	s.MaxErrors, s.MaxUnscored = g.errors, g.unscored
	return s, err
}

// keepFloor removes a floor that nobody gave from the flags that a journal keeps, so that a resumed
// run reports it as the default too. The specification fixes it: no version has another.
func (g *gateFlags) keepFloor(options map[string]any, flags *project.KeptFlags) {
	if !flags.Given("floor") {
		delete(options, "floor")
	}
}

// defaultMargin is the largest loss of pass rate that is accepted without --margin.
const defaultMargin = "0.03"

// baselineFlags compares a run with an earlier result.
type baselineFlags struct {
	Baseline string   `placeholder:"FILE" help:"${about_baseline}" group:"gate"`
	Accept   []string `placeholder:"KEY" help:"${about_accept}" group:"advanced"`
	Margin   string   `default:"0.03" placeholder:"RATE" help:"${about_margin} (${default})." group:"advanced"`

	margin float64
}

// errAccept is the error of an --accept without a comparison.
var errAccept = errors.New("--accept needs a comparison: give a --baseline or several targets, or leave --accept out")

// validateBaseline checks the flags.
func (b *baselineFlags) validateBaseline(repeats int) (err error) {
	if b.margin, err = result.ParseRate(b.Margin); err != nil {
		return fmt.Errorf("--margin %s: must be a loss of pass rate from 0 to 1, such as %s", b.Margin, defaultMargin)
	}
	if err := key.CheckNames(key.Gate, b.Accept); err != nil {
		return fmt.Errorf("--accept: %w", err)
	}
	if b.Baseline != "" && repeats > 1 {
		return errors.New("--baseline and --repeats exclude each other: each question is compared once; " +
			"compare results with repeats with evalctl compare")
	}
	return nil
}

// planCmd has the flags of evalctl plan.
type planCmd struct {
	floorFlags `set:"default_floor=0.90"`
	N          *int   `name:"n" placeholder:"N" help:"Number of questions."`
	Dataset    string `placeholder:"FILE" help:"${about_dataset}"`

	Difference   string `default:"0.05" placeholder:"RATE" help:"Difference of pass rates that a comparison is to show (${default})."`
	Discordant   string `placeholder:"RATE" help:"Share of questions that only one of the two passes. Default: as for independent answers with --baseline-rate, else 0.10."`
	BaselineRate string `name:"baseline-rate" placeholder:"RATE" help:"Pass rate of the baseline."`
	Margin       string `default:"0.03" placeholder:"RATE" help:"${about_margin} (${default})."`
	Power        string `default:"0.80" placeholder:"P" help:"Probability with which the comparison is to show it (${default})."`

	Format string `enum:"text,json,csv" default:"text" help:"${about_format}: ${enum} (${default})."`

	floor, difference, discordant, power, margin float64
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *planCmd) Validate() (err error) {
	var from result.FloorFrom
	if c.floor, from, err = parseFloor(c.Floor, true); err != nil {
		return fmt.Errorf("--floor %s: %w", c.Floor, err)
	}
	switch {
	case from == result.FloorNone:
		return errors.New("--floor none: there is nothing to plan without a floor; give a rate")
	case c.N != nil && c.Dataset != "":
		return errors.New("--n and --dataset exclude each other: the dataset has a number of questions")
	case c.N == nil && c.Dataset == "":
		return errors.New("the number of questions is missing: give --n N or --dataset FILE")
	case c.N != nil && (*c.N < 1 || *c.N > maxPlanned):
		return fmt.Errorf("--n %d: must be from 1 to %d", *c.N, maxPlanned)
	}
	if c.difference, err = result.ParseRate(c.Difference); err != nil || c.difference == 0 {
		return fmt.Errorf("--difference %s: must be above 0 and at most 1, such as 0.05", c.Difference)
	}
	if c.power, err = result.ParseRate(c.Power); err != nil || c.power == 0 || c.power == 1 {
		return fmt.Errorf("--power %s: must be between 0 and 1, such as 0.80", c.Power)
	}
	if c.margin, err = result.ParseRate(c.Margin); err != nil || c.margin == 0 || c.margin == 1 {
		return fmt.Errorf("--margin %s: must be between 0 and 1, such as 0.03", c.Margin)
	}
	c.discordant, err = aggregate.ParseDiscordant(c.Discordant, c.BaselineRate, c.difference)
	return err
}

// planMargin returns how the margin judges n questions.
func (c *planCmd) planMargin(n int) aggregate.MarginDesign {
	rate, discordant := c.floor, (*float64)(nil)
	if c.BaselineRate != "" {
		rate, _ = result.ParseRate(c.BaselineRate) // Validate has returned the error
	}
	if c.Discordant != "" {
		discordant = &c.discordant
	}
	return aggregate.PlanMargin(n, c.margin, rate, discordant)
}

// maxPlanned is the largest --n. Beyond it every difference is proven.
const maxPlanned = 10_000_000

// Run prints the plan.
func (c *planCmd) Run(p *process) error {
	n, err := c.questions()
	if err != nil {
		return err
	}
	plan := aggregate.PlanGate(n, c.floor, result.FloorMode(c.FloorMode), c.difference, c.discordant, c.power)
	plan.Margin = c.planMargin(n)
	switch c.Format {
	case "json":
		return json.NewEncoder(p.stdout).Encode(plan)
	case "csv":
		return report.PlanCSV(p.stdout, plan)
	}
	return text.Plan(p.stdout, plan)
}

// questions returns the number of questions.
func (c *planCmd) questions() (int, error) {
	if c.N != nil {
		return *c.N, nil
	}
	d, err := dataset.Open(c.Dataset, dataset.Options{Naming: dataset.BrainNaming{Default: defaultBrain}})
	return d.Selected, err
}
