package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

const (
	// maxTries is how many workers may die with a question before the run is stopped.
	maxTries = 10
	// softStop is how long a stopped worker continues with the questions that it has begun.
	softStop = time.Minute
)

// Jobs to be delivered again: at once to other workers, or after a moment, perhaps to this one.
var (
	toOthers = river.JobSnooze(0)
	later    = river.JobSnooze(time.Second)
)

// unused is River's default queue, which a client requires. Each run has its own queue.
var unused = river.QueueConfig{MaxWorkers: 1, FetchPollInterval: time.Hour}

// Task is a question of a run that a worker has claimed.
type Task struct {
	Run string
	Arm string
	// Index is the question's index in the dataset of the arm, counted from 0.
	Index    int
	Question string // its id, as Storable returns it
	// Earlier is the record of an earlier try to be repeated, nil for the first try.
	Earlier []byte
}

// Outcome is the result of the work on a task. At most one field is set. Without any, the question
// is given to another worker.
type Outcome struct {
	// Record is the record for the run.
	Record []byte
	// Stop ends the arm for all workers.
	Stop *StopError
	// Refused is the reason why this worker cannot work for the run. It takes no further question
	// of the run.
	Refused error
}

// Job describes a run to a worker.
type Job struct {
	ID      string
	Options json.RawMessage
	Books   *Books
}

// Handler works on the questions of runs.
type Handler interface {
	// Begin prepares for a run. An error is the reason why this worker cannot take part.
	Begin(ctx context.Context, j Job) (Worker, error)
	// Notice is called with messages for the user of the worker. Calls are concurrent.
	Notice(text string)
}

// Worker works on the questions of one run.
type Worker interface {
	// Ready prepares for an arm with the identity given to Run.Dispatch, before any of its
	// questions is taken. An error is the reason why this worker cannot take part. Calls for
	// several arms are concurrent.
	Ready(ctx context.Context, arm string, identity json.RawMessage) error
	// Work works on a task of a ready arm. It is called concurrently.
	Work(ctx context.Context, t Task) Outcome
	// Close is called after the run, or when this worker is stopped.
	Close() error
}

// Work takes questions until ctx ends, then finishes those in progress, for at most a minute.
// concurrency limits the number of questions at a time, of all runs together.
func (q *Queue) Work(ctx context.Context, concurrency int, h Handler) error {
	w := &worker{
		q: q, h: h, stop: ctx.Done(), places: make(chan struct{}, concurrency), runs: map[string]*attendance{},
		claims: map[taskID]bool{},
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{worker: w})
	client, err := river.NewClient(riverpgxv5.New(q.pool), &river.Config{
		ID: q.id, Schema: schemaName, Logger: quiet, Workers: workers,
		Queues:     map[string]river.QueueConfig{river.QueueDefault: unused},
		JobTimeout: jobTimeout, MaxAttempts: maxAttempts, SoftStopTimeout: softStop,
	})
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return fmt.Errorf("take questions from the queue: %w", err)
	}
	w.queues = client.Queues()
	w.lookForRuns(ctx)
	<-client.Stopped()
	w.attendances.Wait()
	return w.closeErr
}

// worker is the state of Work.
type worker struct {
	q      *Queue
	h      Handler
	queues *river.QueueBundle
	stop   <-chan struct{}
	places chan struct{} // has an element for each question that is worked on

	attendances sync.WaitGroup
	mu          sync.Mutex
	runs        map[string]*attendance // by id
	closeErr    error

	claimMu sync.Mutex
	claims  map[taskID]bool // the tasks that are worked on
	inDoubt bool            // the database may have other tasks as this worker's too
}

// taskID identifies a task.
type taskID struct {
	run, arm string
	index    int
}

// work works on the first unclaimed task of a run. After an error the job is delivered again.
func (w *worker) work(ctx context.Context, run string) error {
	select {
	case w.places <- struct{}{}:
		defer func() { <-w.places }()
	case <-w.stop:
		return toOthers
	}
	r := w.enter(run)
	if r == nil {
		return toOthers
	}
	defer r.active.Done()
	t := Task{Run: run}
	tries, err := w.claim(ctx, &t, r)
	switch {
	case errors.Is(err, pgx.ErrNoRows) && !w.wanted(ctx, run):
		return nil // others have all of them, or nobody collects the records any more
	case err != nil: // or they are of an arm that is not ready
		return later
	}
	var out Outcome
	if tries > maxTries {
		out.Stop = &StopError{"failed", fmt.Sprintf(
			"question %q of %s was begun %d times, and every worker that had it vanished; find out why, then resume", t.Question, t.Arm, tries-1)}
	} else {
		out = w.outcome(ctx, r.worker, t)
	}
	if ctx.Err() != nil && out.Record == nil {
		out = Outcome{} // it failed because this worker ends
	}
	if out.Refused != nil {
		r.refuse(out.Refused)
	}
	return w.finish(context.WithoutCancel(ctx), t, out)
}

// outcome works on a claimed task. A panic in the goroutine of the job stops the arm: River would
// discard it, and the question would stay claimed for as long as this process lives. A panic in
// another goroutine, such as one that asks or scores, ends the process, and its lease.
func (w *worker) outcome(ctx context.Context, by Worker, t Task) (out Outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			w.h.Notice(fmt.Sprintf("run %s: question %q of %s: panic: %v\n%s", t.Run, t.Question, t.Arm, cause, debug.Stack()))
			out = Outcome{Stop: &StopError{"failed", fmt.Sprintf(
				"question %q of %s: worker %s panicked, which is a defect of evalctl: %v; report what the worker printed, then resume",
				t.Question, t.Arm, w.q.id, cause)}}
		}
	}()
	return by.Work(ctx, t)
}

