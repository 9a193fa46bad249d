package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/alecthomas/kong"

	"evalctl/harness"
	"evalctl/harness/account"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/plan"
	"evalctl/harness/progress"
	"evalctl/harness/project"
	"evalctl/harness/report"
	"evalctl/harness/report/text"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/heap"
	"evalctl/internal/terminal"
)

// Run evaluates each target. The comparison of several is printed last.
func (c *runCmd) Run(ctx context.Context, p *process) error {
	defer heap.HoldSpare()()
	if len(c.Target) > 1 {
		return c.runSeveral(ctx, p)
	}
	return c.runOne(ctx, p)
}

// runOne evaluates the first target. It checks everything that it can before it starts and seeds
// the daemon and asks the questions.
func (c *runCmd) runOne(ctx context.Context, p *process) (err error) {
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
	if err := c.prepare(filesOf(&c.KeptFlags)...); err != nil {
		return err
	}
	release, err := journal.LockOutput(r.Dir, r.Found.Name)
	if err != nil {
		return err
	}
	defer release()
	var resumed *journal.Journal
	if c.Resume != "" {
		if resumed, err = r.Reopen(); err != nil {
			return err
		}
		defer resumed.Close()
	}
	left, err := r.Left(resumed)
	if err != nil {
		return err
	}
	account, err := r.OpenAccount(resumed)
	if err != nil {
		return err
	}
	if c.several != nil {
		defer func() { c.several.spent += account.Spent() }() // after Close, which charges open requests
	}
	defer func() { err = errors.Join(err, account.Close()) }()
	defer func() { err = c.writeProblem(p, t, r.Found.Name, err) }()
	if r.Baseline != nil && r.Baseline.Accepted != "" {
		fmt.Fprintf(t, "  %s\n", terminal.Line(r.Baseline.Accepted))
	}
	printConfigured(t, p)
	if resumed != nil {
		text.Unchained(t, resumed.Path(), resumed.Unchained())
	}
	text.Inputs(t, c.Dataset, r.Input)
	text.Scorer(t, c.externID())
	printJudging(t, c, r, left, account.Spent())
	printDaemonPays(t, r.Plan, c.money)
	session, err := openDaemon(ctx, t, r.Plan)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeDaemon(t, session, c.reported)) }()
	passed := text.PassedOn(r.Calls.DaemonEnv)
	passed.Text(t)
	text.Hint(t, r.Hint)
	return c.evaluate(ctx, p, t, r, session, account, resumed)
}

// closeDaemon stops the daemon of a session that has started it, and prints what it had left
// behind, unless that was reported, or that it is not known.
func closeDaemon(t *terminal.Terminal, session *harness.Session, reported bool) error {
	err := session.Close()
	if left := session.Escaped(); session.Started() && (left == nil || !reported) {
		text.Escaped(t, left)
	}
	return err
}

// plan checks everything that needs no daemon.
func (c *runCmd) plan(p *process) (*plan.Run, error) {
	if c.Typed("margin") && c.Baseline == "" {
		return nil, errors.New("--margin has no effect without --baseline; add --baseline FILE, or leave --margin out")
	}
	// The journal of one of several targets may have it too.
	if c.Typed("accept") && c.Baseline == "" && c.several == nil {
		return nil, errAccept
	}
	if err := c.validateTyped(c.Typed); err != nil {
		return nil, err
	}
	settings, err := c.settings(result.Settings{}, &c.KeptFlags)
	if err != nil {
		return nil, err
	}
	family, err := c.familyFloor(settings)
	if err != nil {
		return nil, err
	}
	of, err := c.spec(p)
	if err != nil {
		return nil, err
	}
	of.Questions.Isolated = c.Isolated
	c.money.CapOptions = c.capOptions(c.Typed("max-cost-usd"))
	r, err := plan.NewRun(of, plan.RunSpec{
		Models: c.models(c.money), Scenario: c.scenario, Mode: c.Mode, RequireMode: c.RequireMode,
		TopK: c.TopK, CandidateK: c.CandidateK, RerankTopN: c.RerankTopN, MaxPerDocument: c.MaxPerDocument,
		Scorer: c.scorer, ExactCase: c.ExactCase, External: c.externID(),
		Gate: settings, FamilyFloor: family, MaxFailures: c.MaxFailures, Baseline: c.Baseline, Margin: c.margin, Accept: c.Accept,
		Resume: c.Resume, RetryErrors: c.RetryErrors,
	})
	if err != nil {
		return nil, err
	}
	c.fixed = r.Questions.Selection.Fixed()
	return r, nil
}

