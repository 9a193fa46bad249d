package harness

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"evalctl/harness/aggregate"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/scorer"
)

// runner is the state that the stages of a run share: one goroutine feeds the questions, several
// work on them, and one records their outcomes.
type runner struct {
	cfg  Config
	kept keeper
	sum  *aggregate.Sum
	// failures counts the finished questions that did not pass; stopAsking ends the feeding.
	failures   atomic.Int64
	streak     streak
	stopAsking context.CancelCauseFunc
	// again are the questions that Config.RetryErrors tries again. Those of untried have no new
	// record yet; only the recorder uses it while questions are asked.
	again, untried map[int]bool
	documents      func(dataset.Question, result.Chunk, scorer.Ranking) []string
}

func newRunner(cfg Config, kept keeper) *runner {
	r := &runner{
		cfg: cfg, kept: kept, sum: aggregate.New(cfg.TopK),
		documents: cfg.Documents, again: map[int]bool{}, untried: map[int]bool{},
	}
	if cfg.ReaderPrices != nil {
		r.sum.PriceReaders(*cfg.ReaderPrices)
	}
	if cfg.Baseline != nil {
		r.sum.Compare(cfg.Baseline)
	}
	if r.documents == nil {
		paths := dataset.PathsByBrain(cfg.Brains)
		r.documents = func(q dataset.Question, c result.Chunk, gold scorer.Ranking) []string {
			return paths[q.Brain].Documents(c, gold)
		}
	}
	return r
}

// keeper stores the records of a run: a journal, or memory.
type keeper interface {
	State(question int) journal.State
	Record(question int) (result.Record, error)
	Append(entries ...journal.Entry) error
	Sync() error
	Unassigned() []result.JudgeCall
}

// memory is the keeper of a run without a journal. It keeps only the answers that wait for a grade,
// by question: like a journal's, entries of different questions can be used concurrently.
type memory struct {
	waiting []*result.Record
	// reopened are the questions of Config.Earlier that are asked again: waiting has the earlier try.
	reopened []bool
	calls    journal.Calls
}

// newMemory returns the keeper of a run of n questions, some of which are tried again.
func newMemory(n int, earlier map[int]result.Record) *memory {
	m := &memory{waiting: make([]*result.Record, n), reopened: make([]bool, n)}
	for i, rec := range earlier {
		if m.reopened[i] = rec.Outcome != result.Unscored; !m.reopened[i] {
			rec = rec.JudgeAgain()
		}
		m.waiting[i] = &rec
	}
	return m
}

func (m *memory) State(question int) journal.State {
	waits := m.waiting[question] != nil
	return journal.State{Answered: waits && !m.reopened[question], Reopened: waits && m.reopened[question]}
}

func (m *memory) Record(question int) (result.Record, error) { return *m.waiting[question], nil }

func (m *memory) Append(entries ...journal.Entry) error {
	for _, e := range entries {
		m.calls.Add(e)
		if e.Record != nil {
			m.reopened[e.Index] = false
		}
		switch {
		case e.Kind == journal.KindAnswer && e.Record.Outcome != result.Errored:
			m.waiting[e.Index] = e.Record
		case e.Kind == journal.KindAnswer, e.Kind == journal.KindGrade:
			m.waiting[e.Index] = nil
		}
	}
	return nil
}

func (m *memory) Sync() error { return nil }

func (m *memory) Unassigned() []result.JudgeCall { return m.calls.Unassigned() }

// job is a question to ask, or one whose answer only lacks its grade.
type job struct {
	index  int
	q      dataset.Question
	answer *result.Record
	// earlier is the record of an earlier try, reopen whether the journal does not say yet that there
	// is another one.
	earlier *result.Record
	reopen  bool
}

// resume counts the questions that the journal has already.
func (r *runner) resume() (int, error) {
	n := 0
	for i := range r.cfg.Dataset.Planned() {
		s := r.kept.State(i)
		if s.Finished && s.Outage && r.cfg.RetryErrors {
			r.again[i], r.untried[i] = true, true
			continue
		}
		if !s.Finished {
			continue
		}
		rec, err := r.kept.Record(i)
		if err != nil {
			return n, err
		}
		if err := r.checkMode(rec); err != nil {
			return n, err
		}
		n++
		r.countFailure(rec)
		r.finish(rec)
	}
	return n, nil
}