// enter returns a run that this worker takes part in, or nil. The caller must call active.Done on
// it.
func (w *worker) enter(run string) *attendance {
	select {
	case <-w.stop:
		return nil
	default:
	}
	w.mu.Lock()
	r := w.runs[run]
	w.mu.Unlock()
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left {
		return nil
	}
	r.active.Add(1)
	return r
}

// openTasks are the tasks of run $1 that somebody should work on.
const openTasks = ` FROM @tasks t JOIN @arms a ON a.run = t.run AND a.arm = t.arm JOIN @runs r ON r.id = t.run
	WHERE t.run = $1 AND t.record IS NULL AND t.worker IS NULL AND a.stop_kind IS NULL AND @alive(r.owner)`

// claim claims the first open task of the ready arms of a run for this worker, until leave. It
// returns pgx.ErrNoRows if there is none, while this worker has no lease, whose tasks the run's
// owner reopens, or if another process owns the run by now, perhaps with another cap.
func (w *worker) claim(ctx context.Context, t *Task, r *attendance) (tries int, err error) {
	w.claimMu.Lock()
	defer w.claimMu.Unlock()
	if w.inDoubt {
		if err := w.reopen(ctx); err != nil {
			return 0, err
		}
		w.inDoubt = false
	}
	err = w.q.row(ctx, `
		WITH first AS (
			SELECT t.arm, t.idx`+openTasks+` AND t.arm = ANY($3) AND r.owner = $4 AND @alive($2)
			ORDER BY t.idx, t.arm LIMIT 1 FOR UPDATE OF t SKIP LOCKED
		)
		UPDATE @tasks t SET worker = $2, tries = tries + 1 FROM first
		WHERE t.run = $1 AND t.arm = first.arm AND t.idx = first.idx
		RETURNING t.arm, t.idx, t.question, t.earlier, t.tries`,
		t.Run, w.q.id, r.arms(), r.owner).Scan(&t.Arm, &t.Index, &t.Question, &t.Earlier, &tries)
	if err == nil {
		w.claims[taskID{t.Run, t.Arm, t.Index}] = true
	}
	w.inDoubt = err != nil && !errors.Is(err, pgx.ErrNoRows) // it may have taken effect
	return tries, err
}

// reopen reopens tasks that the database assigns to this worker although nobody works on them.
func (w *worker) reopen(ctx context.Context) error {
	var runs, arms []string
	var indexes []int
	for p := range w.claims {
		runs, arms, indexes = append(runs, p.run), append(arms, p.arm), append(indexes, p.index)
	}
	_, err := w.q.exec(ctx, `
		UPDATE @tasks t SET worker = NULL, tries = tries - 1 WHERE t.worker = $1 AND t.record IS NULL AND NOT EXISTS (
			SELECT FROM unnest($2::text[], $3::text[], $4::int[]) AS held (run, arm, idx)
			WHERE held.run = t.run AND held.arm = t.arm AND held.idx = t.idx
		)`, w.q.id, runs, arms, indexes)
	return err
}

// leave ends the work on a claimed task. If the outcome could not be written, the task is reopened
// before the next claim.
func (w *worker) leave(t Task, err error) {
	w.claimMu.Lock()
	defer w.claimMu.Unlock()
	delete(w.claims, taskID{t.Run, t.Arm, t.Index})
	w.inDoubt = w.inDoubt || err != nil
}

// wanted reports whether a run has open tasks.
func (w *worker) wanted(ctx context.Context, run string) bool {
	var wanted bool
	err := w.q.row(ctx, `SELECT EXISTS (SELECT`+openTasks+`)`, run).Scan(&wanted)
	return err != nil || wanted
}

// finish writes the outcome of a task. After an error the job is delivered again.
func (w *worker) finish(ctx context.Context, t Task, out Outcome) error {
	const which = ` WHERE run = $1 AND arm = $2 AND idx = $3 AND record IS NULL`
	sql, last := `UPDATE @tasks SET worker = NULL, tries = tries - 1`+which+` AND worker = $4`, any(w.q.id)
	switch {
	case out.Record != nil: // it counts even if the task was given to somebody else meanwhile
		sql = `UPDATE @tasks SET record = $4, finished_at = clock_timestamp(), worker = NULL` + which
		last = out.Record
	case out.Stop != nil:
		if err := w.q.change(ctx, stopArm, t.Run, t.Arm, out.Stop.Kind, Storable(out.Stop.Text)); err != nil {
			w.h.Notice(fmt.Sprintf("run %s: stop %s: %v", t.Run, t.Arm, err))
		}
	}
	err := w.q.change(ctx, sql, t.Run, t.Arm, t.Index, last)
	w.leave(t, err)
	if err != nil {
		w.h.Notice(fmt.Sprintf("run %s: question %q of %s: write how it ended: %v", t.Run, t.Question, t.Arm, err))
		return later
	}
	switch {
	case out.Refused != nil:
		return toOthers
	case out.Record == nil && out.Stop == nil:
		return later
	}
	return nil
}
