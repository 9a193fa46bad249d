package queue

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"evalctl/internal/llm"
)

// Run is a replay whose questions workers take. One process at a time owns it: it puts the
// questions on the queue and collects their records. It is safe for concurrent use.
type Run struct {
	*Books
	notice  func(string)
	resumed int

	cancel   context.CancelFunc
	watchEnd chan struct{}

	waitMu  sync.Mutex
	waiters map[task]chan answer
	waitErr error // why no record can be waited for any more
	status  Status
}

// task is a question of an arm, by its index in the dataset.
type task struct {
	arm string
	i   int
}

type answer struct {
	record []byte
	err    error
}

// StopError means that no further question of an arm is asked.
type StopError struct{ Kind, Text string }

func (e *StopError) Error() string { return e.Text }

func errGone(run string) error {
	return fmt.Errorf("the queue has no run %q: the run has finished, or this is another queue; start a new replay", run)
}

// Create puts a run without questions on the queue. options are stored for the workers. limit caps
// the spending of all processes together, nil for no cap. notice is called with messages for the
// user, for example that there is no worker; calls are not concurrent.
func (q *Queue) Create(ctx context.Context, options json.RawMessage, started time.Time, limit *llm.USD, notice func(string)) (*Run, error) {
	// PostgreSQL stores microseconds.
	started = started.Truncate(time.Microsecond)
	id := started.Format("20060102-150405-") + strings.ToLower(rand.Text()[:6])
	_, err := q.exec(ctx, `INSERT INTO @runs (id, started_at, options, cap, owner) VALUES ($1, $2, $3, $4, $5)`,
		id, started, []byte(options), limit, q.id)
	if err != nil {
		return nil, fmt.Errorf("put the run on the queue: %w", err)
	}
	return q.watchRun(&Run{
		Books: &Books{q: q, run: id, started: started, cap: limit}, notice: notice,
	}), nil
}

// Resume takes over an unfinished run of another process. It returns ErrBusy while that process is
// alive. Workers begin no question of an arm before Dispatch. Reservations of dead processes count
// as spent.
func (q *Queue) Resume(ctx context.Context, id string, notice func(string)) (*Run, error) {
	books, _, err := q.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if err = q.takeOver(ctx, id); err == nil {
		err = q.chargeLost(ctx, id)
	}
	r := &Run{Books: books, notice: notice}
	if err == nil {
		err = q.row(ctx, `SELECT count(*) FROM @tasks WHERE run = $1 AND record IS NOT NULL`, id).Scan(&r.resumed)
	}
	if err != nil {
		return nil, fmt.Errorf("resume run %s: %w", id, err)
	}
	return q.watchRun(r), nil
}

// takeOver makes this process the owner of a run, and stops its arms: the cap may change, and the
// files and the judge may be refused, before anything more is spent.
func (q *Queue) takeOver(ctx context.Context, run string) error {
	return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, in(`
			UPDATE @runs SET owner = $2, closed = false
			WHERE id = $1 AND (owner IS NULL OR NOT @alive(owner))`), run, q.id)
		if err == nil && tag.RowsAffected() == 0 {
			err = fmt.Errorf("%w; if it was killed a moment ago, try again in %v", ErrBusy, q.lease)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, in(`
			UPDATE @arms SET stop_kind = 'resuming', stop_text = 'the run is being resumed'
			WHERE run = $1 AND stop_kind IS NULL`), run)
		return err
	})
}

// errTaken means that this process has lost the run.
func (r *Run) errTaken() error {
	return fmt.Errorf("run %s: %w: another process resumed the run while this one did not answer", r.run, ErrBusy)
}

// owning calls do in a transaction in which no other process can take over the run. It returns an
// error if one has done so. do must be idempotent.
func (r *Run) owning(ctx context.Context, do func(ctx context.Context, tx pgx.Tx) error) error {
	return retrying(ctx, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, r.q.pool, func(tx pgx.Tx) error {
			if err := r.own(ctx, tx, `FOR NO KEY UPDATE`); err != nil {
				return err
			}
			return do(ctx, tx)
		})
	})
}

// own returns an error if another process has taken over the run. With lock FOR NO KEY UPDATE, none
// can until the transaction ends, and the requests of all workers wait.
func (r *Run) own(ctx context.Context, tx pgx.Tx, lock string) error {
	tag, err := tx.Exec(ctx, in(`SELECT 1 FROM @runs WHERE id = $1 AND owner = $2 `+lock), r.run, r.q.id)
	if err == nil && tag.RowsAffected() == 0 {
		err = r.errTaken()
	}
	return err
}

// change executes an idempotent statement, whose first argument is the run. See owning.
func (r *Run) change(ctx context.Context, sql string, args ...any) error {
	return r.owning(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, in(sql), append([]any{r.run}, args...)...)
		return err
	})
}

// Resumed returns the number of questions that had a record when the run was resumed.
func (r *Run) Resumed() int { return r.resumed }

