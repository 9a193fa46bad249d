package queue

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"evalctl/internal/llm"
	"evalctl/internal/postgres"
)

// ChargeLost counts open requests as lost, as if every process had vanished.
func (r *Run) ChargeLost(ctx context.Context) error {
	return r.q.chargeOpen(ctx, r.run, `true`)
}

// Vanish ends the signs of life, as a kill would.
func (q *Queue) Vanish(ctx context.Context) {
	q.stop()
	<-q.done
	_, _ = q.exec(ctx, `UPDATE @members SET seen = '-infinity' WHERE id = $1`, q.id)
}

// Forget deletes the process from the members, as another one does that joins after a day.
func (q *Queue) Forget(ctx context.Context) error {
	_, err := q.exec(ctx, `DELETE FROM @members WHERE id = $1`, q.id)
	return err
}

// Alive reports whether the process has a lease.
func (q *Queue) Alive(ctx context.Context) (alive bool, err error) {
	return alive, q.row(ctx, `SELECT @alive($1)`, q.id).Scan(&alive)
}

// Reserved returns the worst case of the requests in progress.
func (r *Run) Reserved(ctx context.Context) (usd llm.USD, err error) {
	var nano int64
	err = r.q.row(ctx, `SELECT reserved FROM @runs WHERE id = $1`, r.run).Scan(&nano)
	return llm.USD(nano), err
}

// Lose counts n workers that vanished with each open question of an arm.
func (r *Run) Lose(ctx context.Context, arm string, n int) error {
	return r.q.change(ctx, `UPDATE @tasks SET tries = $3 WHERE run = $1 AND arm = $2 AND record IS NULL`, r.run, arm, n)
}

// HandedBack returns how often workers have handed a job back.
func (r *Run) HandedBack(ctx context.Context) (n int64, err error) {
	return n, r.q.row(ctx, `SELECT coalesce(sum((metadata->>'snoozes')::bigint), 0)::bigint FROM @river_job WHERE queue = $1`, r.run).Scan(&n)
}

// Claim is a part of the message with which a worker claims a question of an arm: its id, and the
// number of bytes of the list of arms.
func (q *Queue) Claim(arm string) string {
	const header = 5 * 4 // of a list, before its elements, each of which has its length
	return q.id + string(binary.BigEndian.AppendUint32(nil, uint32(header+4+len(arm))))
}

// Books returns the books of a run, for a process that only spends.
func (q *Queue) Books(ctx context.Context, id string) (*Books, error) {
	b, _, err := q.find(ctx, id)
	return b, err
}

// ClaimFor claims a question of ready arms as a worker does that attends a run of an owner.
func (q *Queue) ClaimFor(ctx context.Context, run, owner string, arms ...string) (Task, error) {
	w := &worker{q: q, claims: map[taskID]bool{}}
	t := Task{Run: run}
	_, err := w.claim(ctx, &t, &attendance{owner: owner, readyArms: arms})
	return t, err
}

// CreateOld creates the tables of the first version in a database.
func CreateOld(ctx context.Context, conn string) error {
	pool, err := pgxpool.New(ctx, conn)
	if err != nil {
		return err
	}
	defer pool.Close()
	return postgres.Schema{Name: schemaName, Migrations: schema.Migrations[:1]}.Ensure(ctx, pool)
}

// Hold locks the questions of an arm until release is called.
func (r *Run) Hold(ctx context.Context, arm string) (release func() error, err error) {
	tx, err := r.q.pool.Begin(ctx)
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, in(`SELECT FROM @tasks WHERE run = $1 AND arm = $2 FOR UPDATE`), r.run, arm)
	return func() error { return tx.Rollback(ctx) }, err
}

// Waits reports whether a statement waits for a lock.
func (r *Run) Waits(ctx context.Context) (waits bool, err error) {
	return waits, r.q.row(ctx, `
		SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waits)
}

// Locked reports whether requests of the run must wait for a lock.
func (r *Run) Locked(ctx context.Context) (bool, error) {
	_, err := r.q.exec(ctx, `SELECT FROM @runs WHERE id = $1 FOR NO KEY UPDATE NOWAIT`, r.run)
	if postgres.IsCode(err, "55P03") {
		return true, nil
	}
	return false, err
}

// WithdrawOpen withdraws the reservations of an arm, like a process that does not know whether they
// were made.
func (r *Run) WithdrawOpen(ctx context.Context, arm string) error {
	rows, err := r.q.pool.Query(ctx, in(`SELECT key FROM @charges WHERE run = $1 AND arm = $2 AND kind = 'open'`), r.run, arm)
	if err != nil {
		return err
	}
	keys, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, key := range keys {
		account{r.Books, "actor", arm}.withdraw(ctx, key, "m", "q")
	}
	return err
}

// Outlive is outlive.
var Outlive = outlive

// Live renews a lease with beat until ctx ends, and then closes done.
func Live(ctx context.Context, lease time.Duration, beat func(context.Context) error) (done <-chan struct{}) {
	q := &Queue{lease: lease, done: make(chan struct{})}
	go q.live(ctx, beat)
	return q.done
}
