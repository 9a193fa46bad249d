// Package queue shares a replay between machines: its questions are jobs in PostgreSQL, which
// workers on any machine take, and its books are in the same database.
//
// River delivers a job at least once. The table tasks reduces this to one record per question: a
// worker claims a question before it works on it, and the first record written is final. Each
// process renews a lease. When a worker loses its lease, its questions are given to others, and its
// reservations count as spent.
package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"evalctl/internal/postgres"
	"evalctl/internal/retry"
)

// schemaName is the PostgreSQL schema of all tables, including River's.
const schemaName = "evalctl_queue"

//go:embed 1.sql
var tables string

//go:embed 2.sql
var bills string

//go:embed 3.sql
var sightings string

//go:embed 4.sql
var replaced string

var schema = postgres.Schema{Name: schemaName, Migrations: []string{tables, bills, sightings, replaced}}

// DefaultLease is the default of Options.Lease.
const DefaultLease = 15 * time.Second

// DefaultWait is the default of Options.Wait.
const DefaultWait = 10 * time.Minute

// Queue is a process's membership in the queue of a database. It is safe for concurrent use.
type Queue struct {
	pool  *pgxpool.Pool
	id    string
	host  string
	works bool
	lease time.Duration
	wait  time.Duration // of Options

	stop context.CancelFunc
	done chan struct{}
}

// Options configures Open.
type Options struct {
	// Lease is how long this process counts as alive without a sign of life, 0 for DefaultLease.
	Lease time.Duration
	// Works is set if the process takes questions.
	Works bool
	// Wait is how long the process's runs wait for a worker, 0 for DefaultWait.
	Wait time.Duration
	// MaxConns limits the connections, see postgres.Options.
	MaxConns int
}

// minConns is the smallest number of connections with which one remains for statements while
// another has a lock or listens for jobs.
const minConns = 2

// Open joins the queue of the database given by a connection string, and creates missing tables and
// columns.
// Errors do not contain the password. The caller must call Close.
func Open(ctx context.Context, conn string, o Options) (*Queue, error) {
	pool, err := postgres.Open(ctx, conn, postgres.Options{MaxConns: o.MaxConns, MinConns: minConns, Name: "evalctl queue"})
	if err != nil {
		return nil, err
	}
	q := &Queue{
		pool: pool, works: o.Works, lease: cmp.Or(o.Lease, DefaultLease), wait: cmp.Or(o.Wait, DefaultWait),
		done: make(chan struct{}),
	}
	if err = ensure(ctx, pool); err == nil {
		err = q.join(ctx)
	}
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("queue in %s: %w", postgres.Address(conn), err)
	}
	beat, stop := context.WithCancel(context.Background())
	q.stop = stop
	go q.live(beat, q.beat)
	return q, nil
}

// ensure brings the tables of this package and of River to this version, under one lock.
func ensure(ctx context.Context, pool *pgxpool.Pool) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	const lock = "hashtext('evalctl queue tables')"
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock("+lock+")"); err != nil {
		return err
	}
	defer func() {
		if _, err := conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock("+lock+")"); err != nil {
			_ = conn.Conn().Close(context.WithoutCancel(ctx)) // which releases the lock
		}
	}()
	if _, err := schema.Migrate(ctx, pool); err != nil {
		return err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: schemaName, Logger: quiet})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("create the tables of River: %w", err)
	}
	return nil
}

// in qualifies table names, which are written as @name.
func in(sql string) string { return strings.ReplaceAll(sql, "@", schemaName+".") }

// Storable makes foreign text, such as a daemon's error, acceptable to PostgreSQL: it replaces NUL
// characters and invalid UTF-8.
func Storable(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\ufffd"), "\ufffd")
}

func (q *Queue) exec(ctx context.Context, sql string, args ...any) (rows int64, err error) {
	tag, err := q.pool.Exec(ctx, in(sql), args...)
	return tag.RowsAffected(), err
}

func (q *Queue) row(ctx context.Context, sql string, args ...any) pgx.Row {
	return q.pool.QueryRow(ctx, in(sql), args...)
}

// join makes the process a member. Members that have been gone for a day are deleted.
func (q *Queue) join(ctx context.Context) error {
	var err error
	if q.host, err = os.Hostname(); err != nil {
		q.host = "unknown"
	}
	q.id = fmt.Sprintf("%.60s-%d-%s", q.host, os.Getpid(), strings.ToLower(rand.Text()[:6]))
	if err = q.beat(ctx); err == nil {
		_, err = q.exec(ctx, `DELETE FROM @members WHERE seen < clock_timestamp() - interval '1 day'`)
	}
	return err
}

// beat renews the lease. The row of a process that was silent for a day is gone, and is made again.
func (q *Queue) beat(ctx context.Context) error {
	_, err := q.exec(ctx, `
		INSERT INTO @members (id, host, pid, works, lease) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (id) DO UPDATE SET seen = clock_timestamp()`, q.id, q.host, os.Getpid(), q.works, q.lease)
	return err
}

// live renews the lease with beat until ctx ends. It does not cancel a renewal at once, which could
// take effect nevertheless, after Close has deleted the member, and make it again.
func (q *Queue) live(ctx context.Context, beat func(context.Context) error) {
	defer close(q.done)
	tick := time.NewTicker(q.lease / 5)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		longer, end := outlive(ctx, closeTimeout)
		limited, cancel := context.WithTimeout(longer, q.lease)
		_ = beat(limited) // the next one repairs a failure; otherwise the lease ends, as it should
		cancel()
		end()
	}
}

// ID identifies the process in the queue.
func (q *Queue) ID() string { return q.id }

// Close leaves the queue and closes the connections. Open reservations count as spent from then on.
func (q *Queue) Close() error {
	q.stop()
	<-q.done
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_, err := q.exec(ctx, `DELETE FROM @members WHERE id = $1`, q.id)
	q.pool.Close()
	return err
}

// closeTimeout limits the cleanup when a process leaves.
const closeTimeout = 5 * time.Second

// ErrBusy means that another process owns a run.
var ErrBusy = errors.New("another process has this run in progress")

// attempt limits the time for one statement. Otherwise a silent network failure would block for
// much longer.
const attempt = 15 * time.Second

// outlive returns a context that ends a while after ctx.
func outlive(ctx context.Context, while time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		_ = retry.Sleep(longer, while)
		cancel()
	})
	return longer, func() { stop(); cancel() }
}

// retrying calls do until it succeeds, fails permanently, or patience has passed.
func retrying(ctx context.Context, do func(ctx context.Context) error) error {
	began := time.Now()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		limited, cancel := context.WithTimeout(ctx, attempt)
		err := do(limited)
		cancel()
		if err == nil || !postgres.Retryable(err) || ctx.Err() != nil || time.Since(began) > patience {
			return err
		}
		if retry.Sleep(ctx, pause) != nil {
			return err
		}
	}
}

// change executes an idempotent statement, retrying until the database answers.
func (q *Queue) change(ctx context.Context, sql string, args ...any) error {
	return retrying(ctx, func(ctx context.Context) error {
		_, err := q.exec(ctx, sql, args...)
		return err
	})
}

// scan is like change for a statement that returns a row.
func (q *Queue) scan(ctx context.Context, values []any, sql string, args ...any) error {
	return retrying(ctx, func(ctx context.Context) error { return q.row(ctx, sql, args...).Scan(values...) })
}
