package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"evalctl/harness"
	"evalctl/harness/journal"
	"evalctl/harness/pipeline"
	"evalctl/harness/progress"
	"evalctl/harness/report/text"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/harness/target"
	"evalctl/internal/heap"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
)

// Run evaluates. It checks everything that it can before it starts and seeds the daemon and asks
// the questions.
func (c *runCmd) Run(ctx context.Context, p *process) (err error) {
	defer heap.HoldSpare()()
	t := newTerminal(p, c.Quiet)
	end, err := c.openExtern(ctx, p, c.Scorer, c.MaxUnusable, &c.scorer)
	if err != nil {
		return usageError{err}
	}
	defer func() { err = errors.Join(err, end()) }()
	plan, err := c.plan(p)
	if err != nil {
		return usageError{err}
	}
	if err := c.prepare(c.files()...); err != nil {
		return err
	}
	release, err := journal.LockOutput(plan.dir, c.found.Name)
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
	defer func() { err = c.writeProblem(p, t, c.found.Name, err) }()
	printConfigured(t, p)
	text.Inputs(t, c.Dataset, plan.Input)
	printExtern(t, &c.externFlags)
	printJudging(t, c, plan)
	reader := ""
	if c.reader.Provider == llm.ProviderOpenAI && c.scenario.Name.Reads() {
		reader = cmp.Or(c.reader.Name, "a reader of its choice")
	}
	printDaemonPays(t, c.paidModels(p.environment(c.found), c.reader.Provider, reader))
	session, err := c.open(ctx, p, plan)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	progress.Daemon(t, "daemon", session)
	text.PassedOn(t, plan.daemonEnv)
	return c.evaluate(ctx, p, t, plan, session)
}

// evaluate seeds the brains and asks.
func (c *runCmd) evaluate(ctx context.Context, p *process, t *terminal.Terminal, plan *runPlan,
	session *harness.Session) error {
	ctx, stop := session.Watch(ctx)
	defer stop()
	if err := c.checkForeign(usedMapping(session), len(plan.Brains)); err != nil {
		return usageError{err}
	}
	j, err := c.journal(p, plan, session.ID())
	if err != nil {
		return usageError{err}
	}
	defer j.Close()
	brains, err := seed.Brains(ctx, session.Service(), result.Dialect(c.Dialect), unchanging(plan.Brains),
		j.Seeded, j.MarkSeeded)
	asked := c.target(session, brains)
	if err == nil {
		err = c.check(ctx, plan, session, asked, j)
	}
	if err != nil {
		if c.Resume == "" {
			err = errors.Join(err, j.Discard()) // nothing was asked
		}
		return asDaemonError(ctx, err)
	}
	if backup := j.Backup(); backup != "" {
		t.Field("note", "the journal of an earlier run is kept: %s", terminal.CommandLine("evalctl", "run", "--resume", backup))
	}
	config := c.config(plan, session, asked)
	defer c.live(&config, plan, session, asked)()
	config.Notes.OwnQuestions = j.OwnQuestions()
	config.Notes.Baseline = plan.baseline.Against(c.identity(p, plan, session.ID()))
	return c.ask(ctx, p, t, plan, config, j)
}

// check asks a question of evalctl's own, which it records in the journal. It returns an error if
// the daemon's answers cannot be read. The brains that the run has created are removed then, since
// nothing is asked in them.
func (c *runCmd) check(
	ctx context.Context, plan *runPlan, session *harness.Session, asked *target.Target, j *journal.Journal,
) error {
	own, err := asked.Check(ctx, c.Timeout)
	if own.Requests > 0 { // which the daemon has paid for, also if its answer is of no use
		err = errors.Join(err, j.MarkOwn(own))
	}
	if err == nil || c.Resume != "" || session.Started() {
		return err
	}
	for _, b := range plan.Brains {
		if b.Docs == nil {
			continue
		}
		brain := seed.NewBrain(session.Service(), result.Dialect(c.Dialect), b.Name)
		if left := brain.Remove(ctx); left != nil {
			return fmt.Errorf("%w; brain %q was created for this run and could not be removed, "+
				"which must be done before the next try: %w", err, b.Name, left)
		}
	}
	return err
}

// target returns the daemon as the run asks it. brains are the ids at the daemon, by name.
func (c *runCmd) target(session *harness.Session, brains map[string]string) *target.Target {
	return &target.Target{
		Service: session.Service(), Brains: brains, Scenario: c.scenario.Name, Mode: c.Mode,
		TopK: c.TopK, CandidateK: c.CandidateK, RerankTopN: c.RerankTopN,
		MaxPerDocument: c.MaxPerDocument, Dialect: result.Dialect(c.Dialect),
	}
}

// config returns the configuration of the run, without its scorer.
func (c *runCmd) config(plan *runPlan, session *harness.Session, asked *target.Target) harness.Config {
	daemon := harness.Daemon{
		Answerer: asked, Timeout: c.Timeout, TopK: c.TopK, Brains: plan.Brains, Watched: session.Started(),
	}
	config := harness.Config{
		TopK: c.TopK, Dataset: plan.Dataset, Concurrency: c.Concurrency,
		RequireMode: c.requiredMode(), MaxFailures: c.MaxFailures, RetryErrors: c.RetryErrors, KeepForRetry: true,
		Notes: harness.Notes{
			Brains: harness.BrainInfos(plan.Brains), CapUSD: c.budget, Warnings: plan.Gold.Warnings,
			ReaderPrices: c.readerPrices(),
			Settings: c.settings(result.Settings{
				Concurrency: c.Concurrency, TimeoutSeconds: c.Timeout.Seconds(), ClusterTag: c.Cluster,
				DaemonEnv: plan.daemonEnv,
			}),
		},
	}
	session.Ask(&config, daemon)
	if plan.judging != nil {
		config.Paid, config.Notes.UnpricedModel = true, plan.judging.UnpricedModel()
		config.Notes.PricesDate = plan.judging.PricesDate()
	}
	return config
}

