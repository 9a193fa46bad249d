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
	// Only a statement after the one that has waited for the lock sees what was committed meanwhile.
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
		// The directories are what the rules of paths ask for next.
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
	rows, err := tx.conn.Query(limited, `SELECT p, d.size, d.modified, d.version, d.path IS NULL AND EXISTS (
			SELECT FROM evalctl.documents s WHERE s.brain = $1 AND s.path > p || '/' AND s.path < p || '0')
		FROM unnest($2::text[]) p LEFT JOIN LATERAL (
			SELECT * FROM evalctl.documents WHERE brain = $1 AND path = p LIMIT 1 -- not the whole brain
		) d ON true`, tx.b.brain, ask)
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

// Commit implements store.Transaction.
func (tx *transaction) Commit(ctx context.Context, c store.Commit, events []store.ChangeEvent) (uint64, error) {
	limited, cancel := limit(ctx)
	defer cancel()
	for _, writes := range split(c.Ops) {
		if err := tx.write(limited, writes, c.When); err != nil {
			tx.Rollback()
			return 0, failure(ctx, err)
		}
	}
	id := newCommitID()
	err := tx.conn.SendBatch(limited, tx.ending(c, events, id)).Close()
	if unclear(err) {
		tx.release()
		found, err := tx.b.outcome(ctx, id, err)
		return found.seq, err
	}
	if err != nil {
		tx.Rollback()
		return 0, failure(context.WithoutCancel(ctx), err)
	}
	tx.release()
	tx.b.db.committed(tx.b.brain, tx.seq)
	return tx.seq, nil
}

// ending returns the last statements of a transaction, which cost one round trip. If one of them
// fails, the server skips the others, COMMIT included.
func (tx *transaction) ending(c store.Commit, events []store.ChangeEvent, id commitID) *pgx.Batch {
	statements := &pgx.Batch{}
	var deleted []string
	for _, op := range c.Ops {
		if op.Kind == store.OpDelete {
			deleted = append(deleted, op.Path)
		}
	}
	if deleted != nil {
		statements.Queue("DELETE FROM evalctl.documents WHERE brain = $1 AND path = ANY ($2)", tx.b.brain, deleted)
	}
	kinds, paths, olds := make([]string, len(events)), make([]string, len(events)), make([]string, len(events))
	for i, ev := range events {
		kinds[i], paths[i], olds[i] = string(ev.Kind), ev.Path, ev.OldPath
	}
	statements.Queue(`INSERT INTO evalctl.changes (brain, seq, n, kind, path, old_path, reason, at, commit_id)
		SELECT $1, $2, n - 1, kind, path, old, $3, $4, CASE n WHEN 1 THEN $5::uuid END
		FROM unnest($6::text[], $7::text[], $8::text[]) WITH ORDINALITY AS e (kind, path, old, n)`,
		tx.b.brain, tx.seq, []byte(c.Reason), c.When.UnixNano(), id, kinds, paths, olds)
	statements.Queue("COMMIT")
	return statements
}

// write stores documents with one statement.
func (tx *transaction) write(ctx context.Context, ops []store.Op, when time.Time) error {
	paths, data := make([]string, len(ops)), make([][]byte, len(ops))
	for i, op := range ops {
		paths[i], data[i] = op.Path, op.Data
		if op.Data == nil {
			data[i] = []byte{} // nil is NULL
		}
	}
	_, err := tx.conn.Exec(ctx, `INSERT INTO evalctl.documents (brain, path, version, modified, size, data)
		SELECT $1, path, $2, $3, length(data), data FROM unnest($4::text[], $5::bytea[]) AS w (path, data)
		ON CONFLICT (brain, path) DO UPDATE SET version = excluded.version, modified = excluded.modified,
			size = excluded.size, data = excluded.data`,
		tx.b.brain, tx.seq, when.UnixNano(), paths, data)
	return err
}

// maxStatementBytes limits the content that one statement writes, unless a single document is
// larger.
const maxStatementBytes = 8 << 20

// split returns the writes among ops, divided into statements.
func split(ops []store.Op) [][]store.Op {
	var all [][]store.Op
	size := 0
	for _, op := range ops {
		if op.Kind != store.OpWrite {
			continue
		}
		if all == nil || size+len(op.Data) > maxStatementBytes {
			all, size = append(all, nil), 0
		}
		last := len(all) - 1
		all[last], size = append(all[last], op), size+len(op.Data)
	}
	return all
}
