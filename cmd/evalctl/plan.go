package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"evalctl/harness/aggregate"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/stats"
	"evalctl/internal/terminal"
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

// defaultDiscordant is the share of --discordant if nothing is known.
const defaultDiscordant = 0.10

// planAlpha is the level of the two-sided test of a comparison.
const planAlpha = 0.05

func (planCmd) Help() string {
	return `Says how a gate judges, before anything is asked or spent: how often runs with a true pass rate above or
below the floor pass, how many questions tell such rates apart, what proves the floor at this size, and
which difference from a baseline a paired comparison can show.

Examples:

  evalctl plan --floor 0.9 --n 50
  evalctl plan --floor 0.9 --floor-mode proven --dataset datasets/core.jsonl
  evalctl plan --n 200 --difference 0.05 --discordant 0.12 --power 0.9
  evalctl plan --n 200 --baseline-rate 0.92 --format json
`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *planCmd) Validate() (err error) {
	if c.floor, err = parseRate(c.Floor); err != nil {
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
	if c.difference, err = parseRate(c.Difference); err != nil || c.difference == 0 {
		return fmt.Errorf("--difference %s: must be above 0 and at most 1, such as 0.05", c.Difference)
	}
	if c.power, err = parseRate(c.Power); err != nil || c.power == 0 || c.power == 1 {
		return fmt.Errorf("--power %s: must be between 0 and 1, such as 0.80", c.Power)
	}
	return c.validateDiscordant()
}

// maxPlanned is the largest --n. Beyond it every difference is proven.
const maxPlanned = 10_000_000

// validateDiscordant parses --baseline-rate and --discordant, or chooses the latter.
func (c *planCmd) validateDiscordant() error {
	c.discordant = max(defaultDiscordant, c.difference)
	rate, err := 0.0, error(nil)
	if c.BaselineRate != "" {
		if rate, err = parseRate(c.BaselineRate); err != nil {
			return fmt.Errorf("--baseline-rate %s: %w", c.BaselineRate, err)
		}
		other := rate - c.difference
		if other < 0 {
			return fmt.Errorf("--difference %s: no rate is so much below the --baseline-rate %s", c.Difference, c.BaselineRate)
		}
		c.discordant = rate*(1-other) + other*(1-rate)
	}
	if c.Discordant == "" {
		return nil
	}
	if c.discordant, err = parseRate(c.Discordant); err != nil {
		return fmt.Errorf("--discordant %s: %w", c.Discordant, err)
	}
	if c.discordant < c.difference {
		return fmt.Errorf("--discordant %s: cannot be less than --difference %s, which are questions that only one passes",
			c.Discordant, c.Difference)
	}
	if fixed := (c.discordant - c.difference) / 2; c.BaselineRate != "" && (fixed > 1-rate+1e-9 || fixed+c.difference > rate+1e-9) {
		return fmt.Errorf("--discordant %s: is more than --baseline-rate %s leaves", c.Discordant, c.BaselineRate)
	}
	return nil
}

// planned is the object of --format json.
type planned struct {
	aggregate.Operating
	// Separating is nil if no size separates the rates.
	Separating *separating  `json:"separating"`
	Paired     pairedDesign `json:"paired"`
}

// separating is the smallest size at which a rate below the floor seldom passes, and one above it
// nearly always does.
type separating struct {
	N      int                  `json:"n"`
	Worse  aggregate.RatePasses `json:"worse"`
	Better aggregate.RatePasses `json:"better"`
}

// pairedDesign is the size of a comparison question by question.
type pairedDesign struct {
	Difference float64 `json:"difference"`
	Discordant float64 `json:"discordant"`
	Alpha      float64 `json:"alpha"`
	Power      float64 `json:"power"`
	// Questions show the difference. Detectable is the smallest difference that n questions show, nil
	// if not even one in a single direction is shown.
	Questions  int      `json:"questions"`
	Detectable *float64 `json:"detectable"`
}

// Run prints the plan.
func (c *planCmd) Run(p *process) error {
	n, err := c.questions()
	if err != nil {
		return usageError{err}
	}
	mode := result.FloorMode(c.FloorMode)
	plan := planned{Operating: aggregate.Operate(n, c.floor, mode), Paired: c.paired(n)}
	if size, worse, better, ok := aggregate.Separates(c.floor, mode); ok {
		plan.Separating = &separating{size, worse, better}
	}
	switch c.Format {
	case "json":
		return json.NewEncoder(p.stdout).Encode(plan)
	case "csv":
		return plan.csv(p.stdout)
	}
	return plan.text(p.stdout)
}

// questions returns the number of questions.
func (c *planCmd) questions() (int, error) {
	if c.N != nil {
		return *c.N, nil
	}
	d, err := dataset.Open(c.Dataset, dataset.Options{Naming: dataset.BrainNaming{Default: defaultBrain}})
	return d.Selected, err
}

// paired returns the size of a comparison, and what n questions show.
func (c *planCmd) paired(n int) pairedDesign {
	d := pairedDesign{
		Difference: c.difference, Discordant: math.Round(c.discordant*1e9) / 1e9, Alpha: planAlpha, Power: c.power,
		Questions: int(stats.McNemarSize(c.discordant, min(c.difference, c.discordant), planAlpha, c.power)),
	}
	if least := stats.MinDetectable(n, c.discordant, planAlpha, c.power); !math.IsNaN(least) {
		d.Detectable = &least
	}
	return d
}

func (o planned) csv(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"n", "floor", "floor_mode", "required", "true_rate", "passes"}) // Error reports it
	for _, p := range o.Passes {
		_ = out.Write([]string{
			strconv.Itoa(o.N), fmt.Sprint(o.Floor), string(o.Mode), strconv.Itoa(o.Required), fmt.Sprint(p.Rate), strconv.FormatFloat(p.Passes, 'f', 6, 64),
		})
	}
	out.Flush()
	return out.Error()
}

