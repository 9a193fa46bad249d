package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"evalctl/internal/postgres"
)

const (
	// attendEvery is how often a worker looks for runs, and for new arms of its runs.
	attendEvery = 500 * time.Millisecond
	// absence is how long a run's owner may show no sign of life before a worker closes its
	// preparations. The worker takes none of its questions meanwhile.
	absence = 5 * time.Second
	// leaveStep limits how long leaving one run may keep a worker from joining others.
	leaveStep = 100 * time.Millisecond
)

// attendance is a worker's participation in a run, or its refusal, from when it sees the run until
// the run's owner ends.
type attendance struct {
	job       Job
	owner     string   // the process that has the run
	worker    Worker   // nil until it has begun
	knownArms []string // arms that are ready or being prepared for
	joined    bool     // takes jobs
	end       context.CancelFunc
	absent    time.Time // since when the owner shows no sign of life
	active    sync.WaitGroup

	mu        sync.Mutex
	readyArms []string // arms
	left      bool     // nothing is begun any more
	refusal   chan error
	armReady  chan struct{} // another arm is ready
}

// arms returns the arms that are ready.
func (r *attendance) arms() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.readyArms
}

// refuse ends this worker's participation in the run.
func (r *attendance) refuse(problem error) {
	r.leave()
	select {
	case r.refusal <- problem:
	default: // for an earlier reason
	}
}

// leave stops the worker from beginning anything more of the run.
func (r *attendance) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = true
}

