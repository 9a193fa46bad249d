package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"evalctl/daemon/store"
)

// answerWithin is how long a statement may take, including the round trip. The server gives up
// earlier, unless it cannot be reached.
const answerWithin = 35 * time.Second

// backend has the documents of one brain.
type backend struct {
	db     *DB
	brain  int64
	opened store.Position // the last commit at that time
	fence  atomic.Int64   // see the table heads
}

var _ store.Backend = (*backend)(nil)

// Read implements store.Backend.
func (b *backend) Read(ctx context.Context, path string) ([]byte, error) {
	var data []byte
	var found bool
	err := b.row(ctx, `SELECT d.path IS NOT NULL, d.data
		FROM evalctl.heads h LEFT JOIN evalctl.documents d ON d.brain = h.brain AND d.path = $2
		WHERE h.brain = $1`, []any{b.brain, path}, &found, &data)
	if err == nil && !found {
		err = store.ErrNotFound
	}
	return data, err
}

// Stat implements store.Backend.
func (b *backend) Stat(ctx context.Context, path string) (store.FileInfo, error) {
	var d description
	err := b.row(ctx, `SELECT d.size, d.modified, d.version, d.path IS NULL AND EXISTS (
			SELECT FROM evalctl.documents s WHERE s.brain = h.brain AND s.path > $2 || '/' AND s.path < $2 || '0')
		FROM evalctl.heads h LEFT JOIN evalctl.documents d ON d.brain = h.brain AND d.path = $2
		WHERE h.brain = $1`, []any{b.brain, path}, &d.size, &d.modified, &d.version, &d.isDir)
	if err != nil {
		return store.FileInfo{}, err
	}
	return d.info(path)
}

// row runs a query that has one row if the brain exists.
func (b *backend) row(ctx context.Context, sql string, args []any, into ...any) error {
	err := b.db.use(ctx, func(ctx context.Context, conn querier) error {
		return conn.QueryRow(ctx, sql, args...).Scan(into...)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return store.ErrGone
	}
	return err
}

// List implements store.Backend.
func (b *backend) List(ctx context.Context, dir string) (files []store.FileInfo, err error) {
	err = b.db.use(ctx, func(ctx context.Context, conn querier) error {
		files, err = list(ctx, conn, b.brain, dir)
		return err
	})
	return files, err
}

// list returns ErrGone if the brain does not exist.
func list(ctx context.Context, conn querier, brain int64, dir string) ([]store.FileInfo, error) {
	from, to := "", "\U0010FFFF" // no path contains a code point above
	if dir != "" {
		from, to = dir+"/", dir+"0"
	}
	rows, err := conn.Query(ctx, `SELECT d.path, d.size, d.modified, d.version
		FROM evalctl.heads h LEFT JOIN evalctl.documents d ON d.brain = h.brain AND d.path > $2 AND d.path < $3
		WHERE h.brain = $1`, brain, from, to)
	if err != nil {
		return nil, err
	}
	exists := false
	var files []store.FileInfo
	var path *string
	var d description
	_, err = pgx.ForEachRow(rows, []any{&path, &d.size, &d.modified, &d.version}, func() error {
		exists = true
		if path == nil {
			return nil // the one row of a brain without documents
		}
		info, err := d.info(*path)
		files = append(files, info)
		return err
	})
	if err == nil && !exists {
		err = store.ErrGone
	}
	return files, err
}

// Commit implements store.Backend. Stores begin a transaction instead.
func (b *backend) Commit(context.Context, store.Commit) error {
	return errors.New("a store of PostgreSQL was committed to without a transaction")
}

// Close implements store.Backend.
func (b *backend) Close() error { return nil }

// description is the entry of a path in the tables. The fields of a document are nil if there is
// none.
type description struct {
	size, modified, version *int64
	isDir                   bool
}

func (d description) info(path string) (store.FileInfo, error) {
	switch {
	case d.size != nil:
		return store.FileInfo{
			Path: path, Size: *d.size, ModTime: time.Unix(0, *d.modified).UTC(), Version: strconv.FormatInt(*d.version, 10),
		}, nil
	case d.isDir:
		return store.FileInfo{Path: path, IsDir: true}, nil
	}
	return store.FileInfo{}, store.ErrNotFound
}

// querier is a connection or the pool.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// acquireWithin is how long to wait for a connection. Tests change it.
var acquireWithin = 10 * time.Second

// acquire returns a connection, which the caller must release.
func (db *DB) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	waiting, cancel := context.WithTimeout(ctx, acquireWithin)
	defer cancel()
	conn, err := db.pool.Acquire(waiting)
	if err == nil {
		return conn, nil
	}
	if waiting.Err() != nil && ctx.Err() == nil {
		return nil, errNoConnection(err)
	}
	return nil, failure(ctx, fmt.Errorf("connect to the database: %w", err))
}

func errNoConnection(cause error) error {
	return store.Unavailable(cause, "no connection to the database became free within %v: try again", acquireWithin)
}

// use calls fn with a connection for statements that change nothing.
func (db *DB) use(ctx context.Context, fn func(ctx context.Context, conn querier) error) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	limited, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return failure(ctx, fn(limited, conn))
}