func (o planned) text(w io.Writer) error {
	rule := fmt.Sprintf("passes with %d or more of %s", o.Required, count(o.N, "question"))
	if o.Required > o.N {
		rule = fmt.Sprintf("never passes with %s", count(o.N, "question"))
	}
	fmt.Fprintf(w, "gate    floor %v, mode %s: %s\n", o.Floor, o.Mode, rule)
	proof := "no result on so few questions proves the floor"
	if o.Proves != nil {
		proof = fmt.Sprintf("%d/%d proves the floor", *o.Proves, o.N)
	}
	if o.Refutes != nil {
		proof += fmt.Sprintf(", %d/%d refutes it", *o.Refutes, o.N)
	}
	fmt.Fprintf(w, "proof   %s (one-sided 95%% bounds, Clopper-Pearson)\n\n", proof)
	rows := [][]string{{"true rate", "passes"}}
	for _, p := range o.Passes {
		rows = append(rows, []string{fmt.Sprintf("%.3f", p.Rate), percent(p.Passes)})
	}
	fmt.Fprintln(w, terminal.Table(rows, 0))
	if s := o.Separating; s != nil {
		fmt.Fprintf(w, "size    %s: a true rate of %v passes %s of the time, one of %v %s\n",
			count(s.N, "question"), s.Worse.Rate, percent(s.Worse.Passes), s.Better.Rate, percent(s.Better.Passes))
	} else {
		fmt.Fprintf(w, "size    no number of questions has a rate 0.05 below this floor pass less than %s of the time and one 0.05 above it more than %s\n",
			percent(aggregate.MostWorse), percent(aggregate.LeastBetter))
	}
	d := o.Paired
	fmt.Fprintf(w, "paired  a difference of %s points needs %s, if only one of the two passes %s of them (two-sided test at %v, power %v)\n",
		fmt.Sprintf("%.4g", 100*d.Difference), count(d.Questions, "question"), percent(d.Discordant), d.Alpha, d.Power)
	at := fmt.Sprintf("%s show", count(o.N, "question"))
	if o.N == 1 {
		at += "s"
	}
	if d.Detectable == nil {
		_, err := fmt.Fprintf(w, "        %s no difference with that power\n", at)
		return err
	}
	_, err := fmt.Fprintf(w, "        %s a difference of %s points or more\n", at, strconv.FormatFloat(100**d.Detectable, 'f', 1, 64))
	return err
}

// percent formats a probability, with more decimals where it is close to 0 or 1.
func percent(p float64) string {
	if p > 0 && p < 0.001 {
		return "<0.1%"
	}
	if p > 0.999 && p < 1 {
		return ">99.9%"
	}
	return fmt.Sprintf("%.1f%%", 100*p)
}
