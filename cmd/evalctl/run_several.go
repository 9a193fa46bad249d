package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"evalctl/harness/account"
	"evalctl/harness/compare"
	"evalctl/harness/ledger"
	"evalctl/harness/report"
	"evalctl/internal/llm"
)

// several is what the runs of several targets have together.
type several struct {
	cap   *llm.USD
	spent llm.USD // of the cap, by all runs so far
	path  string  // of the last run's result, empty if it has none

	// heir is the ledger of the run that may spend what all have left when it is resumed: the last
	// one that was stopped, else the last one whose questions can be tried again.
	heir    string
	stopped bool // the heir was
}

// keep makes a run spend nothing more when it is resumed: what it has left is for the targets after
// it, also if this process is killed.
func (s *several) keep(a *account.Account, stopped error) error {
	if s == nil || s.cap == nil {
		return nil
	}
	ledger, err := a.Freeze()
	if ledger != "" && (stopped != nil || !s.stopped) {
		s.heir, s.stopped = ledger, stopped != nil
	}
	return err
}

// share gives the heir what all targets have left of the cap.
func (s *several) share() error {
	if s.heir == "" || *s.cap <= s.spent {
		return nil
	}
	l, err := ledger.Open(s.heir)
	if err != nil {
		return err
	}
	return errors.Join(l.SetCap(l.Spent()+*s.cap-s.spent, nil), l.Close())
}

// runSeveral runs the targets one after the other, each as a run of its own, and compares their
// results. --max-cost-usd caps all of them together. The error is the one with the worst exit code.
func (c *runCmd) runSeveral(ctx context.Context, p *process) error {
	c.several = &several{cap: c.money.Cap}
	if err := c.checkTargets(ctx, p); err != nil {
		return err
	}
	targets := c.Target
	names := targetNames(targets)
	c.arms = names
	if err := c.prepare(filesOf(&c.KeptFlags)...); err != nil {
		return err
	}
	files := c.resultFlags // of all together, which a run of one target neither writes nor keeps
	defer func() { c.Target, c.resultFlags = targets, files }()
	var arms report.Arms
	var compared []compare.Arm
	var ended []error
	for i, name := range names {
		c.Target, c.resultFlags = targets[i:i+1], resultFlags{}
		err := c.runNext(ctx, p)
		problem := problemOf(err)
		arms = append(arms, report.ReadArm(name, c.several.path, problem))
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		if c.several.path == "" && i == 0 && exitCode(ctx, err) == exitUsage {
			c.resultFlags = files
			return c.writeProblem(p, newTerminal(p, c.Quiet), name, errors.Join(err, c.several.share()))
		}
		if c.several.path == "" {
			if err := printArm(p, c.JSON, name, nil, problem, "", exitCode(ctx, err)); err != nil {
				return errors.Join(err, c.several.share())
			}
		}
		ended = append(ended, err)
		compared = append(compared, compare.Arm{Name: name, Path: c.several.path})
	}
	c.resultFlags = files
	ended = append(ended, c.several.share())
	return c.reportSeveral(p, arms, compare.OfArms(compared, compare.Options{Accept: c.Accept, ClusterTag: c.Cluster}), worstOf(ctx, ended))
}

// runNext runs the target of c, unless ctx has ended or nothing is left of the cap.
func (c *runCmd) runNext(ctx context.Context, p *process) error {
	c.several.path, c.reported = "", false
	if ctx.Err() != nil {
		return fmt.Errorf("not measured: %w", context.Cause(ctx))
	}
	if err := c.capLeft(); err != nil {
		return err
	}
	return c.runOne(ctx, p)
}

// checkTargets checks all that needs no daemon of every target, before the first is run.
func (c *runCmd) checkTargets(ctx context.Context, p *process) (err error) {
	if c.Resume != "" {
		return errors.New("--resume continues the run of one target: leave out --target")
	}
	end, err := c.openExtern(ctx, p, c.Scorer, c.MaxUnusable, &c.scorer)
	if err != nil {
		return err
	}
	targets := c.Target
	defer func() {
		c.Target = targets
		err = errors.Join(err, end())
	}()
	for i, name := range targetNames(targets) {
		c.Target = targets[i : i+1]
		r, err := c.plan(p)
		if err == nil && r.Session.Endpoint == "" {
			err = r.Session.Check()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// capLeft sets the cap of the next run to what the runs before it have left of the cap of all. It is
// in the journal as if a flag had given it, so that a resumed run cannot exceed it.
func (c *runCmd) capLeft() error {
	all := c.several.cap
	if all == nil {
		return nil
	}
	left := *all - c.several.spent
	if left <= 0 {
		return fmt.Errorf("%w: the targets before have spent --max-cost-usd %s", llm.ErrBudgetExceeded, all.Exact())
	}
	c.MaxCostUSD = left.Exact()
	return c.validateMoney(noCap)
}

// problemOf returns what ended a run early, nil if it has a verdict.
func problemOf(err error) error {
	if v, ok := errors.AsType[*verdictError](err); ok {
		if v.gate.Stopped == "" {
			return nil
		}
		return v.cause
	}
	if errors.As(err, new(belowError)) {
		return nil
	}
	return err
}

// reportSeveral prints and writes the reports of all targets and how they compare.
func (c *runCmd) reportSeveral(p *process, arms report.Arms, compared *compare.Arms, worst error) error {
	t := newTerminal(p, c.Quiet)
	all := report.Replay{Arms: arms, Compared: compared}
	report.Text(t, all)
	if c.JSON {
		if err := json.NewEncoder(p.stdout).Encode(comparisonJSON(compared)); err != nil {
			return err
		}
	}
	if c.wanted() {
		worst = c.write(p, t, all, worst)
	}
	report.Closing(t, all, "")
	return worst
}

// worstOf returns the error with the worst exit code, nil if there is none. A code without a rank
// is the worst.
func worstOf(ctx context.Context, ended []error) (worst error) {
	rank := 0
	for _, err := range ended {
		r := slices.Index(severity, exitCode(ctx, err))
		if r < 0 {
			r = len(severity)
		}
		if r > rank {
			worst, rank = err, r
		}
	}
	return worst
}
