// Package harness evaluates one memory daemon from outside: it streams a
// dataset's questions through a daemon's ask or search endpoint, has every
// answer scored, keeps a journal that survives any end of the process, and
// writes the result file.
//
// Survey and LoadCorpus check the input, Target is the daemon under test,
// Fill fills its brains, Run does the work.
package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"evalctl/internal/llm"
	"evalctl/scorer"
)

// ErrDaemonDied is the cause with which a caller cancels Run's context when
// the daemon's process has ended.
var ErrDaemonDied = errors.New("the daemon died")

// ErrMode means that the daemon did not retrieve in the mode that was required.
var ErrMode = errors.New("the daemon ran another retrieval mode")

// deathGrace is how long a broken connection waits for word that the daemon's
// process has ended, which decides between a failed question and a stopped run.
const deathGrace = 250 * time.Millisecond

// answeringGrace is the same for a daemon that could still say that it failed.
const answeringGrace = 25 * time.Millisecond

// healthTimeout is how long a daemon may take to show that it is there.
const healthTimeout = 5 * time.Second

// Config is one run. All fields without a comment are required.
type Config struct {
	Target  *Target
	Dataset Dataset
	// Brains are those that are asked; they stand in the result. Their documents,
	// where they are known, tell which of them a daemon means whose paths differ.
	Brains  []Brain
	Scorer  scorer.Scorer
	Journal *Journal
	// Concurrency is how many questions are under way at once, at least 1.
	Concurrency int
	// Timeout bounds one question, all attempts included.
	Timeout time.Duration
	// RequireMode, when it is set, is the retrieval mode that every answer must
	// say it was made in; the first that does not stops the run with ErrMode.
	RequireMode string
	// Guards stand in the result's retrieval, next to what the answers show.
	Guards []Guard
	// Watched is set when the context is cancelled with ErrDaemonDied should
	// the daemon's process end.
	Watched bool
	// Paid is set when judging costs money: an answer is then in the journal
	// before it is judged, so that a killed run knows what may have been spent.
	Paid bool
	// Recorded, when set, is called with each finished question, the resumed
	// ones first, from one goroutine at a time.
	Recorded func(Record)
	Settings Settings
}

// Run asks what the journal does not hold yet, scores it, writes the result
// file and removes the journal. It returns the result and the file's path.
//
// When the run ends early (the context's end, a scorer's error, a budget) the
// result is partial and says so in Stopped, the file is written all the same,
// the journal stays for a resume, and the error is the reason.
func Run(ctx context.Context, cfg Config) (Result, string, error) {
	id := cfg.Journal.Identity()
	if id.Dataset.SHA256 != cfg.Dataset.SHA256 || id.Dataset.Selected != cfg.Dataset.Selected {
		return Result{}, "", fmt.Errorf("%s belongs to other questions than %s has now; start the run anew", cfg.Journal.Path(), cfg.Dataset.Path)
	}
	r := &runner{cfg: cfg, tally: NewTally(cfg.Target.TopK), known: cataloguesOf(cfg.Brains)}
	resumed, err := r.resume()
	if err != nil {
		return Result{}, "", err
	}
	stopped := r.drive(ctx)
	var closing error
	if stopped != nil {
		closing = cfg.Journal.add(entryLine{Kind: kindStopped})
	}
	if err := errors.Join(closing, cfg.Journal.Sync()); err != nil {
		return Result{}, "", errors.Join(stopped, err)
	}
	if r.tally.Finished() == cfg.Dataset.Selected {
		stopped = nil // what ended the context came after the last question
	}
	if err := r.addUnjudged(); err != nil {
		return Result{}, "", errors.Join(stopped, err)
	}
	res := Result{
		SDK: id.SDK, ScorerName: id.Scorer, Brain: id.Brain, Brains: usesOf(cfg.Brains), Identity: id, Settings: cfg.Settings,
		StartedAt: cfg.Journal.StartedAt(), FinishedAt: time.Now().UTC(),
		Stopped: stopReason(stopped), Resumed: resumed, Planned: cfg.Dataset.Selected,
	}
	res.Cost = Cost{SpentUSD: cfg.Journal.Spent(), CapUSD: cfg.Settings.CapUSD, UnpricedModel: cfg.Settings.UnpricedModel}
	res.fill(r.tally)
	if res.Retrieval != nil {
		res.Retrieval.Guards = append(append([]Guard{}, cfg.Guards...), res.Retrieval.Guards...)
	}
	path, err := cfg.Journal.writeResult(&res)
	if err != nil {
		return res, "", errors.Join(stopped, err)
	}
	if stopped != nil {
		return res, path, stopped
	}
	return res, path, cfg.Journal.Remove()
}

func stopReason(err error) Stop {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, llm.ErrBudgetExceeded):
		return StopBudget
	case errors.Is(err, ErrDaemonDied):
		return StopDaemon
	case errors.Is(err, ErrMode):
		return StopMode
	case errors.Is(err, errScorer):
		return StopScorer
	case errors.Is(err, context.Canceled):
		return StopInterrupted
	}
	return StopFailed
}

var errScorer = errors.New("no answer can be scored")

// runner holds what the stages of a run share.
type runner struct {
	cfg   Config
	tally *Tally
	known map[string]catalogue // by brain
}

// job is a question to ask, or one whose answer only lacks its grade.
type job struct {
	index  int
	q      Question
	answer *Record
}

// resume counts what the journal holds already.
func (r *runner) resume() (int, error) {
	n := 0
	for i, s := range r.cfg.Journal.slots {
		if !s.finished {
			continue
		}
		rec, err := r.cfg.Journal.record(i)
		if err != nil {
			return n, err
		}
		if err := r.checkMode(rec); err != nil {
			return n, err
		}
		n++
		r.finish(rec)
	}
	return n, nil
}

func (r *runner) finish(rec Record) {
	r.tally.Add(rec)
	if r.cfg.Recorded != nil {
		r.cfg.Recorded(rec)
	}
}

// addUnjudged counts the answers that a stopped run has left without a grade.
func (r *runner) addUnjudged() error {
	for i, s := range r.cfg.Journal.slots {
		if !s.answered || s.finished {
			continue
		}
		rec, err := r.cfg.Journal.record(i)
		if err != nil {
			return err
		}
		r.tally.Add(rec)
	}
	return nil
}

// drive runs feeder, workers and recorder until the questions are done or
// something stops them; it returns what did.
func (r *runner) drive(parent context.Context) error {
	ctx, abort := context.WithCancelCause(parent)
	defer abort(nil)
	// quit ends the feeding while questions under way still finish: what was
	// paid for is not thrown away.
	quit, soften := context.WithCancelCause(ctx)
	defer soften(nil)

	concurrency := min(r.cfg.Concurrency, r.cfg.Dataset.Selected)
	jobs := make(chan job)
	entries := make(chan entryLine, 4*concurrency)
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
				if err := r.work(ctx, j, entries); errors.Is(err, llm.ErrBudgetExceeded) {
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

// feed sends the questions that the journal does not hold finished.
func (r *runner) feed(ctx context.Context, jobs chan<- job) error {
	i := -1
	for q, err := range r.cfg.Dataset.Questions() {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil // the select below might still choose to send
		}
		i++
		slot := r.cfg.Journal.slots[i]
		if slot.finished {
			continue
		}
		next := job{index: i, q: q}
		if slot.answered {
			rec, err := r.cfg.Journal.record(i)
			if err != nil {
				return err
			}
			next.answer = &rec
		}
		select {
		case jobs <- next:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
