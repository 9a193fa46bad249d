package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"evalctl/harness/account"
	"evalctl/harness/extern"
	"evalctl/harness/journal"
	"evalctl/harness/plan"
	"evalctl/harness/progress"
	"evalctl/harness/project"
	"evalctl/harness/report"
	"evalctl/harness/report/text"
	"evalctl/harness/rescore"
	"evalctl/harness/result"
	"evalctl/internal/environ"
	"evalctl/internal/terminal"
	"evalctl/scorer"
)

// rescoreCmd scores stored answers again.
type rescoreCmd struct {
	File    string     `arg:"" name:"file" help:"Result file of run."`
	Scorer  scorerText `required:"" placeholder:"SCORER" help:"${about_scorer}."`
	Dataset string     `placeholder:"FILE" help:"${about_dataset}"`
	exactFlag
	judgeFlags `set:"about_model=Model that judges, if --judge names none. Provider: openai, ollama or fake; default: SVC_LLM_PROVIDER, else openai."`
	externFlags
	moneyFlags `set:"default_cap=off"`
	gateFlags  `set:"default_floor=0.90"`
	project.KeptFlags
	Concurrency int  `default:"4" placeholder:"N" help:"${about_concurrency} (${default})."`
	Resume      bool `name:"continue" aliases:"resume" help:"Continue this rescoring after it was stopped, with its journal."`
	Quiet       bool `help:"${about_quiet}"`
	JSON        bool `help:"${about_json}"`

	scorer scorer.Kind
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *rescoreCmd) Validate() (err error) {
	if c.Scorer == "" {
		return errors.New("--scorer is missing: say how the answers are scored")
	}
	if c.scorer, err = extern.Find(string(c.Scorer)); err != nil {
		return err
	}
	if c.Concurrency < 1 || c.Concurrency > maxConcurrency {
		return fmt.Errorf("--concurrency %d: must be from 1 to %d", c.Concurrency, maxConcurrency)
	}
	return errors.Join(c.validateExtern(c.Scorer), c.validateExact(c.scorer), c.validateGate(), c.validatePanel(c.scorer), c.validateJudge(), c.validateMoney(noCap))
}

// Run scores the answers. It checks all that needs no money first.
func (c *rescoreCmd) Run(ctx context.Context, p *process) (err error) {
	t := newTerminal(p, c.Quiet)
	end, err := c.openExtern(ctx, p, c.Scorer, c.MaxUnusable, &c.scorer)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	r, err := c.plan(p)
	if err != nil {
		return err
	}
	release, err := journal.LockOutput(r.Dir, r.Name)
	if err != nil {
		return err
	}
	defer release()
	j, err := r.Journal(c.Resume)
	if err != nil {
		return err
	}
	defer j.Close()
	account, err := r.OpenAccount(j, c.Resume)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, account.Close()) }()
	text.Unchained(t, j.Path(), j.Unchained())
	text.Answers(t, c.File, &r.Stored.Result, c.Dataset)
	text.Scorer(t, c.externID())
	if r.Judging != nil {
		left, err := r.Left(j)
		if err != nil {
			return err
		}
		text.Judging(t, left, r.Judging, c.money.Cap, account.Spent(), "use a cheaper judge")
	}
	return c.score(ctx, p, t, r, account, j)
}

// plan reads the file and checks that its answers can be scored.
func (c *rescoreCmd) plan(p *process) (*rescore.Rescoring, error) {
	r, err := rescore.Plan(rescore.Spec{
		Secrets: environ.Secrets(os.Environ()),
		File:    c.File, Dataset: c.Dataset, Scorer: c.scorer, ExactCase: c.ExactCase, External: c.externID(),
		Tool:   toolID(),
		Models: c.models(c.money), Env: p.env,
	})
	if err != nil {
		return nil, err
	}
	return r, plan.CheckTagFloors(c.tagFloors, r.Identity.Dataset.Tags)
}

// gateTags adds the stored run's rules about families and tags: that nothing may leak, and their
// floors, except where s has a floor already. It adds none if s has no floor at all.
func gateTags(s *result.Settings, was result.Settings) {
	if s.FloorFrom == result.FloorNone {
		return
	}
	s.NoLeaks = was.NoLeaks
	floors := maps.Clone(s.TagFloors)
	for tag, floor := range was.TagFloors {
		if _, own := floors[tag]; own {
			continue
		}
		if floors == nil {
			floors = map[string]float64{}
		}
		if floors[tag] = floor; slices.Contains(was.Families, tag) {
			s.Families = append(s.Families, tag)
		}
	}
	slices.Sort(s.Families)
	s.TagFloors = floors
}

// score scores the answers and reports the result. The error determines the exit code.
func (c *rescoreCmd) score(ctx context.Context, p *process, t *terminal.Terminal, r *rescore.Rescoring, a *account.Account, j *journal.Journal) (err error) {
	progress := progress.NewQuestions(t, r.Data.Planned(), j.Finished())
	progress.Unpriced = r.Judging != nil && r.Judging.UnpricedModel() != ""
	settings, err := c.settings(result.Settings{Concurrency: c.Concurrency}, &c.KeptFlags)
	if err != nil {
		return err
	}
	gateTags(&settings, r.Stored.Result.Settings)
	res, path, err := r.Run(ctx, settings, a, progress, j)
	progress.Done()
	if path == "" {
		printResumeAfterDisk(t, err, continueRescore)
		return err
	}
	run := &report.Run{Path: path, Result: res, Failures: report.ReadFailures(t, path, report.ListedFailures)}
	report.Text(t, run)
	verdict := verdict(*res.Gate, err)
	if err := printSummary(p, c.JSON, res, path, exitCode(ctx, verdict)); err != nil {
		return err
	}
	report.Closing(t, run, c.printResume(t, res.Stopped))
	return verdict
}

// continueRescore says how a rescoring is continued, whose command is not recorded.
const continueRescore = "the same command and --continue"

// printResume prints how to continue a rescoring that stopped, and returns the command, empty
// for one that did not.
func (c *rescoreCmd) printResume(t *terminal.Terminal, stopped result.Stop) (next string) {
	if stopped == "" {
		return ""
	}
	judge := "judge"
	if c.external != nil {
		judge = "scorer"
	}
	how, more := text.Continuing(stopped, false, judge)
	if stopped != result.StopBudget {
		more = "" // a flag that only run has
	}
	t.Field("resume", "no verdicts are lost; %s %s", how, continueRescore+more)
	return continueRescore + more
}
