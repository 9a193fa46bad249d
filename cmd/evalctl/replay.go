package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"evalctl/harness/compare"
	"evalctl/harness/journal"
	"evalctl/harness/report"
	"evalctl/harness/report/text"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/heap"
	"evalctl/internal/terminal"
	"evalctl/replay"
	"evalctl/replay/display"
)

// Run measures. It checks everything that it can before it starts daemons and spends money.
func (c *replayCmd) Run(ctx context.Context, p *process) (err error) {
	defer heap.HoldSpare()()
	t := newTerminal(p, c.Quiet)
	plan, err := c.plan(ctx, p)
	if err != nil {
		return c.planError(ctx, err)
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	printConfigured(t, p)
	display.Inputs(t, plan)
	text.Scorer(t, c.externID())
	if c.Estimate {
		return display.Estimate(newTerminal(p, false), plan, p.stdout)
	}
	progress := display.New(t, plan)
	store, err := c.store(ctx, p, progress.Notice)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	files, err := plan.Files(ctx, store, c.Resume, c.Output, defaultOutput)
	if err != nil && c.Output != "" {
		err = fmt.Errorf("--output: %w", err)
	}
	if err == nil {
		err = replay.CheckFolder(plan.Cache.Dir)
	}
	for _, a := range plan.Arms {
		c.arms = append(c.arms, a.Name)
	}
	if err == nil {
		err = c.prepareReports()
	}
	if err != nil {
		return err
	}
	release, err := files.Lock(plan.Arms, c.Resume != "")
	if err != nil {
		return err
	}
	defer release()
	defer func() { err = c.writeProblem(p, t, "replay", err) }()
	running, err := c.begin(ctx, plan, store, files)
	if err != nil {
		return err
	}
	progress.Begin(running)
	c.announce(t, running.ID())
	text.Unchained(t, running.ID(), running.Unchained())
	display.Forecast(t, plan, running)
	return c.measure(ctx, p, t, plan, running, progress)
}

// planError returns the error of a plan. Reading a large file may have been interrupted.
func (c *replayCmd) planError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// measure runs the arms and reports.
func (c *replayCmd) measure(ctx context.Context, p *process, t *terminal.Terminal, plan *replay.Plan,
	running *replay.Session, progress *display.Progress) error {
	outcomes, err := running.Run(ctx, progress)
	progress.Done()
	if err != nil {
		_, ended := c.end(t, running, err)
		return errors.Join(err, ended)
	}
	compared := replay.Compare(outcomes, compare.Options{Accept: c.Accept, Primary: c.Primary, ClusterTag: c.Cluster})
	arms := display.Arms(t, outcomes, compared)
	display.Spent(t, plan, running)
	worst := c.writeReports(p, t, outcomes, compared, c.worst(ctx, outcomes))
	if err := c.printSummaries(ctx, p, outcomes, compared); err != nil {
		return errors.Join(err, running.Close())
	}
	next, err := c.end(t, running, worst)
	report.Closing(t, arms, next)
	return errors.Join(worst, err)
}

// severity orders exit codes: with several arms, the worst one is the exit code of the process.
var severity = []int{
	exitDone, exitBelowFloor, exitUnscored, exitControls, exitBudget, exitDaemon, exitDifferent, exitUsage, exitStorage,
	exitInterrupted,
}

// worst returns the error of the arm that ended worst, nil if all passed. The others are printed by
// the report.
func (c *replayCmd) worst(ctx context.Context, outcomes []replay.Outcome) error {
	var ended []error
	for _, o := range outcomes {
		ended = append(ended, armError(o))
	}
	return worstOf(ctx, ended)
}

// armError returns the error with which an arm ended, nil if it passed.
func armError(o replay.Outcome) error {
	err := o.Err
	if failed, ok := errors.AsType[*replay.DaemonError](err); ok {
		err = daemonError{failed}
	}
	if err != nil && len(o.Arm.Name) > 0 {
		err = fmt.Errorf("%s: %w", o.Arm.Name, err)
	}
	if o.Result == nil || o.Result.Gate == nil {
		return err
	}
	return verdict(*o.Result.Gate, err)
}

// printSummaries writes the only thing that goes to stdout: a line for each arm, and as JSON one
// for how several arms compare.
func (c *replayCmd) printSummaries(ctx context.Context, p *process, outcomes []replay.Outcome, compared *compare.Arms) error {
	for _, o := range outcomes {
		if err := printArm(p, c.JSON, o.Arm.Name, o.Result, o.Err, o.Path, exitCode(ctx, armError(o))); err != nil {
			return err
		}
	}
	if compared == nil || !c.JSON {
		return nil
	}
	return json.NewEncoder(p.stdout).Encode(comparisonJSON(compared))
}

// printArm writes the line of one of several arms. The result may be nil. failed is why the arm
// stopped, nil if it did not.
func printArm(p *process, asJSON bool, name string, res *result.Result, failed error, path string, code int) error {
	var err error
	switch {
	case asJSON:
		own, latest := journal.Names(path)
		err = json.NewEncoder(p.stdout).Encode(report.ArmSummary(name, res, failed, own, latest, code))
	case res == nil:
		_, err = fmt.Fprintf(p.stdout, "%s: no result\n", name)
	default:
		_, err = fmt.Fprintln(p.stdout, terminal.Line(wording.Summary(res, path)))
	}
	return err
}

// comparisonJSON returns how several arms compare, as --json prints it.
func comparisonJSON(compared *compare.Arms) any {
	return struct {
		Sentences []string `json:"sentences"`
		*compare.Arms
	}{compared.Sentences(), compared}
}
