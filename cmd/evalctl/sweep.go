package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
	"evalctl/harness"
	"evalctl/harness/journal"
	"evalctl/harness/progress"
	"evalctl/harness/report/text"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/harness/sweep"
	"evalctl/internal/heap"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
)

// sweepCmd has the flags of evalctl sweep.
type sweepCmd struct {
	targetFlags
	allowanceFlags
	Modes       []string `name:"mode" aliases:"modes" default:"auto" placeholder:"MODE,..." help:"Retrieval modes: ${modes} (${default})."`
	TopKs       []int    `name:"top-k" aliases:"top-ks" default:"5,10,20" placeholder:"N,..." help:"Values of top-k (${default})."`
	CandidateKs []int    `name:"candidate-k" aliases:"candidate-ks" default:"0" placeholder:"N,..." help:"Values of candidate-k. 0: the daemon's default (${default})."`
}

func (sweepCmd) Help() string {
	return `Searches with every combination of mode, top-k and candidate-k, on one daemon that is started
and seeded once. Questions need expected_paths. No answers are generated or judged. Each mode is
first warmed up with some questions that are not measured, so that no cell includes the time to
build an index. A daemon that caches queries is still faster in the later cells of a mode. The table
is printed to stdout, and all figures are written to <output>/<date>/<sdk>.sweep.json.

Examples:

  evalctl sweep --sdk go --dataset datasets/core.jsonl --mode bm25 --top-k 1,5,10
  SVC_EMBED_PROVIDER=fake evalctl sweep --sdk go --dataset q.jsonl --mode bm25,semantic,hybrid
  evalctl sweep --sdk go --dataset locomo.jsonl --corpus locomo.corpus.jsonl --brain-tag conv --top-k 10 --mode bm25
  evalctl sweep --sdk py --dataset q.jsonl --endpoint http://127.0.0.1:8080 --brain notes --mode auto,bm25 --json
`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *sweepCmd) Validate() error {
	if err := errors.Join(c.validate(), c.validateAllowances()); err != nil {
		return err
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
	plan, err := c.plan(p)
	if err != nil {
		return usageError{err}
	}
	release, err := journal.LockOutput(plan.dir, c.found.Name)
	if err != nil {
		return usageError{err}
	}
	defer release()
	printConfigured(t, p)
	text.Inputs(t, c.Dataset, plan.Input)
	printDaemonPays(t, c.paidModels(p.environment(c.found), p.env("SVC_LLM_PROVIDER"), ""))
	session, err := c.open(ctx, p, plan)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	progress.Daemon(t, "daemon", session)
	return c.evaluate(ctx, p, t, plan, session)
}

// plan checks everything that needs no daemon.
func (c *sweepCmd) plan(p *process) (*runPlan, error) {
	pl, err := c.targetFlags.plan(p)
	if err != nil {
		return nil, err
	}
	if c.ownDaemon() {
		// No answer is generated.
		pl.session.Profile.Env = append([]string{"SVC_LLM_PROVIDER=" + llm.ProviderFake}, c.found.Profile.Env...)
	}
	if c.found.Settings.Mode != "" {
		return nil, fmt.Errorf("target %s has the mode %s, and a sweep sets modes: give --mode %[2]s with a target without a mode",
			c.found.Name, c.found.Settings.Mode)
	}
	apply(c.found.Settings, nil, &c.Dialect)
	input, err := c.input(nil)
	if err != nil {
		return nil, err
	}
	pl.Input, err = c.grid().Load(input)
	return pl, err
}

// evaluate seeds the brains and measures the cells. If the sweep is stopped, the finished cells are
// written and printed.
func (c *sweepCmd) evaluate(ctx context.Context, p *process, t *terminal.Terminal, plan *runPlan,
	session *harness.Session) error {
	ctx, stop := session.Watch(ctx)
	defer stop()
	if err := c.checkForeign(usedMapping(session), len(plan.Brains)); err != nil {
		return usageError{err}
	}
	brains, err := seed.Brains(ctx, session.Service(), result.Dialect(c.Dialect), plan.Brains,
		nil, nil)
	if err != nil {
		return asDaemonError(ctx, err)
	}
	shown := text.ShownWarnings{}
	shown.Add(plan.Gold.Warnings)
	sweeping := &sweep.Sweep{
		Grid: c.grid(), Input: plan.Input, Session: session, Brains: brains,
		Identity: c.identity(plan, session.ID()),
		Settings: result.Settings{
			Concurrency: c.Concurrency, TimeoutSeconds: c.Timeout.Seconds(),
			MaxErrors: c.errors, MaxUnscored: c.unscored, ClusterTag: c.Cluster,
		},
		Observer: &cellPrinter{t: t, planned: plan.Dataset.Planned(), shown: shown},
	}
	file := sweep.NewFile(plan.dir, c.found.Name, plan.started)
	swept, stopped := sweeping.Measure(ctx, file, plan.started)
	if err := file.Finish(&swept, stopped); err != nil {
		return errors.Join(stopped, err)
	}
	verdict := c.verdict(swept, stopped)
	if err := c.print(p, swept, file.Path(), exitCode(ctx, verdict)); err != nil {
		return err
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

// verdict returns the error that determines the exit code.
func (c *sweepCmd) verdict(s result.Sweep, stopped error) error {
	if stopped != nil {
		return stopped
	}
	quiet, lost := 0, 0
	for _, cell := range s.Cells {
		n := cell.Result.Counts
		if text.Unanswered(cell) {
			quiet++
		}
		if n.Errors > c.errors.Of(n.Total) {
			lost++
		}
	}
	switch {
	case quiet == len(s.Cells):
		return daemonError{errors.New("the daemon answered no question in any cell")}
	case lost > 0:
		return unscoredError{fmt.Errorf("%d of %d cells have more errors than --max-errors %s allows",
			lost, len(s.Cells), c.MaxErrors)}
	}
	return nil
}
