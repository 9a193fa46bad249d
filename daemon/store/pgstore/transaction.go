package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"evalctl/daemon/store"
)

// transaction holds the lock of a brain on a connection of its own.
type transaction struct {
	b     *backend
	conn  *pgxpool.Conn // nil when the transaction has ended
	seq   uint64        // number that the commit will have
	known map[string]description
}

var _ store.Transaction = (*transaction)(nil)

// Begin implements an optional method of store.Backend.
func (b *backend) Begin(ctx context.Context) (store.Transaction, error) {
	if err := b.db.occupy(ctx, b.db.held); err != nil {
		return nil, err
	}
	tx := &transaction{b: b, known: map[string]description{}}
	conn, err := b.db.acquire(ctx)
	if err != nil {
		<-b.db.held
		return nil, err
	}
	tx.conn = conn
	if err := tx.lock(ctx); err != nil {
		tx.Rollback()
		return nil, err
	}
	return tx, nil
}

// occupy puts a token into one of the channels of the database.
func (db *DB) occupy(ctx context.Context, tokens chan struct{}) error {
	select {
	case tokens <- struct{}{}:
		return nil
	case <-time.After(acquireWithin):
		return errNoConnection(nil)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lock begins the transaction in one round trip.
func (tx *transaction) lock(ctx context.Context) error {
	limited, cancel := limit(ctx)
	defer cancel()
	var fence int64
	statements := &pgx.Batch{}
	statements.Queue("BEGIN")
	statements.Queue("SELECT fence FROM evalctl.heads WHERE brain = $1 FOR UPDATE", tx.b.brain).
		QueryRow(func(row pgx.Row) error { return row.Scan(&fence) })
	// Only a statement after the one that has waited for the lock sees commits made meanwhile.
	statements.Queue("SELECT "+head+" + 1 FROM evalctl.heads h WHERE h.brain = $1", tx.b.brain).
		QueryRow(func(row pgx.Row) error { return row.Scan(&tx.seq) })
	err := tx.conn.SendBatch(limited, statements).Close()
	if errors.Is(err, pgx.ErrNoRows) {
		return store.ErrGone
	}
	if err == nil {
		tx.b.fence.Store(fence)
	}
	return failure(ctx, err)
}

// limit returns the context of a statement. A caller that goes away does not interrupt it, because
// that would cost the connection.
func limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
}

// Read implements store.Transaction.
func (tx *transaction) Read(ctx context.Context, path string) ([]byte, error) {
	limited, cancel := limit(ctx)
	defer cancel()
	var data []byte
	err := tx.conn.QueryRow(limited, "SELECT data FROM evalctl.documents WHERE brain = $1 AND path = $2", tx.b.brain, path).
		Scan(&data)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, store.ErrNotFound
	}
	return data, failure(ctx, err)
}

// Stat implements store.Transaction.
func (tx *transaction) Stat(ctx context.Context, path string) (store.FileInfo, error) {
	d, ok := tx.known[path]
	if !ok {
		// The rules of paths ask for the directories next.
		if err := tx.Prefetch(ctx, []string{path}); err != nil {
			return store.FileInfo{}, err
		}
		d = tx.known[path]
	}
	return d.info(path)
}

// Prefetch implements store.Transaction.
func (tx *transaction) Prefetch(ctx context.Context, paths []string) error {
	var ask []string
	add := func(path string) {
		if _, ok := tx.known[path]; !ok {
			tx.known[path] = description{}
			ask = append(ask, path)
		}
	}
	for _, path := range paths {
		add(path)
		for _, dir := range above(path) {
			add(dir)
		}
	}
	limited, cancel := limit(ctx)
	defer cancel()
	// In the collation C, the document at p and those below it are among the paths from p to p0.
	// Most new documents have none, which takes one look at the index.
	rows, err := tx.conn.Query(limited, `SELECT p, d.size, d.modified, d.version,
			d.path IS NULL AND near.path IS NOT NULL AND EXISTS (
				SELECT FROM evalctl.documents s WHERE s.brain = $1 AND s.path > p || '/' AND s.path < p || '0')
		FROM unnest($2::text[]) p LEFT JOIN LATERAL (
			SELECT * FROM evalctl.documents WHERE brain = $1 AND path >= p AND path < p || '0' ORDER BY path LIMIT 1
		) near ON true LEFT JOIN LATERAL (SELECT near.* WHERE near.path = p) d ON true`, tx.b.brain, ask)
	if err == nil {
		var path string
		var d description
		_, err = pgx.ForEachRow(rows, []any{&path, &d.size, &d.modified, &d.version, &d.isDir}, func() error {
			tx.known[path] = d
			return nil
		})
	}
	if err != nil {
		clear(tx.known)
	}
	return failure(ctx, err)
}

// List implements store.Transaction.
func (tx *transaction) List(ctx context.Context, dir string) ([]store.FileInfo, error) {
	limited, cancel := limit(ctx)
	defer cancel()
	files, err := list(limited, tx.conn, tx.b.brain, dir)
	return files, failure(ctx, err)
}

// Rollback implements store.Transaction.
func (tx *transaction) Rollback() {
	if tx.conn == nil {
		return
	}
	ctx, cancel := limit(context.Background())
	defer cancel()
	if !tx.conn.Conn().IsClosed() {
		_, _ = tx.conn.Exec(ctx, "ROLLBACK") // if it fails, the connection is closed, which ends the transaction too
	}
	tx.release()
}

// release returns the connection, which the pool closes if it is broken or in a transaction.
func (tx *transaction) release() {
	tx.conn.Release()
	tx.conn = nil
	<-tx.b.db.held
}
