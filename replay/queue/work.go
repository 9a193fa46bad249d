package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"evalctl/replay/ledger"
)

const (
	// maxTries is how many workers may vanish with a question before the run is stopped.
	maxTries = 10
	// snooze is how long a question waits for another worker if one cannot take it.
	snooze = time.Second
	// softStop is how long a worker that is stopped finishes the questions that it has begun.
	softStop = time.Minute
)

// Task is a question of a run that a worker has claimed.
type Task struct {
	Run string
	Arm string
	// Index is the question's in the dataset of the arm, counted from 0.
	Index    int
	Question string // its id
}

// Outcome is how the work on a task ended. At most one field is set; without any, the question is
// given to somebody else.
type Outcome struct {
	// Record is what the run collects.
	Record []byte
	// Stop ends the arm: nobody can go on.
	Stop *StopError
	// Refused is why this worker cannot work for the run. It takes no further question of it.
	Refused error
}

// Job is what a worker knows of a run.
type Job struct {
	ID      string
	Options json.RawMessage
	Books   ledger.Books
}

// Handler works on the questions of runs.
type Handler interface {
	// Begin prepares for a run. The error is why this worker cannot take part.
	Begin(ctx context.Context, j Job) (Worker, error)
	// Notice is called with what the person at the worker should know. Calls are concurrent.
	Notice(text string)
}

// Worker works on the questions of one run. Its methods except Close are called concurrently.
type Worker interface {
	// Work works on a task of an arm with an identity, as given to Run.Dispatch.
	Work(ctx context.Context, t Task, identity json.RawMessage) Outcome
	// Close is called after the run, or when this worker is stopped.
	Close() error
}

// Work takes questions until ctx ends, then finishes those it has begun, for at most a minute.
// concurrency is the number of questions at a time.
func (q *Queue) Work(ctx context.Context, concurrency int, h Handler) error {
	w := &worker{q: q, h: h, runs: map[string]*working{}}
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{worker: w})
	client, err := river.NewClient(riverpgxv5.New(q.pool), &river.Config{
		ID: q.id, Schema: schemaName, Logger: quiet, Workers: workers,
		Queues:     map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: concurrency}},
		JobTimeout: jobTimeout, RescueStuckJobsAfter: rescueAfter, MaxAttempts: maxAttempts,
		SoftStopTimeout: softStop,
	})
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return fmt.Errorf("take questions from the queue: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.closeEnded(client.Stopped())
	}()
	<-client.Stopped()
	<-ended
	return w.closeAll()
}

// worker is the state of Work.
type worker struct {
	q *Queue
	h Handler

	mu   sync.Mutex
	runs map[string]*working
}

// working is a run that this process takes part in.
type working struct {
	job     Job
	worker  Worker       // of prepare
	prepare func() error // once
	active  sync.WaitGroup
	ended   bool

	mu      sync.Mutex
	refused error
}

// work works on the first task of a run that nobody has. It returns false if the job is to be
// delivered again.
func (w *worker) work(ctx context.Context, run string) bool {
	r := w.enter(ctx, run)
	if r == nil {
		return !w.wanted(ctx, run) // it is being closed, and may have been resumed meanwhile
	}
	defer r.active.Done()
	if problem := r.problem(); problem != nil {
		w.refuse(ctx, r, problem)
		return !w.wanted(ctx, run)
	}
	t := Task{Run: run}
	identity, tries, err := w.claim(ctx, &t)
	if errors.Is(err, pgx.ErrNoRows) {
		return true // others have all of them, or nobody collects the records any more
	}
	if err != nil {
		return false
	}
	var out Outcome
	if tries > maxTries {
		out.Stop = &StopError{"failed", fmt.Sprintf(
			"question %q of %s was begun %d times, and every worker vanished that had it; see why, then resume", t.Question, t.Arm, tries-1)}
	} else if out.Refused = r.prepare(); out.Refused == nil {
		out = r.worker.Work(ctx, t, identity)
	}
	if ctx.Err() != nil && out.Record == nil {
		out = Outcome{} // it failed because this worker ends
	}
	return w.finish(context.WithoutCancel(ctx), r, t, out)
}

// enter returns the state of a run, which must be left with active.Done, or nil if it has ended.
func (w *worker) enter(ctx context.Context, run string) *working {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.runs[run]
	if r == nil {
		r = &working{job: Job{ID: run}}
		ctx := context.WithoutCancel(ctx) // it is for later tasks as well
		r.prepare = sync.OnceValue(func() error { return w.begin(ctx, r) })
		w.runs[run] = r
	}
	if r.ended {
		return nil
	}
	r.active.Add(1)
	return r
}

func (r *working) problem() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused
}

// begin prepares for a run.
func (w *worker) begin(ctx context.Context, r *working) error {
	books, options, err := w.q.find(ctx, r.job.ID)
	if err != nil {
		return err
	}
	r.job.Options, r.job.Books = options, books
	r.worker, err = w.h.Begin(ctx, r.job)
	return err
}