// openDaemon starts the daemon of a plan, or reaches it.
func openDaemon(ctx context.Context, t *terminal.Terminal, pl *plan.Plan) (*harness.Session, error) {
	if err := pl.Place(); err != nil {
		return nil, err
	}
	session, err := harness.Open(ctx, pl.Session)
	if err != nil {
		return nil, asDaemonError(ctx, err)
	}
	progress.Daemon(t, "daemon", session)
	return session, nil
}

// printDaemonPays says which models the daemon of a plan calls, and who counts what they cost.
func printDaemonPays(t *terminal.Terminal, pl *plan.Plan, m plan.Money) {
	notCounted := pl.Calls.NotCounted(pl.Found.Name)
	if m.Cap != nil {
		notCounted = pl.NotCounted()
	}
	var models []string
	for _, known := range pl.Calls.Known() {
		models = append(models, known.Model)
	}
	text.DaemonPays(t, models, m.Cap != nil, notCounted)
}

// asDaemonError marks the error of a daemon that cannot be used. The end of ctx and a missing home
// keep their own exit codes.
func asDaemonError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, harness.ErrHome):
		return err
	}
	return daemonError{err}
}

// evaluate asks the questions of a healthy daemon and reports the result. The error determines the
// exit code.
func (c *runCmd) evaluate(ctx context.Context, p *process, t *terminal.Terminal, r *plan.Run,
	session *harness.Session, account *account.Account, resumed *journal.Journal) error {
	alive, stop := session.Watch(ctx)
	defer stop()
	watched, stop := account.Watch(alive)
	defer stop()
	options, err := project.KeptJSON(c.options())
	if err != nil {
		return err
	}
	e, err := r.Begin(session, account, resumed, options)
	if err != nil {
		return err
	}
	j := e.Journal
	defer j.Close()
	if err := e.Prepare(watched); err != nil {
		return asDaemonError(watched, err)
	}
	if backup := j.Backup(); backup != "" {
		t.Field("note", "the journal of an earlier run is kept: %s", terminal.CommandLine("evalctl", "run", "--resume", backup))
	}
	finished := j.Finished()
	if c.RetryErrors {
		finished -= j.Outages()
	}
	progress := progress.NewQuestions(t, r.Dataset.Planned(), finished)
	progress.Unpriced = r.Judging != nil && r.Judging.UnpricedModel() != ""
	res, path, err := e.Ask(watched, progress)
	progress.Done()
	if kept := c.several.keep(account, err); kept != nil {
		err = errors.Join(err, kept)
	}
	if path == "" {
		printResumeAfterDisk(t, err, terminal.CommandLine("evalctl", "run", "--resume", j.Path()))
		if storageFailed(err) {
			c.noteSharedCap(t)
		}
		return err
	}
	c.reported = true
	run := &report.Run{Path: path, Result: res, Failures: report.ReadFailures(t, path, report.ListedFailures), Warned: len(r.Gold.Warnings), Verbose: c.Verbose}
	if c.several != nil {
		c.several.path = path
	} else {
		report.Text(t, run)
	}
	ended := verdict(*res.Gate, err)
	if v, ok := errors.AsType[*verdictError](ended); ok && v.cause == nil {
		v.cause = firstFailure(path, v.gate.Reason)
	}
	if c.several == nil {
		ended = c.writeArm(p, t, r.Found.Name, path, err, ended)
	}
	if err := printSummary(p, c.JSON, res, path, exitCode(ctx, ended)); err != nil {
		return err
	}
	next := printResumeHint(t, c, j, res, err)
	if c.several == nil {
		report.Closing(t, run, next)
	}
	return ended
}

// verdict returns the error with which a run ends, nil if it passed or was measured. failed is what
// stopped the run, or what went wrong after its last question.
func verdict(g result.Gate, failed error) error {
	switch {
	case g.Stopped != "", g.Reason == result.ReasonControls:
		return &verdictError{gate: g, cause: failed}
	case failed != nil || g.Verdict.Good():
		return failed
	}
	return &verdictError{gate: g}
}

