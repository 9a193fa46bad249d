package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"evalctl/harness"
	"evalctl/harness/journal"
	"evalctl/harness/launch"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/harness/target"
)

// Run evaluates: everything that can be refused is refused first, then the
// daemon is started and seeded, then the questions are asked.
func (c *runCmd) Run(ctx context.Context, p *process) (err error) {
	t := newTerminal(p, c.Quiet)
	plan, err := c.plan(p)
	if err != nil {
		return usageError{err}
	}
	release, err := journal.LockOutput(plan.dir, c.SDK)
	if err != nil {
		return usageError{err}
	}
	defer release()
	if c.Resume != "" {
		if plan.resumed, err = c.reopen(p, plan); err != nil {
			return usageError{err}
		}
		defer plan.resumed.Close()
	}
	t.inputs(c.Dataset, plan)
	t.judging(c, plan)
	under, err := c.connect(ctx, p, plan)
	if err != nil {
		return brainError(ctx, err)
	}
	defer func() { err = errors.Join(err, under.close()) }()
	t.daemon(under)
	return c.evaluate(ctx, p, t, plan, under)
}

// evaluate seeds the brain and asks.
func (c *runCmd) evaluate(ctx context.Context, p *process, t *terminal, plan *plan, under *daemonUnderTest) error {
	ctx, stop := under.watch(ctx)
	defer stop()
	j, err := c.journal(p, plan, under)
	if err != nil {
		return usageError{err}
	}
	defer j.Close()
	under.brains, err = seed.Brains(ctx, under.endpoint, result.Dialect(c.Dialect), plan.brains, j.Seeded, j.MarkSeeded)
	if err != nil {
		if c.Resume == "" {
			err = errors.Join(err, j.Discard()) // nothing was asked
		}
		return brainError(ctx, err)
	}
	if backup := j.Backup(); backup != "" {
		t.field("note", "the journal of a run that did not finish is kept: evalctl run --resume %s", backup)
	}
	return c.ask(ctx, p, t, plan, under, j)
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

// reopen opens the journal to go on with. What is known before the daemon runs
// must be of the same experiment already.
func (c *runCmd) reopen(p *process, plan *plan) (*journal.Journal, error) {
	j, err := journal.Open(c.Resume)
	if err != nil {
		return nil, err
	}
	expected := &daemonUnderTest{}
	if plan.endpoint != nil {
		expected.id.Endpoint = plan.endpoint.URL()
	} else {
		expected.id, expected.process = c.startedID(p, plan), new(launch.Daemon)
	}
	expected.id.Version = j.Identity().Daemon.Version
	if err := c.sameRun(j, c.identity(p, plan, expected)); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// journal starts one, or goes on with the one that was opened, now that the
// daemon has told its version.
func (c *runCmd) journal(p *process, plan *plan, under *daemonUnderTest) (*journal.Journal, error) {
	id := c.identity(p, plan, under)
	if plan.resumed != nil {
		return plan.resumed, c.sameRun(plan.resumed, id)
	}
	told, err := c.options()
	if err != nil {
		return nil, err
	}
	options, err := json.Marshal(told)
	if err != nil {
		return nil, err
	}
	return journal.Create(plan.dir, id, plan.started, options)
}

func (c *runCmd) sameRun(j *journal.Journal, id result.Identity) error {
	diff := j.Identity().Differences(id)
	if len(diff) == 0 {
		return nil
	}
	text := ""
	for _, d := range diff {
		text += "\n  " + d
	}
	return fmt.Errorf("%s belongs to another experiment:%s\nstart a new run without --resume", c.Resume, text)
}

func (c *runCmd) ask(ctx context.Context, p *process, t *terminal, plan *plan, under *daemonUnderTest, j *journal.Journal) error {
	if plan.judge != nil {
		if err := j.ChargeInFlight(plan.worst); err != nil {
			return err
		}
	}
	sc, err := plan.newScorer(j.Spent())
	if err != nil {
		return usageError{err}
	}
	progress := t.progress(plan.dataset.Selected, j.Finished())
	res, path, err := harness.Run(ctx, harness.Config{
		Target: &target.Target{
			Endpoint: under.endpoint, Brains: under.brains, Scenario: c.scenario.Name, Mode: c.Mode,
			TopK: c.TopK, CandidateK: c.CandidateK, RerankTopN: c.RerankTopN, Dialect: result.Dialect(c.Dialect),
		},
		Dataset: plan.dataset, Brains: plan.brains, Scorer: sc, Paid: plan.judge != nil,
		Concurrency: c.Concurrency, Timeout: c.Timeout, Watched: under.process != nil,
		RequireMode: c.requiredMode(), Recorded: progress.add, Warnings: plan.gold.Warnings,
		CapUSD: c.budget, UnpricedModel: plan.unpriced,
		Settings: result.Settings{
			Concurrency: c.Concurrency, TimeoutSeconds: c.Timeout.Seconds(), Floor: c.floor,
			MaxUnscored: c.unscored,
		},
	}, j)
	progress.done()
	if path == "" {
		return err
	}
	t.report(c, plan, res, progress)
	verdict := verdict(res.Gate, err)
	if err := c.printSummary(p, res, path, exitCode(ctx, verdict)); err != nil {
		return err
	}
	if res.Gate.Verdict == result.Inconclusive {
		t.resumeHint(j.Path(), err)
	}
	return verdict
}

// verdict returns the error with which a run ends, nil if it passed. failed is what stopped the
// run, or what went wrong after its last question.
func verdict(g result.Gate, failed error) error {
	switch {
	case g.Verdict == result.Inconclusive:
		return &verdictError{gate: g, cause: failed}
	case failed != nil || g.Verdict == result.Pass:
		return failed
	}
	return &verdictError{gate: g}
}

// printSummary writes the only thing that goes to stdout.
func (c *runCmd) printSummary(p *process, res result.Result, path string, code int) error {
	if !c.JSON {
		_, err := fmt.Fprintln(p.stdout, printable(res.Summary(path), oneLine))
		return err
	}
	return json.NewEncoder(p.stdout).Encode(map[string]any{
		"sdk": res.SDK, "total": res.Total, "passed": res.Passed, "pass_rate": res.PassRate, "mean_score": res.MeanScore,
		"planned": res.Planned, "errors": res.Counts.Errors, "unscored": res.Counts.Unscored, "no_gold": res.Counts.NoGold, "stopped": res.Stopped,
		"spent_usd": res.Cost.SpentUSD, "floor": res.Gate.Floor, "exit_code": code, "result": path, "gate": res.Gate,
	})
}