func (r *runner) finish(rec result.Record) {
	r.sum.Add(rec)
	if r.cfg.Recorded != nil {
		r.cfg.Recorded(rec)
	}
}

// completed is called when a question has its outcome.
func (r *runner) completed(index int, rec *result.Record) {
	r.countFailure(*rec)
	if _, stored := r.cfg.Asker.(*Stored); stored && rec.Outcome == result.Errored {
		return // it failed when it was asked
	}
	if err := r.streak.add(index, rec); err != nil {
		r.stopAsking(err)
	}
}

// countFailure counts a finished question if it did not pass.
func (r *runner) countFailure(rec result.Record) {
	if rec.Passed || rec.Outcome == result.NoGold {
		return
	}
	r.failures.Add(1)
	r.checkFailures()
}

// checkFailures stops asking if too many questions did not pass.
func (r *runner) checkFailures() {
	n := r.failures.Load()
	if limit := r.cfg.MaxFailures; limit > 0 && n >= int64(limit) && r.stopAsking != nil {
		r.stopAsking(fmt.Errorf("%w: %d did not pass", ErrMaxFailures, n))
	}
}

// drive runs feeder, workers and recorder until the questions are done or something stops them,
// and returns the reason if so.
func (r *runner) drive(parent context.Context) error {
	ctx, abort := context.WithCancelCause(parent)
	defer abort(nil)
	// quit ends only the feeding. Questions that are being asked still finish, so that answers that
	// were paid for are not lost.
	quit, soften := context.WithCancelCause(ctx)
	defer soften(nil)

	r.stopAsking = soften
	if r.cfg.Remote != nil {
		defer context.AfterFunc(quit, func() { r.cfg.Remote.Stop(context.Cause(quit)) })()
	}
	r.checkFailures() // of a resumed journal

	concurrency := min(r.cfg.Concurrency, r.cfg.Dataset.Planned())
	jobs := make(chan job)
	entries := make(chan entry, 4*concurrency)
	var workers, feeder sync.WaitGroup
	feeder.Go(func() {
		defer close(jobs)
		if err := r.feed(quit, jobs); err != nil {
			abort(err)
		}
	})
	for range concurrency {
		workers.Go(func() {
			for j := range jobs {
				if quit.Err() != nil {
					continue // it was fed in the moment in which the feeding ended
				}
				if err := r.work(ctx, j, entries); softly(err) || err != nil && r.cfg.Remote != nil {
					soften(err)
				} else if err != nil {
					abort(err)
				}
			}
		})
	}
	recorded := make(chan error, 1)
	go func() { recorded <- r.record(entries, abort) }()
	feeder.Wait()
	workers.Wait()
	close(entries)
	if err := <-recorded; err != nil {
		return err
	}
	return context.Cause(quit)
}

// feed sends the questions that are not finished.
func (r *runner) feed(ctx context.Context, jobs chan<- job) error {
	i := -1
	for q, err := range r.cfg.Dataset.Passes() {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil // the select below might still choose to send
		}
		i++
		state := r.kept.State(i)
		if state.Finished && !r.again[i] {
			continue
		}
		if r.cfg.Turn != nil {
			if err := r.cfg.Turn(ctx, i); err != nil {
				return err
			}
		}
		next := job{index: i, q: q, reopen: r.again[i]}
		if state.Answered || state.Reopened {
			if err := r.addRecord(&next, state); err != nil {
				return err
			}
		}
		select {
		case jobs <- next:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// addRecord adds what the journal has of a question.
func (r *runner) addRecord(j *job, state journal.State) error {
	rec, err := r.kept.Record(j.index)
	if err != nil {
		return err
	}
	switch {
	case state.Reopened, j.reopen && rec.Outcome != result.Unscored:
		j.earlier = &rec
	case j.reopen:
		again := rec.JudgeAgain()
		j.answer = &again
	default:
		j.answer = &rec
	}
	return nil
}