// lookForRuns attends the runs of the queue until ctx ends.
func (w *worker) lookForRuns(ctx context.Context) {
	tick := time.NewTicker(attendEvery)
	defer tick.Stop()
	silent := false
	for {
		runs, err := w.q.runs(ctx)
		switch {
		case err == nil:
			silent = false
			w.compare(ctx, runs)
		case ctx.Err() == nil && !silent: // nothing is known of the runs, so nothing is changed
			silent = true
			w.h.Notice(fmt.Sprintf("the queue does not answer: %v", err))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// ownedRun is a run with an owner.
type ownedRun struct {
	id, owner string
	alive     bool
}

func (q *Queue) runs(ctx context.Context) ([]ownedRun, error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	rows, err := q.pool.Query(ctx, in(`SELECT id, owner, @alive(owner) FROM @runs WHERE owner IS NOT NULL`))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (o ownedRun, err error) {
		return o, row.Scan(&o.id, &o.owner, &o.alive)
	})
}

// compare begins to attend new runs. It stops attending runs that have ended or changed their
// owner, and runs whose owner has shown no sign of life for absence.
func (w *worker) compare(ctx context.Context, runs []ownedRun) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := map[string]ownedRun{}
	for _, o := range runs {
		known[o.id] = o
	}
	for id, r := range w.runs {
		switch {
		case known[id].owner != r.owner:
			r.end() // and it is attended again if another process has it
		case known[id].alive:
			r.absent = time.Time{}
		case r.absent.IsZero():
			r.absent = time.Now()
		case time.Since(r.absent) > absence:
			r.end()
		}
	}
	for _, o := range runs {
		if !o.alive || w.runs[o.id] != nil {
			continue
		}
		ctx, end := context.WithCancel(ctx)
		r := &attendance{job: Job{ID: o.id}, owner: o.owner, end: end, refusal: make(chan error, 1), armReady: make(chan struct{}, 1)}
		w.runs[o.id] = r
		w.attendances.Go(func() { w.attend(ctx, r) })
	}
}

// attend takes part in a run until ctx ends. A worker that refuses the run remembers this until
// then, and gets none of its jobs.
func (w *worker) attend(ctx context.Context, r *attendance) {
	if problem := w.takePart(ctx, r); problem != nil && ctx.Err() == nil {
		w.leaveQueue(r)
		w.h.Notice(fmt.Sprintf("run %s is refused: %v; repair this, and start the worker again", r.job.ID, problem))
		err := w.q.change(ctx, `INSERT INTO @refusals VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
			r.job.ID, r.owner, w.q.id, Storable(problem.Error()))
		if err != nil && ctx.Err() == nil {
			w.h.Notice(fmt.Sprintf("run %s: refuse it: %v", r.job.ID, err))
		}
	}
	<-ctx.Done()
	r.end()
	w.leaveQueue(r)
	r.active.Wait()
	var err error
	if r.worker != nil {
		if err = r.worker.Close(); err != nil {
			w.h.Notice(fmt.Sprintf("run %s: %v", r.job.ID, err))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.runs, r.job.ID)
	w.closeErr = errors.Join(w.closeErr, err)
}

// takePart prepares for a run, then for each of its arms, and takes jobs until ctx ends. The error
// is the reason why this worker cannot take part.
func (w *worker) takePart(ctx context.Context, r *attendance) error {
	tick := time.NewTicker(attendEvery)
	defer tick.Stop()
	for {
		if problem := w.prepare(ctx, r); problem != nil {
			return problem
		}
		select {
		case <-tick.C:
		case <-r.armReady:
		case problem := <-r.refusal:
			return problem
		case <-ctx.Done():
			return nil
		}
	}
}

// prepare prepares for new arms of a run, and joins its queue once an arm is ready. If the database
// does not answer, the next call tries again.
func (w *worker) prepare(ctx context.Context, r *attendance) error {
	if r.worker == nil {
		books, options, err := w.q.find(ctx, r.job.ID)
		if err != nil {
			return unlessRetryable(err)
		}
		r.job.Options, r.job.Books = options, books
		worker, err := w.h.Begin(ctx, r.job)
		if err != nil {
			return err
		}
		r.worker = worker
	}
	arms, err := w.newArms(ctx, r)
	if err == nil && len(arms) > 0 {
		err = r.job.Books.readCap(ctx) // the run's owner may have replaced it since Begin
	}
	if err != nil {
		return unlessRetryable(err)
	}
	for _, a := range arms {
		r.knownArms = append(r.knownArms, a.Name)
		r.active.Go(func() { r.makeReady(ctx, a) })
	}
	if len(r.arms()) == 0 || r.joined {
		return nil
	}
	r.joined = true
	return w.queues.Add(r.job.ID, river.QueueConfig{MaxWorkers: cap(w.places)})
}

// makeReady prepares for an arm.
func (r *attendance) makeReady(ctx context.Context, a newArm) {
	if err := r.worker.Ready(ctx, a.Name, a.Identity); err != nil {
		r.refuse(err)
		return
	}
	r.mu.Lock()
	r.readyArms = append(r.readyArms[:len(r.readyArms):len(r.readyArms)], a.Name) // others may have the slice
	r.mu.Unlock()
	select {
	case r.armReady <- struct{}{}:
	default:
	}
}

type newArm struct {
	Name     string
	Identity []byte
}

// newArms returns unseen arms with open tasks.
func (w *worker) newArms(ctx context.Context, r *attendance) ([]newArm, error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	rows, err := w.q.pool.Query(ctx, in(`
		SELECT arm, identity FROM @arms mine
		WHERE run = $1 AND arm <> ALL(coalesce($2::text[], '{}'))
			AND EXISTS (SELECT`+openTasks+` AND t.arm = mine.arm)
		ORDER BY arm`), r.job.ID, r.knownArms)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[newArm])
}

func unlessRetryable(err error) error {
	if postgres.Retryable(err) {
		return nil
	}
	return err
}

// leaveQueue takes no further job of a run, and returns when the jobs in progress have ended.
func (w *worker) leaveQueue(r *attendance) {
	r.leave()
	for r.joined {
		ctx, cancel := context.WithTimeout(context.Background(), leaveStep)
		err := w.queues.Remove(ctx, r.job.ID)
		cancel()
		r.joined = errors.Is(err, context.DeadlineExceeded)
	}
}
