// Package pipeline moves the questions of a run through four stages. A Source gives the questions,
// an Asker makes a record with an answer of each, a Scorer adds the grade, and a Keeper keeps the
// record. Run is the loop that connects them. Everything else is a composition of stages, or a stage
// around another one.
//
// A stage changes only the record that it returns, and it sees one question at a time. Only the
// Source decides which questions are asked and when, only the Asker and the Scorer make requests,
// and only the loop writes to the Keeper, from one goroutine. To stop a run, a stage returns an
// error or a Brake does; no stage ends another one, and what was begun is finished after an error
// of Soft.
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

// ErrScorer means that the scorer fails for a reason that does not depend on the answer.
var ErrScorer = errors.New("no answer can be scored")

// Job is a question on its way through the pipeline.
type Job struct {
	// Index is that of the question in the run, from 0.
	Index    int
	Question dataset.Question
	// Answer is a recorded answer that only lacks its grade, nil for a question to ask.
	Answer *result.Record
	// Earlier is the record of an earlier try, nil if there is none. Reopen is set if the keeper does
	// not know yet that there is another try.
	Earlier *result.Record
	Reopen  bool

	// hold has what the replies to the question take, until its record is kept.
	hold *intake.Hold
}

// Source gives the questions that are not finished.
type Source interface {
	// Jobs yields questions with ascending indexes. It may wait before each. It ends when ctx does,
	// which is as soon as no further question is to be asked. An error is the last thing it yields.
	Jobs(ctx context.Context) iter.Seq2[Job, error]
}

// Asker asks questions.
type Asker interface {
	// Ask returns the record of a question with its answer or failure, not scored. An error means that
	// there is neither, and ends the run: at once, or as Soft says. It is called concurrently.
	Ask(ctx context.Context, j Job) (result.Record, error)
}

// Stopper is an Asker that waits for others to ask. If no further question is to be asked, Stop is
// called with the reason. Calls of Ask for questions that nobody asks must then return an error.
type Stopper interface {
	Asker
	Stop(reason error)
}

// Scorer grades records.
type Scorer interface {
	// Check returns scorer.ErrNoGold for a question that is left out. It is not asked then.
	Check(q scorer.Item) error
	// Score returns a record with its grade. It also gets the records of failures, and of questions
	// that are left out, which it may change but cannot grade. The requests that it makes are written
	// to the keeper before they are sent, by the llm.Witness of ctx. If it fails, what it has spent is
	// in the record that it returns. It is called concurrently.
	Score(ctx context.Context, rec result.Record) (result.Record, error)
}

// Keeper keeps the records of a run: a journal, or memory.
type Keeper interface {
	State(question int) journal.State
	Record(question int) (result.Record, error)
	Append(entries ...journal.Entry) error
	Sync() error
	Unassigned() []result.JudgeCall
}

// Observer sees what happens to questions.
type Observer interface {
	// Asking is called when a question begins to be asked and when its answer or failure is there. It
	// is called concurrently.
	Asking(id string, begin bool)
	// Recorded is called with each record that is finished and safe in the keeper. Calls are not
	// concurrent.
	Recorded(rec result.Record)
}

// Brake ends the asking because of the questions that have finished.
type Brake interface {
	// Finished returns the reason why no further question is to be asked after this one, or nil. It is
	// called concurrently.
	Finished(question int, rec *result.Record) error
}

// Pipeline is the stages of a run and the loop that connects them. Fields without a comment are
// required.
type Pipeline struct {
	Source Source
	Asker  Asker
	// Scorer is nil if the records of Asker are scored already.
	Scorer   Scorer
	Keeper   Keeper
	Observer Observer
	// Brakes may be empty.
	Brakes []Brake
	// Concurrency is the number of concurrent questions.
	Concurrency int
	// Several is set if records name the brain of their question.
	Several bool
	// Paid is set if judging costs money. An answer is then written before it is judged, so that a
	// killed run knows what may have been spent.
	Paid bool
}

// softError is an error of Soft.
type softError struct{ error }

func (e softError) Unwrap() error { return e.error }

// Soft returns err as the error of a question that ends a run only once those that are being asked
// have finished.
func Soft(err error) error { return softError{err} }

// softly reports whether an error of a question ends the run as soon as those that are being asked
// have finished: what they cost is spent already.
func softly(err error) bool {
	return errors.As(err, new(softError)) ||
		errors.Is(err, llm.ErrBudgetExceeded) || errors.Is(err, scorer.ErrUnusable)
}

// loop is a pipeline that runs: one goroutine feeds the questions, several work on them, and one
// records their outcomes.
type loop struct {
	*Pipeline
	entries    chan entry
	stopAsking context.CancelCauseFunc
}

// Run moves the questions through the stages until they are done or something stops them, and
// returns the reason if so.
func (p *Pipeline) Run(parent context.Context) error {
	ctx, abort := context.WithCancelCause(parent)
	defer abort(nil)
	// quit ends only the feeding. Questions that are being asked still finish, so that answers that
	// were paid for are not lost.
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

// feed sends the questions of the source. Once ctx has ended, an error of the source is no reason
// to drop the questions that are being asked.
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
