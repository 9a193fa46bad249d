package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"evalctl/harness/progress"
	"evalctl/harness/report/text"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/judging"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
	"evalctl/scorer"
)

// rescoreCmd scores stored answers again.
type rescoreCmd struct {
	File    string `arg:"" name:"file" help:"Result file of run."`
	Scorer  string `required:"" enum:"${scorers}" help:"Scorer: ${scorer_help}."`
	Dataset string `placeholder:"FILE" help:"Dataset with corrected expected_substrings, reference_answer or checks, for the same questions. Default: those in the result."`
	exactFlag
	judgeFlags
	gateFlags   `set:"default_floor=0.90"`
	Concurrency int  `default:"8" help:"Number of answers that are scored at a time (${default})."`
	Resume      bool `help:"Continue this rescoring after it was stopped, with its journal."`
	Quiet       bool `short:"q" help:"Print only the summary line and errors."`
	JSON        bool `help:"Print the summary as JSON."`

	scorer scorer.Kind
}

func (rescoreCmd) Help() string {
	return `Scores the answers that a result file has, with another scorer, judge or corrected references. The
daemon is not asked: answers, latencies and errors stay as they are. The new result is written next to
the file as <name>.rescored.json and under a name of its own, and its identity has the SHA-256 and the scorer of the old one.

Examples:

  evalctl rescore results/2026-01-31/go.json --scorer exact
  evalctl rescore results/2026-01-31/go.json --scorer judge --judge openai/gpt-4o --max-cost-usd 1
  evalctl rescore results/2026-01-31/go.json --scorer exact --dataset corrected.jsonl
`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *rescoreCmd) Validate() (err error) {
	if c.Scorer == "" {
		return errors.New("--scorer is missing: say how the answers are scored")
	}
	if c.scorer, err = scorer.Find(c.Scorer); err != nil {
		return err
	}
	if c.Concurrency < 1 || c.Concurrency > maxConcurrency {
		return fmt.Errorf("--concurrency %d: must be from 1 to %d", c.Concurrency, maxConcurrency)
	}
	return errors.Join(c.validateExact(c.scorer), c.validateGate(), c.validateMoney())
}

// rescoring is a rescoring that has been checked and not started.
type rescoring struct {
	stored  *harness.Stored
	data    dataset.Dataset
	id      result.Identity
	judging *judging.Plan // nil for a scorer without a model
	// estimate is what judging all answers is likely to cost.
	estimate judgeForecast
	dir      string
	name     string // of the new file, without its ending
}

// Run scores the answers. It checks all that needs no money first.
func (c *rescoreCmd) Run(ctx context.Context, p *process) error {
	t := newTerminal(p, c.Quiet)
	r, err := c.plan(p)
	if err != nil {
		return usageError{err}
	}
	release, err := journal.LockOutput(r.dir, r.name)
	if err != nil {
		return usageError{err}
	}
	defer release()
	j, err := c.journal(r)
	if err != nil {
		return usageError{err}
	}
	defer j.Close()
	was := r.stored.Result
	t.Field("answers", "%s  %s, scored by %s", terminal.Line(c.File), count(was.Planned, "answer"), was.Identity.ScoredBy())
	if g := was.Gate; g != nil && g.Baseline != nil {
		t.Field("note", "the comparison with the baseline %s is not made again; use evalctl compare",
			terminal.Line(g.Baseline.Path))
	}
	if c.Dataset != "" {
		t.Field("dataset", "%s has the expected_substrings, reference_answers and checks", terminal.Line(c.Dataset))
	}
	if r.judging != nil {
		t.Field("judge", "%s  %s", text.Describe(r.judging.Identity()), r.estimate.text(r.judging, c.budget))
		printExceeded(t, r.estimate, c.budget, "--max-cost-usd", "use a cheaper judge")
	}
	return c.score(ctx, p, t, r, j)
}

