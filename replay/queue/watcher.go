package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"evalctl/internal/postgres"
)

const (
	// lookEvery is how often the owner of a run looks for records.
	lookEvery = 200 * time.Millisecond
	// late is how long after it was written a record may become visible.
	late = 2 * time.Minute
)

// watcher is the state of the background work of a run's owner.
type watcher struct {
	*Run
	answered     map[task]bool // has a record
	since        time.Time     // records written before were looked at
	silentSince  time.Time     // since when the database does not answer
	starvedSince time.Time     // since when there are open tasks and no jobs
	crew         crew
}

// watchRun begins to collect records, to reassign the questions of dead workers, and to check for
// stopped arms.
func (q *Queue) watchRun(r *Run) *Run {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.watchEnd, r.waiters = cancel, make(chan struct{}), map[task]chan answer{}
	w := &watcher{Run: r, answered: map[task]bool{}, since: time.Unix(0, 0)}
	go func() {
		defer close(r.watchEnd)
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				w.failAll(context.Canceled)
				return
			}
			limited, cancel := context.WithTimeout(ctx, 2*attempt)
			err := w.check(w.look(limited))
			cancel()
			if err != nil && ctx.Err() == nil {
				w.failAll(err)
				return
			}
		}
	}()
	return r
}

// check returns permanent errors. If the database does not answer, it returns nil for a while.
func (w *watcher) check(err error) error {
	switch {
	case err == nil:
		w.silentSince = time.Time{}
		return nil
	case !postgres.Retryable(err):
		return err
	case w.silentSince.IsZero():
		w.silentSince = time.Now()
		w.notice(fmt.Sprintf("the queue does not answer: %v", err))
	case time.Since(w.silentSince) > patience:
		return fmt.Errorf("the queue does not answer: %w", err)
	}
	return nil
}

// failAll ends the wait for all records.
func (w *watcher) failAll(err error) {
	w.waitMu.Lock()
	defer w.waitMu.Unlock()
	w.waitErr = err
	for t, c := range w.waiters {
		c <- answer{err: err}
		delete(w.waiters, t)
	}
}

func (w *watcher) look(ctx context.Context) error {
	for _, step := range []func(context.Context) error{w.collect, w.reap, w.refill, w.stopped, w.workers} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// collect delivers records to the callers that wait for them.
func (w *watcher) collect(ctx context.Context) error {
	var now time.Time
	if err := w.q.row(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
		return err
	}
	rows, err := w.q.pool.Query(ctx, in(`
		SELECT arm, idx FROM @tasks WHERE run = $1 AND record IS NOT NULL AND finished_at >= $2`), w.run, w.since.Add(-late))
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, scanTask)
	if err != nil {
		return err
	}
	for _, t := range found {
		w.answered[t] = true
	}
	w.since = now
	for _, t := range w.awaited() {
		if !w.answered[t] {
			continue
		}
		var a answer
		err := w.q.row(ctx, `SELECT record FROM @tasks WHERE run = $1 AND arm = $2 AND idx = $3`, w.run, t.arm, t.i).Scan(&a.record)
		if err != nil {
			return err
		}
		if a.record == nil { // it was there, and the question is tried again
			delete(w.answered, t)
			continue
		}
		w.deliver(t, a)
	}
	return nil
}

// awaited returns the tasks that callers wait for.
func (w *watcher) awaited() []task {
	w.waitMu.Lock()
	defer w.waitMu.Unlock()
	return slices.Collect(maps.Keys(w.waiters))
}

func (w *watcher) deliver(t task, a answer) {
	w.waitMu.Lock()
	defer w.waitMu.Unlock()
	if c := w.waiters[t]; c != nil {
		c <- a
		delete(w.waiters, t)
	}
}

// reap counts the reservations of dead processes as spent, and frees their questions.
func (w *watcher) reap(ctx context.Context) error {
	var lost bool
	err := w.q.row(ctx, `
		SELECT EXISTS (SELECT FROM @charges WHERE run = $1 AND kind = 'open' AND NOT @alive(member))
			OR EXISTS (SELECT FROM @tasks WHERE run = $1 AND record IS NULL AND worker IS NOT NULL AND NOT @alive(worker))`, w.run).Scan(&lost)
	if err != nil || !lost {
		return err
	}
	if err := w.q.chargeLost(ctx, w.run); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, w.q.pool, func(tx pgx.Tx) error {
		return w.release(ctx, tx, `worker IS NOT NULL AND NOT @alive(worker)`)
	})
}

// starvation is how long open tasks may have no job.
const starvation = 2 * time.Second

// refill adds jobs if there are open tasks but no waiting jobs. A worker drops a job if it finds
// nothing to do, which may happen while this process has briefly lost its lease.
func (w *watcher) refill(ctx context.Context) error {
	var open, jobs int64
	err := w.q.row(ctx, `
		SELECT (SELECT count(*)`+openTasks+`), (SELECT count(*) FROM @river_job
			WHERE state IN ('available', 'pending', 'retryable', 'scheduled') AND queue = $1)`, w.run).
		Scan(&open, &jobs)
	switch {
	case err != nil:
		return err
	case open == 0 || jobs > 0:
		w.starvedSince = time.Time{}
		return nil
	case w.starvedSince.IsZero():
		w.starvedSince = time.Now()
		return nil
	case time.Since(w.starvedSince) < starvation:
		return nil
	}
	w.starvedSince = time.Time{}
	return pgx.BeginFunc(ctx, w.q.pool, func(tx pgx.Tx) error { return w.enqueue(ctx, tx, open) })
}

// stopped ends the wait for questions of stopped arms that nobody works on. Questions in progress
// may still be answered: their cost is spent already.
func (w *watcher) stopped(ctx context.Context) error {
	var owner *string
	err := w.q.row(ctx, `SELECT owner FROM @runs WHERE id = $1`, w.run).Scan(&owner)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return errGone(w.run)
	case err != nil:
		return err
	case owner == nil || *owner != w.q.id:
		return w.errTaken()
	}
	rows, err := w.q.pool.Query(ctx, in(`
		SELECT t.arm, t.idx, a.stop_kind, a.stop_text FROM @arms a JOIN @tasks t ON t.run = a.run AND t.arm = a.arm
		WHERE a.run = $1 AND a.stop_kind IS NOT NULL AND t.record IS NULL AND t.worker IS NULL`), w.run)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var t task
		var why StopError
		if err := rows.Scan(&t.arm, &t.i, &why.Kind, &why.Text); err != nil {
			return err
		}
		w.deliver(t, answer{err: &why})
	}
	return rows.Err()
}
