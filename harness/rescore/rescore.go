// Package rescore scores the answers of a result again, with another scorer, judge or corrected
// references, without a daemon.
package rescore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"evalctl/harness"
	"evalctl/harness/account"
	"evalctl/harness/aggregate"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/judging"
	"evalctl/harness/key"
	"evalctl/harness/pipeline"
	"evalctl/harness/plan"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
	"evalctl/internal/redact"
	"evalctl/scorer"
)

// Spec configures Plan.
type Spec struct {
	// File is the result with the answers.
	File string
	// Dataset has corrected references for the same questions, empty to use the references in File.
	Dataset   string
	Scorer    scorer.Kind
	ExactCase bool
	// External identifies a scorer that is a program, nil for another.
	External *result.ExternalScorer
	Tool     result.ToolID
	// Models has the judge, which is opened if a question needs one. Env has the variables of its
	// provider.
	Models plan.Models
	Env    func(string) string
	// Secrets are redacted in answers and grades.
	Secrets []redact.Secret
}

// Rescoring is a checked rescoring that has not started.
type Rescoring struct {
	Stored   *harness.StoredAnswers
	Data     dataset.Dataset
	Identity result.Identity
	Judging  *judging.Plan // nil if no model judges
	// The new files are Dir/Name with extensions.
	Dir, Name string

	kind    scorer.Kind
	options scorer.Options
	models  plan.Models
	secrets []redact.Secret
}

// Plan reads the file and checks that its answers can be scored.
func Plan(s Spec) (*Rescoring, error) {
	stored, err := harness.OpenStored(s.File)
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(filepath.Base(s.File), filepath.Ext(s.File)) + ".rescored"
	r := &Rescoring{
		Stored: stored, Dir: filepath.Dir(s.File), Name: name, Identity: stored.Result.Identity, kind: s.Scorer,
		models: s.Models, secrets: s.Secrets,
	}
	r.options = scorer.Options{TopK: max(1, r.Identity.TopK), ExactCase: s.ExactCase}
	was := &r.Identity
	measured := stored.Result.StartedAt
	if was.Rescored != nil {
		measured = was.Rescored.MeasuredAt // zero if that file does not say
	}
	was.Rescored = &result.RescoreSource{
		SHA256: stored.SHA256, MeasuredAt: measured, Scorer: was.Scorer, ExactCase: was.ExactCase,
		Judge: was.Judge, External: was.External,
	}
	was.Scorer, was.ExactCase, was.Judge, was.Tool = s.Scorer.Name, nil, nil, s.Tool
	was.External, was.Panel = s.External, nil
	if s.Scorer.ComparesText() {
		was.ExactCase = &s.ExactCase
	}
	questions := stored.Questions()
	if s.Dataset != "" {
		if err := s.correct(questions, was); err != nil {
			return nil, err
		}
	}
	stored.OmitUnknownEvidence(questions)
	r.options.Evidence = was.Scenario.ScoresEvidence(stored.Result.Mapped != nil) && slices.ContainsFunc(questions, func(q dataset.Question) bool { return len(q.ExpectedEvidence) > 0 })
	if slices.ContainsFunc(questions, func(q dataset.Question) bool { return s.Scorer.Asks(q.Item()) > 0 }) {
		if r.Judging, err = s.Models.OpenJudge(s.Env, s.Scorer); err != nil {
			return nil, err
		}
		was.Judge, was.Panel = new(r.Judging.Identity()), r.Judging.Panel()
	}
	sc, err := r.scorer(llm.NewAccount(s.Models.Cap))
	if err != nil {
		return nil, err
	}
	if err := s.checkQuestions(sc, questions); err != nil {
		return nil, err
	}
	r.Data, err = dataset.FromQuestions(was.Dataset.Path, was.Dataset.SHA256, questions)
	r.Data.Repeats = was.Dataset.Repeats
	return r, err
}

// scorer returns the scorer. Its judge uses the given account.
func (r *Rescoring) scorer(a llm.Account) (scorer.Scorer, error) {
	calls, err := r.models.Client(a)
	if err != nil {
		return nil, err
	}
	return judging.OpenScorer(r.kind, r.options, r.Judging, calls)
}

// OpenAccount opens the account of the rescoring, which may be nil. The caller must close it.
func (r *Rescoring) OpenAccount(j *journal.Journal, resume bool) (*account.Account, error) {
	return account.Open(account.Config{
		Dir: r.Dir, Name: r.Name, Started: j.StartedAt(), Limit: r.models.Cap, Prices: r.models.Prices,
		Paid: r.Judging != nil && !r.Judging.Free(),
	}, resume, j.Spent())
}

// Left forecasts the cost of judging the answers that a journal lacks. Questions without an answer
// are not judged.
func (r *Rescoring) Left(j *journal.Journal) (judging.Forecast, error) {
	return r.Judging.Left(r.Data, func(i int, q dataset.Question) (item scorer.Item, ok bool) {
		if j.State(i).Finished {
			return item, false
		}
		was, err := r.Stored.Record(q)
		if item = q.Item(); err != nil || !was.Outcome.Answered() {
			return item, false
		}
		item.Answer = was.Answer
		return item, true
	})
}

