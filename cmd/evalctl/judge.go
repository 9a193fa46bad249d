package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"

	"evalctl/harness/dataset"
	"evalctl/harness/judging"
	"evalctl/harness/labels"
	"evalctl/harness/report/text"
	"evalctl/internal/environ"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
)

// judgeCmd has the commands about judges.
type judgeCmd struct {
	Check    judgeCheckCmd    `cmd:"" help:"Measure how often a judge is right, on answers with labels."`
	Label    judgeLabelCmd    `cmd:"" help:"Label answers that are drawn at random, verdicts hidden."`
	Estimate judgeEstimateCmd `cmd:"" help:"Estimate pass rates as labellers would grade, or how many labels that takes."`
}

// judgeCheckCmd has the flags of evalctl judge check.
type judgeCheckCmd struct {
	Labels         string   `placeholder:"FILE" help:"${about_labels}"`
	Wrong          string   `placeholder:"FILE" help:"${about_wrong}"`
	Judge          string   `env:"SVC_EVAL_JUDGE_MODEL" placeholder:"[PROVIDER/]MODEL" help:"Model that judges."`
	JudgePrompts   string   `name:"judge-prompts" placeholder:"DIR" help:"${about_judge_prompts}"`
	Result         string   `placeholder:"FILE" help:"Result file whose pass rate is corrected. It must be by the same judge with the same prompts."`
	JSON           bool     `name:"json" help:"${about_json}"`
	MinKappa       *float64 `name:"min-kappa" placeholder:"K" help:"Least kappa, 0 to 1. Below it the exit code is 1."`
	MinSpecificity *float64 `name:"min-specificity" placeholder:"RATE" help:"Least share of wrong answers that the judge fails, 0 to 1. Below it the exit code is 1."`
	moneyFlags     `set:"default_cap=20"`
	judgingFlags
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *judgeCheckCmd) Validate() error {
	check := func(name string, v *float64) error {
		if v != nil && !(*v >= 0 && *v <= 1) {
			return fmt.Errorf("%s %v: must be from 0 to 1", name, *v)
		}
		return nil
	}
	switch {
	case c.Wrong != "" && c.Result == "":
		return errors.New("--wrong needs --result FILE, whose pass rate is corrected")
	case c.Wrong != "" && (c.Labels != "" || c.MinKappa != nil):
		return errors.New("--wrong excludes --labels and --min-kappa: its answers have no right ones")
	case c.Wrong == "" && c.Labels == "":
		return errors.New("--labels is missing: give a file of answers with labels, or --wrong FILE and --result FILE")
	case c.Wrong == "" && c.Judge == "":
		return errors.New("--judge is missing: give a model, or set SVC_EVAL_JUDGE_MODEL")
	}
	return errors.Join(check("--min-kappa", c.MinKappa), check("--min-specificity", c.MinSpecificity), c.validateJudging(), c.validateMoney(replayCap))
}

// Run judges the answers. It checks all that needs no money first.
func (c *judgeCheckCmd) Run(ctx context.Context, p *process) error {
	if c.Wrong != "" {
		return c.given(p)
	}
	plan, of, err := judging.OpenCheck(judging.CheckSpec{
		Judge: c.Judge, Env: p.env, Prompts: c.JudgePrompts, Result: c.Result, Patience: c.JudgePatience,
		Config: judging.Config{Options: c.asking, Prices: c.money.Prices, PricesDate: c.money.PricesDate, Capped: c.money.Cap != nil,
			Secrets: environ.Secrets(os.Environ())},
	})
	if err != nil {
		return err
	}
	judge, err := plan.Headline(judging.Client{Account: llm.NewAccount(c.money.Cap), MaxUnusable: c.MaxUnusable})
	if err != nil {
		return err
	}
	labels, err := dataset.ReadLabels(c.Labels, judge.Check)
	if err != nil {
		return err
	}
	minimum := judging.Minimum{Kappa: c.MinKappa, Specificity: c.MinSpecificity}
	if err := minimum.CanShow(labels, of != nil); err != nil {
		return err
	}
	text.Labels(newTerminal(p, c.JSON && plan.Free()), c.Labels, plan, labels, c.money.Cap)
	checked, err := plan.Check(ctx, judge, labels)
	if err != nil {
		return err
	}
	if of != nil {
		checked.Result, checked.Correction = c.Result, new(checked.Correct(of))
	}
	if c.JSON {
		err = json.NewEncoder(p.stdout).Encode(checked)
	} else {
		_, err = io.WriteString(p.stdout, text.Judge(checked))
	}
	if err != nil {
		return err
	}
	return minimum.Reached(&checked.Accuracy)
}