// openTasks are the tasks of run $1 that somebody should work on.
const openTasks = ` FROM @tasks t JOIN @arms a ON a.run = t.run AND a.arm = t.arm JOIN @runs r ON r.id = t.run
	WHERE t.run = $1 AND t.record IS NULL AND t.worker IS NULL AND a.stop_kind IS NULL AND @alive(r.owner)`

// claim makes the first open task this worker's. The error is pgx.ErrNoRows if there is none. What
// vanished workers had is opened by the process that has the run.
func (w *worker) claim(ctx context.Context, t *Task) (identity json.RawMessage, tries int, err error) {
	var raw []byte
	err = w.q.row(ctx, `
		WITH first AS (
			SELECT t.arm, t.idx, a.identity`+openTasks+` ORDER BY t.idx, t.arm LIMIT 1 FOR UPDATE OF t SKIP LOCKED
		)
		UPDATE @tasks t SET worker = $2, tries = tries + 1 FROM first
		WHERE t.run = $1 AND t.arm = first.arm AND t.idx = first.idx
		RETURNING t.arm, t.idx, t.question, t.tries, first.identity`,
		t.Run, w.q.id).Scan(&t.Arm, &t.Index, &t.Question, &tries, &raw)
	return raw, tries, err
}

// wanted reports whether a run has open tasks.
func (w *worker) wanted(ctx context.Context, run string) bool {
	var wanted bool
	err := w.q.row(ctx, `SELECT EXISTS (SELECT`+openTasks+`)`, run).Scan(&wanted)
	return err != nil || wanted
}

// finish writes how the work ended. It returns false if somebody else should work on the task.
func (w *worker) finish(ctx context.Context, r *working, t Task, out Outcome) bool {
	const which = ` WHERE run = $1 AND arm = $2 AND idx = $3 AND record IS NULL`
	sql, last := `UPDATE @tasks SET worker = NULL, tries = tries - 1`+which+` AND worker = $4`, any(w.q.id)
	switch {
	case out.Record != nil: // it counts even if the task was given to somebody else meanwhile
		sql = `UPDATE @tasks SET record = $4, finished_at = clock_timestamp(), worker = NULL` + which
		last = out.Record
	case out.Stop != nil:
		if err := w.q.stopArm(ctx, t.Run, t.Arm, *out.Stop); err != nil {
			w.h.Notice(fmt.Sprintf("run %s: stop %s: %v", t.Run, t.Arm, err))
		}
	case out.Refused != nil:
		w.refuse(ctx, r, out.Refused)
	}
	if err := w.q.change(ctx, sql, t.Run, t.Arm, t.Index, last); err != nil {
		w.h.Notice(fmt.Sprintf("run %s: question %q of %s: write how it ended: %v", t.Run, t.Question, t.Arm, err))
		return false
	}
	return out.Record != nil || out.Stop != nil
}

// refuse notes that this worker cannot work for a run. It does so each time, because a run that is
// resumed has forgotten it.
func (w *worker) refuse(ctx context.Context, r *working, problem error) {
	r.mu.Lock()
	first := r.refused == nil
	if first {
		r.refused = problem
	}
	r.mu.Unlock()
	if first {
		w.h.Notice(fmt.Sprintf("run %s: %v", r.job.ID, problem))
	}
	err := w.q.change(ctx, `INSERT INTO @refusals VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, r.job.ID, w.q.id, problem.Error())
	if err != nil {
		w.h.Notice(fmt.Sprintf("run %s: refuse it: %v", r.job.ID, err))
	}
}

// lookForEnded is how often a worker looks for runs that have ended.
const lookForEnded = 5 * time.Second

// closeEnded closes what was prepared for runs that have ended or wait for --resume, until stopped.
func (w *worker) closeEnded(stopped <-chan struct{}) {
	tick := time.NewTicker(lookForEnded)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-stopped:
			return
		}
		for _, r := range w.endedRuns() {
			r.active.Wait()
			if r.worker != nil {
				if err := r.worker.Close(); err != nil {
					w.h.Notice(fmt.Sprintf("run %s: %v", r.job.ID, err))
				}
			}
			w.mu.Lock()
			delete(w.runs, r.job.ID)
			w.mu.Unlock()
		}
	}
}

// endedRuns marks the runs that nobody collects records of any more.
func (w *worker) endedRuns() (out []*working) {
	w.mu.Lock()
	var ids []string
	for id := range w.runs {
		ids = append(ids, id)
	}
	w.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookForEnded)
	defer cancel()
	rows, err := w.q.pool.Query(ctx, in(`SELECT id FROM @runs WHERE id = ANY($1) AND @alive(owner)`), ids)
	if err != nil {
		return nil
	}
	open, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil
	}
	running := map[string]bool{}
	for _, id := range open {
		running[id] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		if r := w.runs[id]; r != nil && !running[id] && !r.ended {
			r.ended = true
			out = append(out, r)
		}
	}
	return out
}

func (w *worker) closeAll() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	for id, r := range w.runs {
		if r.worker != nil {
			errs = append(errs, r.worker.Close())
		}
		delete(w.runs, id)
	}
	return errors.Join(errs...)
}
