package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/progress"
	"evalctl/harness/report/text"

	"evalctl/daemon/protocol"
	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/harness/target"
	"evalctl/internal/heap"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
	"evalctl/scorer"
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
	printInputs(t, c.Dataset, plan)
	printDaemonPays(t, c.paidModels(p.environment(c.found), p.env("SVC_LLM_PROVIDER"), ""))
	session, err := c.open(ctx, p, plan)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	text.Daemon(t, "daemon", session)
	return c.evaluate(ctx, p, t, plan, session)
}

// plan checks everything that needs no daemon.
func (c *sweepCmd) plan(p *process) (*plan, error) {
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
	// The check of a question does not depend on the depth.
	sc := scorer.Retrieval{TopK: c.TopKs[0]}
	search, err := target.ScenarioOf(result.SearchOnly)
	if err != nil {
		return nil, err
	}
	check := func(q dataset.Question) error {
		return cmp.Or(search.Check(q), dataset.IgnoreNoGold(sc.Check(q.Item())))
	}
	input, err := c.input(check)
	if err == nil {
		pl.Input, err = dataset.Load(input)
	}
	if err != nil {
		return nil, err
	}
	// A warning about a large top-k may not apply to the others.
	if err := pl.CheckGold(slices.Min(c.TopKs)); err != nil {
		return nil, err
	}
	if pl.Gold.WithGold == 0 {
		return nil, fmt.Errorf("%s: a sweep needs expected_paths, which none of %s has",
			c.Dataset, count(pl.Dataset.Selected, "question"))
	}
	return pl, nil
}

// evaluate seeds the brains and measures the cells. If the sweep is stopped, the finished cells are
// written and printed.
func (c *sweepCmd) evaluate(ctx context.Context, p *process, t *terminal.Terminal, plan *plan,
	session *harness.Session) error {
	ctx, stop := session.Watch(ctx)
	defer stop()
	brains, err := seed.Brains(ctx, session.Service(), result.Dialect(c.Dialect), plan.Brains,
		nil, nil)
	if err != nil {
		return asDaemonError(ctx, err)
	}
	grid := c.grid()
	s := &sweeper{
		sweepCmd: c, t: t, plan: plan, session: session, brains: brains, shown: text.ShownWarnings{},
		file: harness.NewSweepFile(plan.dir, c.found.Name, plan.started),
		sweep: result.Sweep{
			SchemaVersion: result.SchemaVersion, SDK: c.found.Name, StartedAt: plan.started,
			Planned: len(grid), Cells: []result.Cell{},
		},
	}
	stopped := s.measure(ctx, grid)
	if err := s.file.Finish(&s.sweep, stopped); err != nil {
		return errors.Join(stopped, err)
	}
	verdict := c.verdict(s.sweep, stopped)
	if err := c.print(p, s.sweep, s.file.Path(), exitCode(ctx, verdict)); err != nil {
		return err
	}
	t.Field("result", "%s", terminal.Line(s.file.Path()))
	return verdict
}

// grid returns all combinations. The mode changes last.
func (c *sweepCmd) grid() []result.Cell {
	var out []result.Cell
	for _, mode := range c.Modes {
		for _, candidates := range c.CandidateKs {
			for _, k := range c.TopKs {
				out = append(out, result.Cell{Mode: mode, TopK: k, CandidateK: candidates})
			}
		}
	}
	return out
}

// sweeper measures the cells of a sweep on a seeded daemon.
type sweeper struct {
	*sweepCmd
	t       *terminal.Terminal
	plan    *plan
	session *harness.Session
	brains  map[string]string // ids at the daemon, by name
	file    *harness.SweepFile
	sweep   result.Sweep
	shown   text.ShownWarnings // warnings that were printed
}

// measure warms up each mode and measures the cells. The error is what stopped it.
func (s *sweeper) measure(ctx context.Context, grid []result.Cell) error {
	for _, mode := range s.Modes {
		warmed := s.target(result.Cell{Mode: mode, TopK: slices.Max(s.TopKs)})
		asked, err := warmed.WarmUp(ctx, s.plan.Dataset, s.Timeout)
		if err != nil {
			return err
		}
		s.sweep.WarmUp += asked
	}
	s.shown.Add(s.plan.Gold.Warnings)
	for i, cell := range grid {
		if err := s.cell(ctx, &cell); err != nil {
			return fmt.Errorf("stopped in cell %d of %d: %w", i+1, len(grid), err)
		}
		s.sweep.Cells = append(s.sweep.Cells, cell)
		if err := s.file.Save(s.sweep); err != nil {
			return err
		}
	}
	return nil
}

// target returns how to ask with the settings of one cell.
func (s *sweeper) target(cell result.Cell) *target.Target {
	return &target.Target{
		Service: s.session.Service(), Brains: s.brains, Scenario: result.SearchOnly, Mode: cell.Mode,
		TopK: cell.TopK, CandidateK: cell.CandidateK, Dialect: result.Dialect(s.Dialect),
	}
}

// cell asks all questions with the settings of a cell, and fills in what was found.
func (s *sweeper) cell(ctx context.Context, cell *result.Cell) error {
	gold, err := dataset.CheckGold(s.plan.Dataset, s.plan.Brains, cell.TopK)
	if err != nil {
		return err
	}
	id := s.identity(s.plan, s.session.ID())
	id.Scorer, id.Scenario = scorer.Retrieval{}.Name(), result.SearchOnly
	id.Mode, id.TopK, id.CandidateK = cell.Mode, cell.TopK, cell.CandidateK
	progress := progress.NewQuestions(s.t, s.plan.Dataset.Planned(), 0)
	cell.Result, err = harness.Drive(ctx, harness.Config{
		Asker: harness.NewDaemon(harness.Daemon{
			Answerer: s.target(*cell), Timeout: s.Timeout, TopK: cell.TopK, Brains: s.plan.Brains,
			Watched: s.session.Started(),
		}),
		Scorer: pipeline.Grader{Scorer: scorer.Retrieval{TopK: cell.TopK}}, TopK: cell.TopK,
		Dataset: s.plan.Dataset, Concurrency: s.Concurrency,
		Observer: cellObserver{progress, cell},
		Notes: harness.Notes{
			Brains: harness.BrainInfos(s.plan.Brains), Warnings: gold.Warnings,
			Settings: result.Settings{
				Concurrency: s.Concurrency, TimeoutSeconds: s.Timeout.Seconds(),
				MaxErrors: s.errors, MaxUnscored: s.unscored, ClusterTag: s.Cluster,
			},
		},
	}, id)
	progress.Done()
	if err != nil {
		return err
	}
	slices.SortFunc(cell.Questions, func(a, b result.Record) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Repeat, b.Repeat))
	})
	text.Cell(s.t, *cell, progress.Failed, s.shown)
	return nil
}

// cellObserver collects the questions of a cell.
type cellObserver struct {
	*progress.Questions
	cell *result.Cell
}

// Asking implements pipeline.Observer. The questions of a cell are too short to be named.
func (cellObserver) Asking(string, bool) {}

// Recorded implements pipeline.Observer.
func (o cellObserver) Recorded(r result.Record) {
	o.Questions.Recorded(r)
	o.cell.Questions = append(o.cell.Questions, r.WithoutTexts())
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