// correct replaces what the answers are scored by with the values in --dataset.
func (s Spec) correct(questions []dataset.Question, id *result.Identity) error {
	d, err := dataset.Open(s.Dataset, dataset.Options{Naming: dataset.BrainNaming{Default: id.Brain, Tag: id.BrainTag}})
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
			return fmt.Errorf("--dataset %s has no question %q, which %s has; name the dataset of that run, corrected", s.Dataset, q.ID, s.File)
		case k.Question != q.Question || q.QuestionDate != "" && k.QuestionDate != q.QuestionDate:
			return fmt.Errorf("--dataset %s asks something else in question %q than %s did: the answer would not fit", s.Dataset, q.ID, s.File)
		case !slices.Equal(k.ExpectedPaths, q.ExpectedPaths) || !maps.Equal(k.ExpectedGrades, q.ExpectedGrades):
			return fmt.Errorf("--dataset %s has other expected_paths in question %q than %s: evaluate again, because "+
				"the ranks of other documents are not in a result", s.Dataset, q.ID, s.File)
		case !slices.Equal(k.Forbidden, q.Forbidden):
			return fmt.Errorf("--dataset %s has other forbidden texts in question %q than %s: evaluate again, because "+
				"only the run looked for its own", s.Dataset, q.ID, s.File)
		}
		if !dated(q.Checks) && dated(k.Checks) {
			return fmt.Errorf("--dataset %s checks dates in question %q, which %s did not: evaluate again, because the dates "+
				"of documents are not in that result", s.Dataset, q.ID, s.File)
		}
		q.ExpectedSubstrings, q.ReferenceAnswer, q.Checks, q.ExpectedEvidence = k.ExpectedSubstrings, k.ReferenceAnswer, k.Checks, k.ExpectedEvidence
		q.MustCite, q.QuestionDate = k.MustCite, k.QuestionDate
		delete(known, q.ID)
	}
	if len(known) > 0 && id.Dataset.Selection == nil {
		return fmt.Errorf("--dataset %s has %s that %s has not; name the dataset of that run, corrected",
			s.Dataset, figure.Count(len(known), "question"), s.File)
	}
	id.Dataset.Path, id.Dataset.SHA256 = s.Dataset, d.SHA256
	return nil
}

// dated reports whether a check concerns the dates of documents.
func dated(checks []scorer.Check) bool {
	return slices.ContainsFunc(checks, func(c scorer.Check) bool { return c.Before != "" })
}

// checkQuestions returns an error unless every question has what the scorer needs. Like a run, a
// rescoring of retrieval leaves out questions without gold, unless no question has gold.
func (s Spec) checkQuestions(sc scorer.Scorer, questions []dataset.Question) error {
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
		return fmt.Errorf("no question in %s has what --scorer %s needs, the first is %w; nothing was scored: use another --scorer",
			s.File, s.Scorer.Name, sc.Check(questions[0].Item()))
	}
	if first == nil {
		return nil
	}
	return fmt.Errorf("%d of %s in %s cannot be scored by --scorer %s, the first is %w; nothing was scored: "+
		"use another --scorer, or add the missing fields in a --dataset", lacking, figure.Count(len(questions), "question"), s.File, s.Scorer.Name, first)
}

// Journal creates the journal, or opens the journal of a stopped rescoring.
func (r *Rescoring) Journal(resume bool) (*journal.Journal, error) {
	if !resume {
		return journal.CreateNamed(r.Dir, r.Name, r.Identity, time.Now().UTC(), nil)
	}
	path := filepath.Join(r.Dir, r.Name+".journal")
	j, err := journal.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--continue: %w", err)
	}
	if diff := key.Differences(j.Identity(), r.Identity); len(diff) > 0 {
		err := fmt.Errorf("--continue: %s belongs to another rescoring:\n  %s\nleave out --continue to score all answers again",
			path, strings.Join(diff, "\n  "))
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// Run scores the answers that the journal lacks, and writes the result. settings has the gate and
// the concurrency. The path is empty if the result could not be written.
func (r *Rescoring) Run(
	ctx context.Context, settings result.Settings, a *account.Account, o pipeline.Observer, j *journal.Journal,
) (result.Result, string, error) {
	was := r.Stored.Result
	settings.TimeoutSeconds, settings.ClusterTag = was.Settings.TimeoutSeconds, was.Settings.ClusterTag
	settings.DaemonEnv = was.Settings.DaemonEnv
	config := harness.Config{
		Subject: harness.Subject{Records: r.Stored}, TopK: r.options.TopK, Dataset: r.Data, Concurrency: settings.Concurrency, Observer: o,
		Secrets: r.secrets,
		Notes: harness.Notes{
			Brains: was.Brains, CapUSD: r.models.Cap, Settings: settings,
			Warnings: r.Warnings(), OwnQuestions: was.OwnQuestions, Admission: was.Admission, Imported: was.Imported, Mapped: was.Mapped,
		},
	}
	config.Notes.Embeddings = was.Embeddings
	if was.ReaderCost != nil {
		config.Notes.ReaderPrices = new(aggregate.PricesOf(was.ReaderCost))
	}
	if r.Judging != nil {
		config.Paid, config.Notes.UnpricedModel = true, r.Judging.UnpricedModel()
		config.Notes.PricesDate = r.Judging.PricesDate()
	}
	sc, err := r.scorer(a.Judge())
	if err != nil {
		return result.Result{}, "", err
	}
	config.Scorer = pipeline.Grader{Scorer: sc}
	ended, err := harness.Measure(ctx, config, j)
	if err != nil {
		return result.Result{}, "", err
	}
	path, err := a.Write(ctx, ended, false)
	return ended.Result, path, err
}

// Warnings returns the dataset warnings of the stored result.
func (r *Rescoring) Warnings() []result.Warning {
	return aggregate.DatasetWarnings(r.Stored.Result.Retrieval)
}
