package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"evalctl/harness/dataset"
	"evalctl/harness/judging"
	"evalctl/harness/report/text"
)

// judgeCmd has the commands about judges.
type judgeCmd struct {
	Check    judgeCheckCmd    `cmd:"" help:"Measure how often a judge is right, on answers with labels."`
	Label    judgeLabelCmd    `cmd:"" help:"Label answers that are drawn at random, verdicts hidden."`
	Estimate judgeEstimateCmd `cmd:"" help:"Estimate pass rates in the terms of labellers."`
	Plan     judgePlanCmd     `cmd:"" help:"Say how many labels an interval needs."`
}

// judgeCheckCmd has the flags of evalctl judge check.
type judgeCheckCmd struct {
	Labels         string   `required:"" placeholder:"FILE" help:"JSONL file of answers with labels."`
	Judge          string   `required:"" env:"SVC_EVAL_JUDGE_MODEL" placeholder:"[PROVIDER/]MODEL" help:"Model that judges. The provider is openai, ollama or fake; default: SVC_LLM_PROVIDER, else openai."`
	JudgePrompts   string   `name:"judge-prompts" placeholder:"DIR" help:"Folder with instructions of your own: TYPE.txt for each type of question to replace."`
	Result         string   `placeholder:"FILE" help:"Result file whose pass rate is corrected. It must be by the same judge with the same prompts."`
	JSON           bool     `name:"json" help:"Print the figures as one JSON object."`
	MinKappa       *float64 `name:"min-kappa" placeholder:"K" help:"Least kappa, 0 to 1. Below it the exit code is 1."`
	MinSpecificity *float64 `name:"min-specificity" placeholder:"RATE" help:"Least share of the wrong answers that the judge fails, 0 to 1. Below it the exit code is 1."`
	moneyFlags
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *judgeCheckCmd) Validate() error {
	check := func(name string, v *float64) error {
		if v != nil && !(*v >= 0 && *v <= 1) {
			return fmt.Errorf("%s %v: must be from 0 to 1", name, *v)
		}
		return nil
	}
	return errors.Join(check("--min-kappa", c.MinKappa), check("--min-specificity", c.MinSpecificity), c.validateMoney())
}

// Run judges the answers. It checks all that needs no money first.
func (c *judgeCheckCmd) Run(ctx context.Context, p *process) error {
	plan, of, err := judging.OpenCheck(judging.CheckSpec{
		Judge: c.Judge, Env: p.env, Prompts: c.JudgePrompts, Result: c.Result,
		Config: judging.Config{Prices: c.prices, PricesDate: c.pricesDate, Cap: c.limit, MaxUnusable: c.MaxUnusable},
	})
	if err != nil {
		return err
	}
	judge, err := plan.NewScorer(0)
	if err != nil {
		return err
	}
	labels, err := dataset.ReadLabels(c.Labels, judge.Check)
	if err != nil {
		return err
	}
	minimum := judging.Minimum{Kappa: c.MinKappa, Specificity: c.MinSpecificity}
	if err := minimum.CanShow(labels); err != nil {
		return err
	}
	text.Labels(newTerminal(p, c.JSON && plan.Free()), c.Labels, plan, labels, c.limit)
	checked, err := plan.Check(ctx, judge, labels)
	if err != nil {
		return err
	}
	if of != nil {
		checked.Result, checked.Correction = c.Result, new(checked.Correct(of.Counts))
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
