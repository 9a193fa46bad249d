package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
	"evalctl/harness"
	"evalctl/harness/account"
	"evalctl/harness/journal"
	"evalctl/harness/ledger"
	"evalctl/harness/plan"
	"evalctl/harness/progress"
	"evalctl/harness/project"
	"evalctl/harness/report"
	"evalctl/harness/report/text"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/harness/sweep"
	"evalctl/harness/wording"
	"evalctl/internal/heap"
	"evalctl/internal/terminal"
)

// sweepCmd has the flags of evalctl sweep.
type sweepCmd struct {
	targetFlags
	allowanceFlags
	project.KeptFlags
	daemonMoneyFlags `set:"default_cap=off"`
	Modes            []string `name:"mode" aliases:"modes" default:"auto" placeholder:"MODE" help:"${about_mode} (${default})."`
	TopKs            []int    `name:"top-k" aliases:"top-ks" default:"5,10,20" placeholder:"N" help:"${about_top_k} (${default})."`
	CandidateKs      []int    `name:"candidate-k" aliases:"candidate-ks" default:"0" placeholder:"N" help:"${about_candidate_k}"`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *sweepCmd) Validate() error {
	if err := errors.Join(c.validate(), c.validateAllowances(), c.validateMoney(noCap)); err != nil {
		return err
	}
	if len(c.Target) > 1 {
		return errors.New("--target is given twice, and a sweep takes one: run, replay and bench take several")
	}
	for _, m := range c.Modes {
		if !slices.Contains(protocol.Modes, m) {
			return fmt.Errorf("--mode %s: must be one of %s", m, strings.Join(protocol.Modes, ", "))
		}
	}
	for _, k := range c.TopKs {
		if k < 1 || k > protocol.MaxSearchTopK {
			return fmt.Errorf("--top-k %d: must be from 1 to %d, the protocol's limit",
				k, protocol.MaxSearchTopK)
		}
	}
	for _, k := range c.CandidateKs {
		if k < 0 {
			return fmt.Errorf("--candidate-k %d: must not be negative", k)
		}
	}
	return errors.Join(distinct("--mode", c.Modes), distinct("--top-k", c.TopKs),
		distinct("--candidate-k", c.CandidateKs))
}

// distinct returns an error for an empty list, and for one with a duplicate.
func distinct[T comparable](flag string, values []T) error {
	if len(values) == 0 {
		return fmt.Errorf("%s is empty; give at least one, separated by commas", flag)
	}
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			return fmt.Errorf("%s: %v is given twice", flag, v)
		}
	}
	return nil
}

// Run sweeps. It checks everything that it can before it starts and seeds the daemon and measures
// the cells one after the other.
func (c *sweepCmd) Run(ctx context.Context, p *process) (err error) {
	defer heap.HoldSpare()()
	t := newTerminal(p, c.Quiet)
	pl, err := c.plan(p)
	if err != nil {
		return err
	}
	release, err := journal.LockOutput(pl.Dir, pl.Found.Name)
	if err != nil {
		return err
	}
	defer release()
	printConfigured(t, p)
	text.Inputs(t, c.Dataset, pl.Input)
	text.Hint(t, pl.Hint)
	printDaemonPays(t, pl, c.money)
	account, err := pl.OpenAccount(c.money)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, account.Close()) }()
	session, err := openDaemon(ctx, t, pl)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeDaemon(t, session, false)) }()
	return c.evaluate(ctx, p, t, pl, account, session)
}

// plan checks everything that needs no daemon.
func (c *sweepCmd) plan(p *process) (*plan.Plan, error) {
	if err := c.validateTyped(c.Typed); err != nil {
		return nil, err
	}
	spec, err := c.spec(p)
	if err != nil {
		return nil, err
	}
	return plan.NewSweep(spec, c.money, c.grid().Load)
}

// evaluate seeds the brains and measures the cells. If the sweep is stopped, the finished cells are
// written and printed.
func (c *sweepCmd) evaluate(ctx context.Context, p *process, t *terminal.Terminal, pl *plan.Plan,
	account *account.Account, session *harness.Session) error {
	alive, stop := session.Watch(ctx)
	defer stop()
	watched, stop := account.Watch(alive)
	defer stop()
	if err := c.grid().Check(session.Service(), len(pl.Brains)); err != nil {
		return err
	}
	session.MeterEmbeddings(watched)
	end := account.Enter(pl.Found.Name, ledger.Ingest)
	brains, err := seed.Brains(watched, session.Service(), pl.Dialect, pl.Brains, nil, nil)
	end()
	if err != nil {
		return asDaemonError(watched, err)
	}
	shown := text.ShownWarnings{}
	shown.Add(pl.Gold.Warnings)
	sweeping := &sweep.Sweep{
		Grid: c.grid(), Input: pl.Input, Session: session, Brains: brains,
		Identity: pl.Identity(session.ID()),
		Settings: result.Settings{
			Concurrency: c.Concurrency, TimeoutSeconds: c.Timeout.Seconds(),
			MaxErrors: c.errors, MaxUnscored: c.unscored, ClusterTag: c.Cluster,
		},
		Observer: &cellPrinter{t: t, planned: pl.Dataset.Planned(), shown: shown},
	}
	file := sweep.NewFile(pl.Dir, pl.Found.Name, pl.Started)
	end = account.Enter(pl.Found.Name, ledger.Actor)
	swept, stopped := sweeping.Measure(watched, file, pl.Started)
	end()
	left := pl.Leave(ctx, session, brains)
	_ = session.Close() // Run closes it too, and gets the error
	swept.Escaped = session.Escaped()
	swept.Embeddings.SetPrice(c.money.Prices, c.money.PricesDate)
	err = account.Fill(context.WithoutCancel(ctx), &swept.Cost, file.OwnPath())
	if err == nil {
		err = file.Finish(&swept, stopped)
	}
	if err == nil {
		err = account.Remove()
	}
	if err != nil {
		return errors.Join(stopped, err, left)
	}
	verdict := stopped
	if verdict == nil {
		verdict = sweep.Verdict(swept, c.errors, c.unscored)
	}
	verdict = errors.Join(verdict, left)
	if err := c.print(p, swept, file.Path(), exitCode(ctx, verdict)); err != nil {
		return errors.Join(err, left)
	}
	if e := swept.Embeddings; e != nil {
		t.Field("embedded", "%s", terminal.Line(wording.Embeddings(e)))
	}
	t.Field("result", "%s", terminal.Line(file.Path()))
	return verdict
}

func (c *sweepCmd) grid() sweep.Grid {
	return sweep.Grid{Modes: c.Modes, TopKs: c.TopKs, CandidateKs: c.CandidateKs}
}

// cellPrinter prints the cells of a sweep as they are measured. It implements sweep.Observer.
type cellPrinter struct {
	*progress.Questions
	t       *terminal.Terminal
	planned int
	shown   text.ShownWarnings // warnings that were printed
}

// Begin implements sweep.Observer.
func (c *cellPrinter) Begin() { c.Questions = progress.NewQuestions(c.t, c.planned, 0) }

// End implements sweep.Observer.
func (c *cellPrinter) End(cell *result.Cell) {
	c.Done()
	if cell != nil {
		text.Cell(c.t, *cell, c.Failed, c.shown)
	}
}

// print writes the table to stdout, or one JSON object with --json.
func (c *sweepCmd) print(p *process, s result.Sweep, path string, code int) error {
	if !c.JSON {
		return output(p, report.Sweep{File: s}.Cells)
	}
	own, latest := journal.Names(path)
	return json.NewEncoder(p.stdout).Encode(report.SweepSummary(s, own, latest, code))
}
