package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"evalctl/harness/aggregate"
	"evalctl/harness/dataset"
	"evalctl/harness/report"
	"evalctl/harness/report/text"
	"evalctl/harness/result"
)

// planCmd has the flags of evalctl plan.
type planCmd struct {
	Floor     string `default:"0.90" placeholder:"RATE" help:"Minimum pass rate (${default})."`
	FloorMode string `name:"floor-mode" enum:"point,proven,not-refuted" default:"point" help:"What must reach the floor, as in evalctl run: ${enum} (${default})."`
	N         *int   `name:"n" placeholder:"N" help:"Number of questions."`
	Dataset   string `placeholder:"FILE" help:"JSONL file of questions, whose number is taken."`

	Difference   string `default:"0.05" placeholder:"RATE" help:"Difference of pass rates that a comparison is to show (${default})."`
	Discordant   string `placeholder:"RATE" help:"Share of questions that only one of the two passes. Default: as for independent answers with --baseline-rate, else 0.10."`
	BaselineRate string `name:"baseline-rate" placeholder:"RATE" help:"Pass rate of the baseline."`
	Power        string `default:"0.80" placeholder:"P" help:"Probability with which the comparison is to show it (${default})."`

	Format string `enum:"text,json,csv" default:"text" help:"Output: ${enum} (${default})."`

	floor, difference, discordant, power float64
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *planCmd) Validate() (err error) {
	if c.floor, err = result.ParseRate(c.Floor); err != nil {
		return fmt.Errorf("--floor %s: %w", c.Floor, err)
	}
	switch {
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
	c.discordant, err = aggregate.ParseDiscordant(c.Discordant, c.BaselineRate, c.difference)
	return err
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
