package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"evalctl/harness"
	"evalctl/internal/stats"
)

// Run evaluates: everything that can be refused is refused first, then the
// daemon is started and seeded, then the questions are asked.
func (c *runCmd) Run(ctx context.Context, p *process) error {
	t := newTerminal(p, c.Quiet)
	plan, err := c.plan(p)
	if err != nil {
		return usageError{err}
	}
	t.plan(c, plan)
	under, err := c.connect(ctx, p, plan)
	if err != nil {
		return brainError(ctx, err)
	}
	t.daemon(under)
	return errors.Join(c.evaluate(ctx, p, t, plan, under), under.close())
}

// evaluate seeds the brain and asks.
func (c *runCmd) evaluate(ctx context.Context, p *process, t *terminal, plan *plan, under *daemonUnderTest) error {
	ctx, stop := under.watch(ctx)
	defer stop()
	journal, err := c.journal(plan, under)
	if err != nil {
		return usageError{err}
	}
	defer journal.Close()
	if under.brain, err = c.fill(ctx, plan, under, journal); err != nil {
		if c.Resume == "" {
			err = errors.Join(err, journal.Remove()) // nothing was asked
		}
		return brainError(ctx, err)
	}
	return c.ask(ctx, p, t, plan, under, journal)
}

// brainError blames the daemon, unless the run was stopped or set up wrongly.
func brainError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.As(err, new(usageError)) {
		return err
	}
	return daemonError{err}
}

// journal starts one, or opens the one to go on with, which must be of the
// same experiment.
func (c *runCmd) journal(plan *plan, under *daemonUnderTest) (*harness.Journal, error) {
	id := c.identity(plan, under)
	if c.Resume != "" {
		j, err := harness.OpenJournal(c.Resume)
		if err != nil {
			return nil, err
		}
		if diff := j.Identity().Differences(id); len(diff) > 0 {
			return nil, errors.Join(differs(c.Resume, diff), j.Close())
		}
		return j, nil
	}
	options, err := json.Marshal(c.options())
	if err != nil {
		return nil, err
	}
	return harness.CreateJournal(plan.dir, id, plan.started, options)
}

func differs(journal string, diff []string) error {
	text := ""
	for _, d := range diff {
		text += "\n  " + d
	}
	return fmt.Errorf("%s belongs to another experiment:%s\nstart a new run without --resume", journal, text)
}

// fill seeds the brain, or makes sure that there is one.
func (c *runCmd) fill(ctx context.Context, plan *plan, under *daemonUnderTest, j *harness.Journal) (string, error) {
	d := harness.Dialect(c.Dialect)
	if plan.corpus == nil {
		return harness.FindBrain(ctx, under.endpoint, c.Brain, d, plan.probe)
	}
	id, err := harness.Seed(ctx, under.endpoint, c.Brain, d, *plan.corpus)
	if errors.Is(err, harness.ErrBrainExists) && c.Resume != "" {
		return harness.FindBrain(ctx, under.endpoint, c.Brain, d, plan.probe)
	}
	return id, err
}

func (c *runCmd) ask(ctx context.Context, p *process, t *terminal, plan *plan, under *daemonUnderTest, j *harness.Journal) error {
	sc, err := plan.newScorer(j.Spent())
	if err != nil {
		return usageError{err}
	}
	progress := t.progress(plan.dataset.Selected)
	res, path, err := harness.Run(ctx, harness.Config{
		Target: &harness.Target{
			Endpoint: under.endpoint, Brain: under.brain, Scenario: c.scenario, Mode: c.Mode,
			TopK: c.TopK, CandidateK: c.CandidateK, RerankTopN: c.RerankTopN, Dialect: harness.Dialect(c.Dialect),
		},
		Dataset: plan.dataset, Scorer: sc, Journal: j,
		Concurrency: c.Concurrency, Timeout: c.Timeout, Watched: under.process != nil,
		Recorded: progress.add,
		Settings: harness.Settings{
			Concurrency: c.Concurrency, TimeoutSeconds: c.Timeout.Seconds(), Floor: c.floor,
			MaxUnscored: c.MaxUnscored, CapUSD: c.budget, UnpricedModel: plan.unpriced,
		},
	})
	progress.done()
	if path == "" {
		return err
	}
	t.report(c, res, progress)
	code := c.verdict(res, err)
	if err := c.printSummary(p, res, path, exitCode(ctx, code)); err != nil {
		return err
	}
	if err != nil {
		t.resumeHint(j.Path())
	}
	return code
}

// verdict is what the result means for the exit code.
func (c *runCmd) verdict(res harness.Result, stopped error) error {
	if stopped != nil {
		return fmt.Errorf("%d of %d questions done, this is not a score: %w", res.Counts.Scored+res.Counts.Errors, res.Planned, stopped)
	}
	n := res.Counts
	if n.Errors == n.Total {
		return daemonError{fmt.Errorf("the daemon answered none of the %d questions; the result file says why for each", n.Total)}
	}
	if lost, most := n.Errors+n.Unscored, c.unscored.of(n.Total); lost > most {
		return unscoredError{fmt.Errorf("%d of %d questions have no score (%d errors, %d unscored), --max-unscored %s allows %d",
			lost, n.Total, n.Errors, n.Unscored, c.MaxUnscored, most)}
	}
	if required := stats.Required(n.Total, c.floor); n.Passed < required {
		return &belowFloorError{passed: n.Passed, required: required, total: n.Total}
	}
	return nil
}

// printSummary writes the only thing that goes to stdout.
func (c *runCmd) printSummary(p *process, res harness.Result, path string, code int) error {
	if !c.JSON {
		_, err := fmt.Fprintln(p.stdout, res.Summary(path))
		return err
	}
	return json.NewEncoder(p.stdout).Encode(map[string]any{
		"sdk": res.SDK, "total": res.Total, "passed": res.Passed, "pass_rate": res.PassRate, "mean_score": res.MeanScore,
		"planned": res.Planned, "errors": res.Counts.Errors, "unscored": res.Counts.Unscored, "stopped": res.Stopped,
		"spent_usd": res.Cost.SpentUSD, "floor": c.floor, "exit_code": code, "result": path,
	})
}

// resultDir is <output>/<date>, the date being that of the run's start in UTC,
// or where the journal lies.
func (c *runCmd) resultDir(started time.Time) string {
	if c.Resume != "" {
		return filepath.Dir(c.Resume)
	}
	return filepath.Join(c.Output, started.Format(time.DateOnly))
}