// plan reads the file and checks that its answers can be scored.
func (c *rescoreCmd) plan(p *process) (*rescoring, error) {
	stored, err := harness.OpenStored(c.File)
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(filepath.Base(c.File), filepath.Ext(c.File)) + ".rescored"
	r := &rescoring{stored: stored, dir: filepath.Dir(c.File), name: name, id: stored.Result.Identity}
	was := &r.id
	was.Rescored = &result.Rescored{SHA256: stored.SHA256, Scorer: was.Scorer, ExactCase: was.ExactCase, Judge: was.Judge}
	was.Scorer, was.ExactCase, was.Judge, was.Tool = c.Scorer, c.exactCase(c.scorer), nil, toolID()
	questions := stored.Questions()
	if c.Dataset != "" {
		if err := c.correct(questions, was); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(questions, func(q dataset.Question) bool { return c.scorer.Asks(q.Item()) > 0 }) {
		if err := c.findModels(p); err != nil {
			return nil, err
		}
		if r.judging, err = c.planJudging(p, c.scorer); err != nil {
			return nil, err
		}
		was.Judge = new(r.judging.Identity())
	}
	sc, err := c.newScorer(r, 0)
	if err != nil {
		return nil, err
	}
	if err := c.checkQuestions(sc, questions); err != nil {
		return nil, err
	}
	r.data, err = dataset.FromQuestions(was.Dataset.Path, was.Dataset.SHA256, questions)
	r.data.Repeats = was.Dataset.Repeats
	if r.judging != nil {
		err = errors.Join(err, r.forecast())
	}
	if err == nil {
		err = checkTagFloors(c.tagFloors, was.Dataset.Tags)
	}
	return r, err
}

// forecast estimates what judging the stored answers costs. A question without one is not judged.
func (r *rescoring) forecast() error {
	for q, err := range r.data.Questions() {
		if err != nil {
			return err
		}
		if a, err := r.stored.Answer(q); err == nil {
			item := q.Item()
			item.Answer = a.Text
			r.estimate.add(r.judging, item)
		}
	}
	return nil
}

// correct takes what is expected of the answers from --dataset.
func (c *rescoreCmd) correct(questions []dataset.Question, id *result.Identity) error {
	d, err := dataset.Open(c.Dataset, dataset.Options{Naming: dataset.BrainNaming{Default: id.Brain, Tag: id.BrainTag}})
	if err != nil {
		return err
	}
	known := map[string]dataset.Question{}
	for q, err := range d.Questions() {
		if err != nil {
			return err
		}
		known[q.ID] = q
	}
	for i := range questions {
		q := &questions[i]
		k, ok := known[q.ID]
		switch {
		case !ok:
			return fmt.Errorf("--dataset %s has no question %q, which %s has; name the dataset of that run, corrected", c.Dataset, q.ID, c.File)
		case k.Question != q.Question:
			return fmt.Errorf("--dataset %s asks something else in question %q than %s did: the answer would not fit", c.Dataset, q.ID, c.File)
		case !slices.Equal(k.ExpectedPaths, q.ExpectedPaths):
			return fmt.Errorf("--dataset %s has other expected_paths in question %q than %s: evaluate again, because "+
				"the ranks of other documents are not in a result", c.Dataset, q.ID, c.File)
		}
		if !dated(q.Checks) && dated(k.Checks) {
			return fmt.Errorf("--dataset %s checks dates in question %q, which %s did not: evaluate again, because the dates "+
				"of documents are not in that result", c.Dataset, q.ID, c.File)
		}
		q.ExpectedSubstrings, q.ReferenceAnswer, q.Checks = k.ExpectedSubstrings, k.ReferenceAnswer, k.Checks
		delete(known, q.ID)
	}
	if len(known) > 0 && id.Dataset.Selection == nil {
		return fmt.Errorf("--dataset %s has %s that %s has not; name the dataset of that run, corrected",
			c.Dataset, count(len(known), "question"), c.File)
	}
	id.Dataset.Path, id.Dataset.SHA256 = c.Dataset, d.SHA256
	return nil
}

// dated reports whether a check is about the dates of documents.
func dated(checks []scorer.Check) bool {
	return slices.ContainsFunc(checks, func(c scorer.Check) bool { return c.Before != "" })
}

// checkQuestions returns an error unless every question has what the scorer needs. As in a run,
// those without gold are left out where retrieval is scored, unless that is all of them.
func (c *rescoreCmd) checkQuestions(sc scorer.Scorer, questions []dataset.Question) error {
	var first error
	lacking, leftOut := 0, 0
	for _, q := range questions {
		err := sc.Check(q.Item())
		if errors.Is(err, scorer.ErrNoGold) {
			leftOut++
		} else if err != nil {
			if lacking++; first == nil {
				first = err
			}
		}
	}
	if leftOut == len(questions) {
		return fmt.Errorf("no question in %s has expected_paths, which --scorer %s needs; nothing was scored: "+
			"use another --scorer", c.File, c.Scorer)
	}
	if first == nil {
		return nil
	}
	return fmt.Errorf("%d of %s in %s cannot be scored by --scorer %s, the first is %w; nothing was scored: "+
		"use another --scorer, or add what is missing in a --dataset", lacking, count(len(questions), "question"), c.File, c.Scorer, first)
}

func (c *rescoreCmd) newScorer(r *rescoring, spent llm.USD) (scorer.Scorer, error) {
	return openScorer(c.scorer, scorer.Options{TopK: max(1, r.id.TopK), ExactCase: c.ExactCase}, r.judging, spent)
}

// journal creates the journal, or opens that of --resume.
func (c *rescoreCmd) journal(r *rescoring) (*journal.Journal, error) {
	if !c.Resume {
		return journal.CreateNamed(r.dir, r.name, r.id, time.Now().UTC(), nil)
	}
	path := filepath.Join(r.dir, r.name+".journal")
	j, err := journal.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	if diff := j.Identity().Differences(r.id); len(diff) > 0 {
		err := fmt.Errorf("--resume: %s belongs to another rescoring:\n  %s\nleave out --resume to score all answers again",
			path, strings.Join(diff, "\n  "))
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// score scores the answers and reports the result. The error determines the exit code.
func (c *rescoreCmd) score(ctx context.Context, p *process, t *terminal.Terminal, r *rescoring, j *journal.Journal) (err error) {
	was := r.stored.Result
	config := harness.Config{
		Asker: r.stored, TopK: max(1, r.id.TopK), Dataset: r.data, Concurrency: c.Concurrency,
		Notes: harness.Notes{
			Brains: was.Brains, CapUSD: c.budget,
			Warnings: was.Retrieval.DatasetWarnings(), OwnQuestions: was.OwnQuestions,
			Settings: c.settings(result.Settings{
				Concurrency: c.Concurrency, TimeoutSeconds: was.Settings.TimeoutSeconds, ClusterTag: was.Settings.ClusterTag,
				DaemonEnv: was.Settings.DaemonEnv,
			}),
		},
	}
	if was.ReaderCost != nil {
		config.Notes.ReaderPrices = new(was.ReaderCost.Prices())
	}
	if r.judging != nil {
		config.Paid, config.Notes.UnpricedModel = true, r.judging.UnpricedModel()
		config.Notes.PricesDate = r.judging.PricesDate()
	}
	sc, err := c.newScorer(r, j.Spent())
	if err != nil {
		return usageError{err}
	}
	config.Scorer = pipeline.Grader{Scorer: sc}
	progress := progress.NewQuestions(t, r.data.Planned(), j.Finished())
	progress.Unpriced = config.Notes.UnpricedModel != ""
	config.Observer = progress
	res, path, err := harness.Run(ctx, config, j)
	progress.Done()
	if path == "" {
		printResumeAfterDisk(t, err, "the same command and --resume")
		return err
	}
	text.Run(t, res, text.ReadFailures(t, path, text.ListedFailures), len(config.Notes.Warnings), path, false)
	verdict := verdict(*res.Gate, err)
	if err := printSummary(p, c.JSON, res, path, exitCode(ctx, verdict)); err != nil {
		return err
	}
	if res.Gate.Verdict == result.Inconclusive {
		t.Field("resume", "no verdicts are lost; continue with the same command and --resume")
	}
	return verdict
}
