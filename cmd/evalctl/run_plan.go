package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/judging"
	"evalctl/harness/plan"
	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// runPlan is a run or sweep that has been checked and not started.
type runPlan struct {
	started time.Time
	dir     string
	session harness.SessionConfig
	// daemon identifies the daemon, without its version.
	daemon result.DaemonID
	// daemonEnv is nil if a started daemon gets all variables.
	daemonEnv *result.DaemonEnv
	// resumed is the open journal of --resume.
	resumed *journal.Journal

	dataset.Input
	// baseline is nil without --baseline.
	baseline *plan.Baseline
	// judging is nil for a scorer that asks no model, which costs nothing.
	judging *judging.Plan
	// estimate is what judging all questions is likely to cost.
	estimate judging.Forecast
}

// plan checks everything that needs no daemon, so that bad input costs neither time nor money.
func (c *runCmd) plan(p *process) (pl *runPlan, err error) {
	if c.typed["margin"] && c.Baseline == "" {
		return nil, errors.New("--margin has no effect without --baseline; add --baseline FILE, or leave --margin out")
	}
	c.isolated = c.Isolated
	if pl, err = c.targetFlags.plan(p); err != nil {
		return nil, err
	}
	p = p.environment(c.found)
	if err := c.findModels(p); err != nil {
		return nil, err
	}
	if c.Resume != "" {
		pl.dir = filepath.Dir(c.Resume)
	}
	pl.session.Profile.Env = slices.Concat(c.readerEnv(p), c.found.Profile.Env)
	apply(c.found.Settings, &c.Mode, &c.Dialect)
	if err := c.withholdInRun(p, pl); err != nil {
		return nil, err
	}
	if err := c.checkReader(p); err != nil {
		return nil, err
	}
	if c.scorer.Offline == nil {
		if pl.judging, err = c.planJudging(p, c.scorer); err != nil {
			return nil, err
		}
	}
	sc, err := c.newScorer(pl, 0)
	if err != nil {
		return nil, err
	}
	input, err := c.input(c.scenario.Check)
	if err == nil {
		pl.Input, err = dataset.LoadFor(input, c.scorer, sc.Check)
	}
	if err != nil {
		return nil, err
	}
	if err := checkTagFloors(c.tagFloors, pl.Dataset.Tags); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Dataset, err)
	}
	if pl.judging == nil && c.scorer.Prompts != nil {
		if err := c.planCriteria(p, pl); err != nil {
			return nil, err
		}
	}
	if err := pl.estimateJudging(); err != nil {
		return nil, err
	}
	if pl.baseline, err = plan.OpenBaseline(c.Baseline, c.margin, c.identity(p, pl, pl.daemon)); err != nil {
		return nil, err
	}
	return pl, cmp.Or(c.checkForeign(mappingOf(pl.session), len(pl.Brains)), pl.CheckGoldFor(c.scorer, c.TopK))
}

// planCriteria opens the judge's model if a question needs it, for a scorer that asks it only about
// some.
func (c *runCmd) planCriteria(p *process, pl *runPlan) error {
	for q, err := range pl.Dataset.Questions() {
		if err != nil {
			return err
		}
		if c.scorer.Asks(q.Item()) > 0 {
			pl.judging, err = c.planJudging(p, c.scorer)
			return err
		}
	}
	return nil
}

// estimateJudging adds up what judging the questions is likely to cost, repeats included.
func (pl *runPlan) estimateJudging() error {
	if pl.judging == nil {
		return nil
	}
	for q, err := range pl.Dataset.Questions() {
		if err != nil {
			return err
		}
		pl.estimate.Add(pl.judging, judging.Longest(q.Item()))
	}
	pl.estimate = pl.estimate.Times(pl.Dataset.Planned() / pl.Dataset.Selected)
	return nil
}

// checkReader returns an error for a reader that this program's own daemon could not open. Other
// daemons may interpret their environment differently.
func (c *runCmd) checkReader(p *process) error {
	if c.reader.Provider == "" || !c.ownDaemon() || !c.scenario.Name.Reads() {
		return nil
	}
	if _, err := llm.Open(c.reader.Config(p.env)); err != nil {
		return fmt.Errorf("reader: %w", err)
	}
	return nil
}
