package harness

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"evalctl/harness/aggregate"
	"evalctl/harness/journal"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/internal/redact"
)

// runner is a run: a pipeline with the sum of its questions.
type runner struct {
	cfg     Config
	kept    retryKeeper
	sum     *aggregate.Sum
	limit   failures
	streak  streak
	embeds  *embeddingLog
	before  result.Observations // by the parts of the run before it was resumed
	secrets *redact.Redactor
	// unremoved says which brains of changing questions are left at a service that keeps
	// running.
	unremoved error
	// Created by compose.
	asked  pipeline.Asker
	scorer pipeline.Scorer
	paces  []pipeline.Pace
	mapped func() *result.MappedService // nil for a service without a mapping
}

func newRunner(cfg Config, kept pipeline.Keeper) *runner {
	r := &runner{cfg: cfg, sum: aggregate.New(cfg.TopK), limit: failures{limit: int64(cfg.MaxFailures)}}
	r.kept = retryKeeper{Keeper: kept, untried: map[int]bool{}}
	if r.cfg.Observer == nil {
		r.cfg.Observer = noObserver{}
	}
	secrets := slices.Clip(cfg.Secrets)
	if s := cfg.Subject.Session; s != nil {
		secrets = append(secrets, s.config.Secrets...)
	}
	r.secrets = redact.New(secrets...)
	if cfg.Pace != nil {
		r.paces = append(r.paces, cfg.Pace)
	}
	r.noteMapped()
	_, r.streak.stored = cfg.Subject.Records.(*StoredAnswers)
	if p := cfg.Notes.ReaderPrices; p != nil {
		r.sum.PriceReaders(*p)
	}
	if b := cfg.Notes.Baseline; b != nil {
		r.sum.Compare(b)
	}
	return r
}

// resume counts the questions already in the journal.
func (r *runner) resume() (int, error) {
	n := 0
	for i := range r.cfg.Dataset.Planned() {
		s := r.kept.State(i)
		if s.Finished && s.Outage && r.cfg.RetryErrors {
			r.kept.untried[i] = true
			continue
		}
		if !s.Finished {
			continue
		}
		rec, err := r.kept.Record(i)
		if err == nil {
			err = checkMode(rec, r.cfg.RequireMode)
		}
		if err != nil {
			return n, err
		}
		n++
		_ = r.limit.Finished(i, &rec) // drive checks it
		r.Recorded(rec)
	}
	return n, nil
}

// drive asks the remaining questions and returns the reason if something stops it early.
func (r *runner) drive(ctx context.Context) error {
	if err := r.limit.reached(); err != nil && ctx.Err() == nil {
		return err // of a resumed journal
	}
	end, err := r.compose()
	if err != nil {
		return err
	}
	defer end()
	again := map[int]bool{}
	for i := range r.kept.untried {
		again[i] = true
	}
	p := pipeline.Pipeline{
		Source: pipeline.UnfinishedSource{Dataset: r.cfg.Dataset, Keeper: r.kept, Again: again},
		Asker:  r.asked, Scorer: r.scorer, Keeper: r.kept, Observer: r,
		Brakes:      []pipeline.Brake{&r.limit, &r.streak},
		Concurrency: min(r.cfg.Concurrency, r.cfg.Dataset.Planned()), Paid: r.cfg.Paid,
		Several: len(Asked(r.cfg.Brains)) > 1,
	}
	for _, pace := range r.paces {
		p.Source = pipeline.Paced(p.Source, pace)
	}
	return p.Run(ctx)
}

// Asking implements pipeline.Observer.
func (r *runner) Asking(id string, begin bool) { r.cfg.Observer.Asking(id, begin) }

// Recorded implements pipeline.Observer.
func (r *runner) Recorded(rec result.Record) {
	_ = r.embeds.look() // a journal that cannot be written stops the run at the next question
	r.count(rec)
	r.cfg.Observer.Recorded(rec)
}

// noObserver is the Observer of an unobserved run.
type noObserver struct{}

func (noObserver) Asking(string, bool)    {}
func (noObserver) Recorded(result.Record) {}

// retryKeeper is a Keeper that tracks which finished questions are to be retried and have no new
// record yet.
type retryKeeper struct {
	pipeline.Keeper
	untried map[int]bool
}

// Append implements pipeline.Keeper.
func (k retryKeeper) Append(entries ...journal.Entry) error {
	err := k.Keeper.Append(entries...)
	for _, e := range entries {
		if err == nil && e.Finishes() {
			delete(k.untried, e.Index)
		}
	}
	return err
}

// failures is the Brake for Config.MaxFailures.
type failures struct {
	limit int64 // 0 for none
	n     atomic.Int64
}

// Finished implements pipeline.Brake.
func (f *failures) Finished(_ int, rec *result.Record) error {
	if rec.Passed || !rec.Outcome.Counts() {
		return nil
	}
	f.n.Add(1)
	return f.reached()
}

func (f *failures) reached() error {
	if n := f.n.Load(); f.limit > 0 && n >= f.limit {
		return fmt.Errorf("%w: %d did not pass", ErrMaxFailures, n)
	}
	return nil
}
