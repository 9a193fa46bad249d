// Package pipeline moves the questions of a run through four stages. A Source yields the questions,
// an Asker makes a record with an answer for each, a Scorer adds the grade, and a Keeper stores the
// record. Run is the loop that connects them. Everything else is a composition of stages, or a
// stage around another one.
//
// A stage sees one question at a time and changes only the record that it returns. Only the Source
// decides which questions are asked and when, only the Asker and the Scorer make requests, and only
// the loop writes to the Keeper, from one goroutine. To stop a run, a stage or a Brake returns an
// error; no stage ends another one. After an error from Soft, work in progress is finished.
package pipeline

import (
	"context"
	"errors"
	"iter"
	"sync"

	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/internal/intake"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// ErrScorer means that the scorer fails regardless of the answer.
var ErrScorer = errors.New("no answer can be scored")

// Job is a question on its way through the pipeline.
type Job struct {
	// Index is the question's index in the run, from 0.
	Index    int
	Question dataset.Question
	// Answer is a recorded answer without a grade, nil for a question to ask.
	Answer *result.Record
	// Earlier is the record of an earlier try, nil if there is none. Reopen is set if the keeper
	// has not yet recorded the new try.
	Earlier *result.Record
	Reopen  bool
	// Judged is the record of an answer that is judged again because a judge of its panel did not
	// answer. It is kept if judges do not answer again. Nil for other answers.
	Judged *result.Record

	// hold accounts for the memory of the question's replies until its record is stored.
	hold *intake.Hold
}

// Source yields the unfinished questions.
type Source interface {
	// Jobs yields questions with ascending indexes. It may wait before each. It ends when ctx ends,
	// which means that no further question is wanted. An error is the last item.
	Jobs(ctx context.Context) iter.Seq2[Job, error]
}

// Asker asks questions.
type Asker interface {
	// Ask returns the unscored record of a question with its answer or failure. An error means that
	// there is neither, and ends the run, at once or as described at Soft. It must be safe for
	// concurrent use.
	Ask(ctx context.Context, j Job) (result.Record, error)
}

// Stopper is an Asker that waits for other processes to ask. Stop is called with the reason when no
// further question is wanted. Ask must then return an error for questions that nobody is asking.
type Stopper interface {
	Asker
	Stop(reason error)
}

// Scorer grades records.
type Scorer interface {
	// Check returns scorer.ErrNoGold for a question to leave out, which is then not asked.
	Check(q scorer.Item) error
	// Score returns a record with its grade. It is also called for failed and left out questions,
	// whose records it may change but cannot grade. The llm.Witness in ctx writes its requests to
	// the keeper before they are sent. If it fails, the returned record has the amount spent. It
	// must be safe for concurrent use.
	Score(ctx context.Context, rec result.Record) (result.Record, error)
}

// Keeper stores the records of a run, in a journal or in memory.
type Keeper interface {
	State(question int) journal.State
	Record(question int) (result.Record, error)
	Append(entries ...journal.Entry) error
	Sync() error
	Unassigned() []result.JudgeCall
}

// Observer follows the progress of questions.
type Observer interface {
	// Asking is called when a question starts and when it has been answered or has failed. Calls
	// are concurrent.
	Asking(id string, begin bool)
	// Recorded is called for each finished record once it is safe in the keeper or, if the keeper
	// fails, once it is in it. Calls are not concurrent.
	Recorded(rec result.Record)
}

// Brake stops the asking depending on finished questions.
type Brake interface {
	// Finished returns a reason for asking no further question after this one, or nil. It must be
	// safe for concurrent use.
	Finished(question int, rec *result.Record) error
}

// Pipeline connects the stages of a run. Fields without a comment are required.
type Pipeline struct {
	Source Source
	Asker  Asker
	// Scorer is nil if the Asker's records are already scored.
	Scorer   Scorer
	Keeper   Keeper
	Observer Observer
	// Brakes may be empty.
	Brakes []Brake
	// Concurrency is the number of concurrent questions.
	Concurrency int
	// Several is set if records name the brain of their question.
	Several bool
	// Paid is set if judging costs money. Answers are then written before they are judged, so that
	// a killed run knows what it may have spent.
	Paid bool
}

// softError is an error from Soft.
type softError struct{ error }

func (e softError) Unwrap() error { return e.error }

// Soft wraps an error so that it ends a run only once the questions in progress have finished.
func Soft(err error) error { return softError{err} }

// softly reports whether a question's error ends the run only after the questions in progress,
// whose cost is already spent.
func softly(err error) bool {
	return errors.As(err, new(softError)) ||
		errors.Is(err, llm.ErrBudgetExceeded) || errors.Is(err, scorer.ErrUnusable)
}

// loop is a running pipeline: one goroutine feeds the questions, several work on them, and one
// records their outcomes.
type loop struct {
	*Pipeline
	entries    chan entry
	stopAsking context.CancelCauseFunc
}

// Run moves the questions through the stages until they are done or something stops them, and
// returns the reason in the latter case.
func (p *Pipeline) Run(parent context.Context) error {
	ctx, abort := context.WithCancelCause(parent)
	defer abort(nil)
	// quit ends only the feeding. Questions in progress still finish, so that paid answers are not
	// lost.
	quit, soften := context.WithCancelCause(ctx)
	defer soften(nil)

	if s, ok := p.Asker.(Stopper); ok {
		defer context.AfterFunc(quit, func() { s.Stop(context.Cause(quit)) })()
	}
	l := &loop{Pipeline: p, entries: make(chan entry, 4*p.Concurrency), stopAsking: soften}
	jobs := make(chan Job)
	var workers, feeder sync.WaitGroup
	feeder.Go(func() {
		defer close(jobs)
		if err := l.feed(quit, jobs); err != nil {
			abort(err)
		}
	})
	for range p.Concurrency {
		workers.Go(func() {
			for j := range jobs {
				if quit.Err() != nil {
					continue // it was fed in the moment in which the feeding ended
				}
				if err := l.work(ctx, j); softly(err) {
					soften(err)
				} else if err != nil {
					abort(err)
				}
			}
		})
	}
	recorded := make(chan error, 1)
	go func() { recorded <- p.record(l.entries, abort) }()
	feeder.Wait()
	workers.Wait()
	close(l.entries)
	if err := <-recorded; err != nil {
		return err
	}
	return context.Cause(quit)
}

// feed sends the source's questions. After the end of ctx it ignores errors of the source, which
// must not abort questions in progress.
func (l *loop) feed(ctx context.Context, jobs chan<- Job) error {
	for j, err := range l.Source.Jobs(ctx) {
		switch {
		case ctx.Err() != nil:
			return nil // the select below might still choose to send
		case err != nil:
			return err
		}
		select {
		case jobs <- j:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