// reopen opens the journal of --resume. It compares the experiments as far as that is possible
// before the daemon runs.
func (c *runCmd) reopen(p *process, plan *runPlan) (*journal.Journal, error) {
	j, err := journal.Open(c.Resume)
	if err != nil {
		return nil, err
	}
	if err := c.anythingToResume(j); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	daemon := plan.daemon
	daemon.Version = j.Identity().Daemon.Version
	daemon = sameMapping(daemon, j.Identity().Daemon)
	if err := c.sameRun(j, c.identity(p, plan, daemon)); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// journal creates the run's journal, or returns the resumed one if the daemon is the same.
func (c *runCmd) journal(p *process, plan *runPlan, daemon result.DaemonID) (*journal.Journal, error) {
	id := c.identity(p, plan, daemon)
	if plan.resumed != nil {
		return plan.resumed, c.sameRun(plan.resumed, id)
	}
	flags, err := c.options()
	if err != nil {
		return nil, err
	}
	options, err := json.Marshal(flags)
	if err != nil {
		return nil, err
	}
	return journal.Create(plan.dir, id, plan.started, options)
}

// sameRun returns an error that lists the differences between the journal's run and this one.
func (c *runCmd) sameRun(j *journal.Journal, id result.Identity) error {
	diff := j.Identity().Differences(id)
	if len(diff) == 0 {
		return nil
	}
	text := ""
	for _, d := range diff {
		text += "\n  " + d
	}
	return fmt.Errorf("%s belongs to another experiment:%s\nstart a new run without --resume",
		c.Resume, text)
}

// ask asks the questions and reports the result. The error determines the exit code.
func (c *runCmd) ask(ctx context.Context, p *process, t *terminal.Terminal, plan *runPlan,
	config harness.Config, j *journal.Journal) (err error) {
	sc, err := c.newScorer(plan, j.Spent())
	if err != nil {
		return usageError{err}
	}
	config.Scorer = pipeline.Grader{Scorer: sc}
	finished := j.Finished()
	if c.RetryErrors {
		finished -= j.Outages()
	}
	progress := progress.NewQuestions(t, plan.Dataset.Planned(), finished)
	progress.Unpriced = config.Notes.UnpricedModel != ""
	config.Observer = progress
	res, path, err := harness.Run(ctx, config, j)
	progress.Done()
	if path == "" {
		printResumeAfterDisk(t, err, terminal.CommandLine("evalctl", "run", "--resume", j.Path()))
		return err
	}
	text.Run(t, res, text.ReadFailures(t, path, text.ListedFailures), len(plan.Gold.Warnings), path, c.Verbose)
	verdict := c.writeArm(p, t, c.found.Name, path, err, verdict(*res.Gate, err))
	if err := printSummary(p, c.JSON, res, path, exitCode(ctx, verdict)); err != nil {
		return err
	}
	printResumeHint(t, c, j, res, err)
	return verdict
}

// verdict returns the error with which a run ends, nil if it passed. failed is what stopped the
// run, or what went wrong after its last question.
func verdict(g result.Gate, failed error) error {
	switch {
	case g.Stopped != "", g.Reason == result.ReasonControls:
		return &verdictError{gate: g, cause: failed}
	case failed != nil || g.Verdict == result.Pass:
		return failed
	}
	return &verdictError{gate: g}
}

// spentUSD returns what a run cost, nil if the price of its judge is not known.
func spentUSD(res result.Result) *llm.USD {
	if res.Cost.UnpricedModel != "" {
		return nil
	}
	return &res.Cost.SpentUSD
}

// printSummary writes the only thing that goes to stdout: the summary line, or the same as JSON.
func printSummary(p *process, asJSON bool, res result.Result, path string, code int) error {
	if !asJSON {
		_, err := fmt.Fprintln(p.stdout, terminal.Line(res.Summary(path)))
		return err
	}
	own, latest := resultNames(path)
	return json.NewEncoder(p.stdout).Encode(map[string]any{
		"sdk": res.SDK, "total": res.Total, "passed": res.Passed, "pass_rate": res.PassRate, "mean_score": res.MeanScore,
		"pass_rate_interval": res.Interval, "clustered": res.Clustered, "repeats": res.Repeats, "tags": res.Tags, "checks": res.Checks,
		"latency": res.Latency, "felt": res.Felt, "first_delta": res.FirstDelta, "scored": res.Counts.Scored,
		"planned": res.Planned, "first_try_rate": res.FirstTryRate, "errors": res.Counts.Errors, "unscored": res.Counts.Unscored, "no_gold": res.Counts.NoGold, "not_measurable": res.Counts.NotMeasurable, "stopped": res.Stopped, "selection": res.Identity.Dataset.Selection,
		"spent_usd": spentUSD(res), "may_have_been_charged_usd": res.Cost.MayHaveBeenChargedUSD, "floor": res.Gate.Floor, "exit_code": code,
		"result": own, "latest": latest, "gate": res.Gate,
	})
}

// resultNames returns the own name of the result file at path, and <sdk>.json if that is the same
// file, else nil.
func resultNames(path string) (own string, latest any) {
	own, name := journal.Names(path)
	if name == "" {
		return own, nil
	}
	return own, name
}