// printSummary writes the only thing that goes to stdout: the summary line, or the same as JSON.
func printSummary(p *process, asJSON bool, res result.Result, path string, code int) error {
	if !asJSON {
		_, err := fmt.Fprintln(p.stdout, terminal.Line(wording.Summary(&res, path)))
		return err
	}
	own, latest := journal.Names(path)
	return json.NewEncoder(p.stdout).Encode(report.Summary(res, own, latest, code))
}

// options returns the values of all flags not in project.NotKept, for journalOptions to read.
// Only the cap is inherited from the environment.
func (c *runCmd) options() (map[string]any, error) {
	options, err := c.Keep(c.addPaths(map[string]string{
		"dataset": c.Dataset, "corpus": corpusPath(c.Corpus), "failed-of": c.FailedOf, "baseline": c.Baseline,
		"judge-cache": c.JudgeCache, "prices": c.Prices,
	}))
	if c.fixed != nil {
		// Files of ids may be gone or changed when the run is resumed.
		delete(options, "failed-of")
		options["ids"] = c.fixed
	}
	c.keepFloor(options, &c.KeptFlags)
	switch {
	case err != nil:
	case c.several != nil && c.money.Cap != nil:
		options["max-cost-usd"] = c.MaxCostUSD // what the targets before have left, whatever the variable has
	default:
		c.keepCap(options, c.Given("max-cost-usd"))
	}
	return options, err
}

// corpusPath returns the path of a --corpus, empty for none.
func corpusPath(corpus string) string {
	if corpus == dataset.NoCorpus {
		return ""
	}
	return corpus
}

// journalOptions returns a resolver for the flags of the run that wrote the journal.
func (c *runCmd) journalOptions(p *process) (kong.Resolver, error) {
	j, err := journal.Open(c.Resume)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	options := map[string]any{}
	if err := json.Unmarshal(j.Options(), &options); err != nil {
		return nil, fmt.Errorf("%s: options of the run: %w", c.Resume, err)
	}
	kept, last, err := account.Config{Dir: filepath.Dir(j.Path()), Name: j.Identity().SDK, Started: j.StartedAt()}.Kept()
	if err == nil && kept != nil {
		err = json.Unmarshal(kept, &options)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: ledger of the run: %w", c.Resume, err)
	}
	inheritCap(options, last, p.env)
	return project.Reopened("run", options), nil
}

// printResumeHint prints how to resume a run that stopped, or to repair one that finished, and returns
// the command.
func printResumeHint(t *terminal.Terminal, c *runCmd, j *journal.Journal, res result.Result, stopped error) string {
	judge := "judge"
	if c.external != nil {
		judge = "scorer"
	}
	unjudged := j.Unjudged()
	limit := c.money.Cap
	if c.several != nil {
		limit = nil // see noteSharedCap
	}
	next := text.Resume(t, text.Resumption{
		Command: terminal.CommandLine("evalctl", "run", "--resume", j.Path()), Judge: judge,
		Stopped: res.Stopped, Storage: storageFailed(stopped),
		Unasked: res.Planned - j.Finished() - unjudged, Unjudged: unjudged, Failed: j.Outages(),
		Cost: res.Cost, Limit: limit, Free: c.scorer.Offline != nil,
	})
	if next != "" {
		c.noteSharedCap(t)
	}
	return next
}

// noteSharedCap says which of several targets can be resumed without a cap of its own.
func (c *runCmd) noteSharedCap(t *terminal.Terminal) {
	if c.several != nil && c.several.cap != nil {
		t.Field("", "what all targets leave of the cap is for the last one that stopped; add --max-cost-usd to resume another one")
	}
}

// continuing returns how a stopped command is continued, see text.Continuing.
func continuing(stopped error, judge string) (how, more string) {
	return text.Continuing(harness.StopReason(stopped), storageFailed(stopped), judge)
}

// printResumeAfterDisk says how a run is continued whose journal or result the disk did not take.
func printResumeAfterDisk(t *terminal.Terminal, err error, how string) {
	if storageFailed(err) {
		t.Field("resume", "no results are lost; once the files can be written, continue with: %s", how)
	}
}
