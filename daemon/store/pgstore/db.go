// Package pgstore keeps documents in a PostgreSQL database, which any number of processes share.
package pgstore

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"evalctl/daemon/store"
	"evalctl/internal/postgres"
)

var (
	//go:embed migrations/1.sql
	migration1 string
	//go:embed migrations/2.sql
	migration2 string
)

// Schema has the tables of the reference daemon.
var Schema = postgres.Schema{Name: "evalctl", Migrations: []string{migration1, migration2}}

// DB is the database of a daemon. It is safe for concurrent use.
type DB struct {
	pool *pgxpool.Pool
	// held holds a token for each connection that a transaction occupies between two statements.
	// Together with the eighth for snapshots of indexes, at most half of the connections are
	// occupied. The others remain for single statements, which transactions may wait for.
	held    chan struct{}
	groups  groups
	bus     *bus
	server  serverCount
	logger  *slog.Logger
	stop    context.CancelFunc
	running sync.WaitGroup
}

// minConns is the smallest number of connections with which one remains for short statements.
const minConns = 4

// Open connects to a database and creates its tables if there are none. The caller must Close it,
// after all stores. Tables of another version are postgres.ErrSchema. logger gets the failures of
// background work.
func Open(ctx context.Context, conn string, logger *slog.Logger) (*DB, error) {
	db := &DB{logger: logger}
	pool, err := postgres.Open(ctx, conn, postgres.Options{Name: "evalctl serve", MinConns: minConns, Connected: db.server.reached})
	if err != nil {
		return nil, err
	}
	if err := Schema.Ensure(ctx, pool); err != nil {
		pool.Close()
		return nil, fmt.Errorf("%s: %w", postgres.Address(conn), err)
	}
	db.pool, db.bus = pool, newBus(pool)
	db.bus.answered.Store(time.Now().UnixNano()) // Schema.Ensure's statements
	db.held = make(chan struct{}, max(1, pool.Config().MaxConns*3/8))
	background, stop := context.WithCancel(context.Background())
	db.stop = stop
	db.running.Go(func() { db.bus.listen(background) })
	db.running.Go(func() { db.bus.send(background) })
	db.running.Go(func() { db.prune(background) })
	return db, nil
}

// Pool returns the connections, for other data that the daemon keeps in the database.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// Ping returns an error if the database does not answer. It does not wait for a connection: while
// all are in use, it relies on the connection for notifications, which polls every second.
func (db *DB) Ping(ctx context.Context) error {
	if !db.busy() {
		if err := db.pool.Ping(ctx); err == nil || !db.busy() {
			return failure(ctx, err)
		}
	}
	if time.Since(time.Unix(0, db.bus.answered.Load())) > 3*pollEvery {
		return store.Unavailable(nil, "all connections to the database are in use, and it does not answer")
	}
	return nil
}

// busy reports whether no connection is free.
func (db *DB) busy() bool {
	stat := db.pool.Stat()
	return stat.AcquiredConns() >= stat.MaxConns()
}

// Close closes the connections, after it has waited for those in use.
func (db *DB) Close() {
	db.stop()
	db.running.Wait()
	db.pool.Close()
}

// Open returns the documents of the brain with the key uid in the table brains. ErrGone means that
// there is no such brain. Closing the store does not close the database.
func (db *DB) Open(ctx context.Context, uid int64, opts *store.Options) (*store.Store, error) {
	b := &backend{db: db, brain: uid}
	var fence int64
	var at *int64
	err := b.row(ctx, "SELECT "+head+", h.fence, "+commitTime(head)+" FROM evalctl.heads h WHERE h.brain = $1",
		[]any{uid}, &b.opened.Seq, &fence, &at)
	if err != nil {
		return nil, err
	}
	if at != nil {
		b.opened.When = time.Unix(0, *at)
	}
	b.fence.Store(fence)
	return store.New(b, opts), nil
}