// given measures the judge of imported verdicts.
func (c *judgeCheckCmd) given(p *process) error {
	checked, note, err := judging.CheckGiven(c.Wrong, c.Result)
	if err != nil {
		return err
	}
	if note != "" {
		newTerminal(p, c.JSON).Field("note", "%s", note)
	}
	if c.JSON {
		err = json.NewEncoder(p.stdout).Encode(checked)
	} else {
		_, err = io.WriteString(p.stdout, text.GivenJudge(checked))
	}
	if err != nil {
		return err
	}
	return judging.Minimum{Specificity: c.MinSpecificity}.Reached(&checked.Accuracy)
}

// drawFlags say how answers are drawn for labelling.
type drawFlags struct {
	Sample string `default:"random" enum:"random,stratified,disagreement" help:"How answers are drawn: ${enum}. Stratified is by type of question, else by first tag; disagreement needs a result of --judge-panel (${default})."`
	Seed   uint64 `default:"1" placeholder:"N" help:"${about_seed} (${default})."`
}

func (f drawFlags) design() labels.Design {
	return labels.Design{Sample: labels.Sample(f.Sample), Seed: f.Seed}
}

// judgeLabelCmd asks a person for labels.
type judgeLabelCmd struct {
	File     string `arg:"" name:"result" help:"Result file."`
	Labels   string `required:"" placeholder:"FILE" help:"${about_labels}"`
	Size     int    `default:"100" placeholder:"N" help:"Number of answers to label (${default})."`
	Labeller string `placeholder:"NAME" help:"Name that the labels are kept under. Default: the name of the user."`
	drawFlags
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *judgeLabelCmd) Validate() error {
	if c.Size < 1 {
		return fmt.Errorf("--size %d: must be at least 1", c.Size)
	}
	return nil
}

// Run asks about the answers that have no label yet.
func (c *judgeLabelCmd) Run(ctx context.Context, p *process) (err error) {
	if c.Labeller == "" {
		u, err := user.Current()
		if err != nil {
			return fmt.Errorf("the name of the user is not known (%w): give --labeller", err)
		}
		c.Labeller = u.Username
	}
	population, err := labels.Open(c.File, c.design())
	if err != nil {
		return err
	}
	file, err := labels.OpenFile(c.Labels, c.Labeller, c.design())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	t := terminal.New(p.stdout, p.env, false)
	size := min(c.Size, len(population.Answers))
	session := labels.Session{
		Population: population, File: file, Labeller: c.Labeller, Size: size,
		Show: func(number int, a *labels.Answer) { text.Answer(t, number, size, a) },
		Again: func(why string) {
			if why != "" {
				why += "; "
			}
			fmt.Fprintf(t, "%sreply with %s: ", why, labels.Replies)
		},
	}
	if err := session.Run(ctx, p.stdin); err != nil {
		return err
	}
	t.Blank()
	t.Field("labels", "%d of %d in %s", len(file.Labels), size, c.Labels)
	return nil
}

// judgeEstimateCmd estimates pass rates from labels.
type judgeEstimateCmd struct {
	File        string   `arg:"" name:"result" help:"Result file."`
	Other       string   `arg:"" optional:"" name:"other" help:"Second result file, whose difference from the first is estimated."`
	Labels      []string `sep:"none" placeholder:"FILE" help:"${about_labels}"`
	OtherLabels []string `name:"other-labels" sep:"none" placeholder:"FILE" help:"Labels of the second result. Repeatable."`
	Width       *float64 `placeholder:"WIDTH" help:"Only say how many labels a 95 % interval of this width needs, such as 0.05. With --labels, the quality of the judge is what they show."`
	JSON        bool     `name:"json" help:"${about_json}"`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *judgeEstimateCmd) Validate() error {
	switch {
	case (c.Other == "") != (len(c.OtherLabels) == 0):
		return errors.New("a second result needs --other-labels, and these need a second result")
	case c.Width != nil && c.Other != "":
		return errors.New("--width plans the labels of one result: leave out the second one")
	case c.Width == nil && len(c.Labels) == 0:
		return errors.New("--labels is missing: name the file of evalctl judge label, or plan how many labels are needed with --width")
	}
	return nil
}

// Run prints the estimate, the difference of two, or the plan of --width.
func (c *judgeEstimateCmd) Run(p *process) error {
	if c.Width != nil {
		plan, err := labels.PlanFor(c.File, *c.Width, c.Labels...)
		if err != nil {
			return err
		}
		return show(p, c.JSON, plan, func(t *terminal.Terminal) { text.LabelPlan(t, plan) })
	}
	first, list, err := labels.OpenLabelled(c.File, c.Labels...)
	if err != nil {
		return err
	}
	if c.Other == "" {
		e, err := first.Estimate(list)
		if err != nil {
			return err
		}
		return show(p, c.JSON, e, func(t *terminal.Terminal) { text.Estimated(t, e) })
	}
	second, others, err := labels.OpenLabelled(c.Other, c.OtherLabels...)
	if err != nil {
		return err
	}
	d, err := labels.Compare(first, second, list, others)
	if err != nil {
		return err
	}
	return show(p, c.JSON, d, func(t *terminal.Terminal) { text.EstimatedDifference(t, d) })
}