// Find returns the options, the cap and the start time of a run.
func (q *Queue) Find(ctx context.Context, id string) (options json.RawMessage, limit *llm.USD, started time.Time, err error) {
	b, options, err := q.find(ctx, id)
	if err != nil {
		return nil, nil, started, err
	}
	return options, b.cap, b.started, nil
}

func (q *Queue) find(ctx context.Context, id string) (*Books, json.RawMessage, error) {
	b := &Books{q: q, run: id}
	var options []byte
	err := q.row(ctx, `SELECT started_at, options, cap FROM @runs WHERE id = $1`, id).Scan(&b.started, &options, &b.cap)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, errGone(id)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("find run %s: %w", id, err)
	}
	b.started = b.started.UTC()
	return b, options, nil
}

// ID returns the id for --resume.
func (r *Run) ID() string { return r.run }

// SetCap replaces the cap of a resumed run. options are added to those of Create, nil for none.
func (r *Run) SetCap(ctx context.Context, limit llm.USD, options json.RawMessage) error {
	var more *string
	if options != nil {
		more = new(string(options))
	}
	err := r.change(ctx, `
		UPDATE @runs SET cap = $2, options = CASE WHEN $3::text IS NULL THEN options
			ELSE convert_to((convert_from(options, 'UTF8')::jsonb || $3::text::jsonb)::text, 'UTF8') END
		WHERE id = $1`, limit, more)
	if err != nil {
		return fmt.Errorf("set the cap of run %s: %w", r.run, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cap = &limit
	return nil
}

// Seeded reports whether a process of the run has filled a brain of an arm.
func (r *Run) Seeded(arm, brain string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var seeded bool
	err := r.q.scan(ctx, []any{&seeded},
		`SELECT EXISTS (SELECT FROM @seeded WHERE run = $1 AND arm = $2 AND brain = $3)`, r.run, arm, brain)
	if err != nil {
		_ = r.fail(err)
	}
	return seeded
}

// MarkSeeded records that a brain of an arm is filled.
func (r *Run) MarkSeeded(arm, brain string) error {
	return r.change(context.Background(), `INSERT INTO @seeded VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, arm, brain)
}

// Records returns the existing records of an arm, by the questions' indexes from 0.
func (r *Run) Records(ctx context.Context, arm string) (map[int][]byte, error) {
	records := map[int][]byte{}
	rows, err := r.q.pool.Query(ctx, in(`SELECT idx, record FROM @tasks WHERE run = $1 AND arm = $2 AND record IS NOT NULL`), r.run, arm)
	if err != nil {
		return nil, err
	}
	var i int
	var record []byte
	_, err = pgx.ForEachRow(rows, []any{&i, &record}, func() error {
		records[i] = bytes.Clone(record)
		return nil
	})
	return records, err
}

// Retry repeats questions of an arm that have a record, which workers get as Task.Earlier. It must
// be called before Dispatch.
func (r *Run) Retry(ctx context.Context, arm string, indexes []int) error {
	// A retry that Dispatch has given up has left its earlier record as the record.
	return r.change(ctx, `
		UPDATE @tasks SET earlier = record, record = NULL, finished_at = NULL, tries = 0,
			replaced = CASE WHEN earlier IS NULL OR earlier = record THEN replaced ELSE array_append(replaced, earlier) END
		WHERE run = $1 AND arm = $2 AND idx = ANY($3) AND record IS NOT NULL`, arm, indexes)
}

// Repetition is a question that was repeated.
type Repetition struct {
	// Earlier are the records that were replaced, oldest first.
	Earlier [][]byte
	// Record is the new record, nil while there is none.
	Record []byte
	// Held is set if there is none, and a live worker works on it.
	Held bool
}

// Retried returns the questions of an arm that Retry has repeated, by their indexes from 0.
func (r *Run) Retried(ctx context.Context, arm string) (map[int]Repetition, error) {
	retried := map[int]Repetition{}
	rows, err := r.q.pool.Query(ctx, in(`
		SELECT idx, array_append(replaced, earlier), record, record IS NULL AND worker IS NOT NULL AND @alive(worker)
		FROM @tasks WHERE run = $1 AND arm = $2 AND earlier IS NOT NULL`), r.run, arm)
	if err != nil {
		return nil, err
	}
	var i int
	var t Repetition
	_, err = pgx.ForEachRow(rows, []any{&i, &t.Earlier, &t.Record, &t.Held}, func() error {
		retried[i] = t
		t = Repetition{}
		return nil
	})
	return retried, err
}

// Dispatch puts the questions of an arm that have no record on the queue. ids has all questions in
// the order of the dataset. identity identifies the measurement for workers. finished are the
// indexes of questions that nobody will wait for: those that Retry has repeated get their earlier
// record back, unless a live worker has them.
func (r *Run) Dispatch(ctx context.Context, arm string, identity json.RawMessage, ids []string, finished []int) error {
	names := make([]string, len(ids)) // for messages
	for i, id := range ids {
		names[i] = Storable(id)
	}
	err := retrying(ctx, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, r.q.pool, func(tx pgx.Tx) error {
			if err := r.own(ctx, tx, ""); err != nil {
				return err
			}
			if err := r.insert(ctx, tx, arm, names, finished); err != nil {
				return err
			}
			// As late as possible, because the requests of all workers wait for it.
			if err := r.own(ctx, tx, `FOR NO KEY UPDATE`); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, in(`
				INSERT INTO @arms VALUES ($1, $2, $3)
				ON CONFLICT (run, arm) DO UPDATE SET identity = $3, stop_kind = NULL, stop_text = NULL`), r.run, arm, []byte(identity))
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("put the questions of %s on the queue: %w", arm, err)
	}
	return nil
}

// insert adds the missing questions of an arm, and frees those without a record.
func (r *Run) insert(ctx context.Context, tx pgx.Tx, arm string, names []string, finished []int) error {
	_, err := tx.Exec(ctx, in(`
		INSERT INTO @tasks (run, arm, idx, question)
		SELECT $1, $2, n - 1, id FROM unnest($3::text[]) WITH ORDINALITY AS q (id, n) ON CONFLICT DO NOTHING`), r.run, arm, names)
	if err == nil {
		_, err = tx.Exec(ctx, in(`
			UPDATE @tasks SET record = earlier, finished_at = clock_timestamp(), worker = NULL
			WHERE run = $1 AND arm = $2 AND idx = ANY($3) AND record IS NULL AND earlier IS NOT NULL
				AND (worker IS NULL OR NOT @alive(worker))`), r.run, arm, finished)
	}
	if err == nil {
		err = r.reopen(ctx, tx, arm)
	}
	return err
}

// reopen frees the questions of an arm without a record. Live processes keep theirs.
func (r *Run) reopen(ctx context.Context, tx pgx.Tx, arm string) error {
	if err := r.release(ctx, tx, `arm = $2 AND (worker IS NULL OR NOT @alive(worker))`, arm); err != nil {
		return err
	}
	// Whoever dispatches again may have repaired what killed the workers.
	_, err := tx.Exec(ctx, in(`
		UPDATE @tasks SET tries = 0
		WHERE run = $1 AND arm = $2 AND record IS NULL AND worker IS NULL AND tries > 0`), r.run, arm)
	return err
}

// release frees the tasks without a record that match a condition.
func (r *Run) release(ctx context.Context, tx pgx.Tx, which string, args ...any) error {
	tag, err := tx.Exec(ctx, in(`UPDATE @tasks SET worker = NULL WHERE run = $1 AND record IS NULL AND `+which),
		append([]any{r.run}, args...)...)
	if err != nil {
		return err
	}
	return r.enqueue(ctx, tx, tag.RowsAffected())
}

func scanTask(row pgx.CollectableRow) (t task, err error) { return t, row.Scan(&t.arm, &t.i) }

// Await returns the record of question i of an arm, counted from 0, once a worker has written it.
// It returns a StopError if the arm is stopped first.
func (r *Run) Await(ctx context.Context, arm string, i int) ([]byte, error) {
	got := make(chan answer, 1)
	r.waitMu.Lock()
	if r.waitErr != nil {
		defer r.waitMu.Unlock()
		return nil, r.waitErr
	}
	r.waiters[task{arm, i}] = got
	r.waitMu.Unlock()
	select {
	case a := <-got:
		return a.record, a.err
	case <-ctx.Done():
		r.waitMu.Lock()
		defer r.waitMu.Unlock()
		delete(r.waiters, task{arm, i})
		return nil, context.Cause(ctx)
	}
}

// Stop lets workers begin no further question of an arm. Only the first reason is kept.
func (r *Run) Stop(ctx context.Context, arm string, why StopError) error {
	return r.change(ctx, stopArm, arm, why.Kind, Storable(why.Text))
}

const stopArm = `UPDATE @arms SET stop_kind = $3, stop_text = $4 WHERE run = $1 AND arm = $2 AND stop_kind IS NULL`

// Close gives up the run, so that another process may resume it. Until then, workers begin none of
// its questions.
func (r *Run) Close() error {
	r.cancel()
	<-r.watchEnd
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_, err := r.q.exec(ctx, `UPDATE @runs SET owner = NULL WHERE id = $1 AND owner = $2`, r.run, r.q.id)
	return err
}

// Remove deletes a finished run with its jobs, unless another process has it.
func (r *Run) Remove() error {
	r.cancel()
	<-r.watchEnd
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return pgx.BeginFunc(ctx, r.q.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, in(`DELETE FROM @runs WHERE id = $1 AND owner = $2`), r.run, r.q.id)
		if err == nil && tag.RowsAffected() == 0 {
			err = r.errTaken()
		}
		if err != nil {
			return err
		}
		for _, sql := range []string{`DELETE FROM @river_job WHERE queue = $1`, `DELETE FROM @river_queue WHERE name = $1`} {
			if _, err := tx.Exec(ctx, in(sql), r.run); err != nil {
				return err
			}
		}
		return nil
	})
}
