package pgcatalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"evalctl/daemon/brain"
)

// snapshotWithin is how long reading or writing a snapshot may take. A server that does not answer
// is noticed earlier, after snapshotAnswer, which tests change.
const snapshotWithin = 5 * time.Minute

var snapshotAnswer = answerWithin // time limit of each statement

// partSize is the size of each part of a snapshot but the last, in bytes.
const partSize = 1 << 20

// Snapshots keeps snapshots of search indexes in the database, as brain.Snapshots. A key is the
// decimal UID of a brain. It is safe for concurrent use by any number of processes.
//
// A snapshot is read and written in one transaction each. So a reader sees one whole snapshot while
// the next one is written, and nothing is left if a writer fails or vanishes.
type Snapshots struct {
	pool *pgxpool.Pool
	// conns holds a token for each connection in use, because reading and writing may take long.
	conns chan struct{}
}

// NewSnapshots returns the snapshots in the database of a pool. They use at most an eighth of its
// connections, see pgstore.DB.
func NewSnapshots(pool *pgxpool.Pool) *Snapshots {
	return &Snapshots{pool, make(chan struct{}, max(1, pool.Config().MaxConns/8))}
}

// Get implements brain.Snapshots.
func (s *Snapshots) Get(
	ctx context.Context, key string, read func(r io.ReaderAt, size int64, seq uint64) error,
) error {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return s.transaction(ctx, key, options, func(tx *snapshotTx, uid int64) error {
		var size, seq int64
		err := tx.scan("SELECT size, seq FROM evalctl.snapshots WHERE brain = $1", []any{uid}, &size, &seq)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("%w of brain %s", brain.ErrNoSnapshot, key)
		}
		if err != nil {
			return err
		}
		return read(&partReader{tx: tx, uid: uid, size: size}, size, uint64(seq))
	})
}

// Put implements brain.Snapshots. It returns brain.ErrSnapshotBusy if another process is writing a
// snapshot of the brain, and brain.ErrNotFound if the brain is deleted.
func (s *Snapshots) Put(
	ctx context.Context, key string, seq, replaces uint64, write func(io.Writer) error,
) error {
	return s.transaction(ctx, key, pgx.TxOptions{}, func(tx *snapshotTx, uid int64) error {
		if err := mayReplace(tx, uid, replaces); err != nil {
			return err
		}
		if _, err := tx.exec("DELETE FROM evalctl.snapshot_parts WHERE brain = $1", uid); err != nil {
			return err
		}
		w := &partWriter{tx: tx, uid: uid}
		if err := write(w); err != nil {
			return err
		}
		if err := w.flush(); err != nil {
			return err
		}
		_, err := tx.exec(`INSERT INTO evalctl.snapshots (brain, seq, size) VALUES ($1, $2, $3)
			ON CONFLICT (brain) DO UPDATE SET seq = excluded.seq, size = excluded.size, at = now()`,
			uid, int64(seq), w.size)
		if err != nil {
			return err
		}
		// Last, so that deleting the brain does not wait for all of the above. It waits from here
		// on, and then deletes the snapshot too.
		found, err := tx.exec("SELECT FROM evalctl.brains WHERE uid = $1 FOR KEY SHARE", uid)
		if err == nil && found == 0 {
			err = fmt.Errorf("%w: it was deleted while its snapshot was written", brain.ErrNotFound)
		}
		return err
	})
}

// mayReplace locks the snapshot of a brain until the end of the transaction and checks that its
// commit is replaces, or an earlier one.
func mayReplace(tx *snapshotTx, uid int64, replaces uint64) error {
	var locked bool
	err := tx.scan("SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))",
		[]any{"evalctl snapshot " + strconv.FormatInt(uid, 10)}, &locked)
	if err != nil {
		return err
	}
	if !locked {
		return brain.ErrSnapshotBusy
	}
	var stored int64
	err = tx.scan("SELECT coalesce(max(seq), 0) FROM evalctl.snapshots WHERE brain = $1", []any{uid}, &stored)
	if err == nil && uint64(stored) > replaces {
		err = &brain.NewerSnapshotError{Seq: uint64(stored)}
	}
	return err
}

// Remove implements brain.Snapshots.
func (s *Snapshots) Remove(ctx context.Context, key string) error {
	return s.transaction(ctx, key, pgx.TxOptions{}, func(tx *snapshotTx, uid int64) error {
		for _, table := range []string{"snapshots", "snapshot_parts"} {
			if _, err := tx.exec("DELETE FROM evalctl."+table+" WHERE brain = $1", uid); err != nil {
				return err
			}
		}
		return nil
	})
}

// transaction calls use for the brain of a key.
func (s *Snapshots) transaction(
	ctx context.Context, key string, options pgx.TxOptions, use func(tx *snapshotTx, uid int64) error,
) error {
	uid, err := parseUID(key)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotWithin)
	defer cancel()
	select {
	case s.conns <- struct{}{}:
		defer func() { <-s.conns }()
	case <-ctx.Done():
		return fmt.Errorf("wait for other snapshots: %w", ctx.Err())
	}
	t := &snapshotTx{ctx: ctx}
	err = t.limited(func(ctx context.Context) error {
		t.tx, err = s.pool.BeginTx(ctx, options)
		return err
	})
	if err != nil {
		return err
	}
	if err := use(t, uid); err != nil {
		_ = t.limited(t.tx.Rollback) // otherwise the connection is closed
		return err
	}
	return t.limited(t.tx.Commit)
}

// snapshotTx is a transaction with a time limit for each of its statements.
type snapshotTx struct {
	ctx context.Context // of all of them
	tx  pgx.Tx
}

func (t *snapshotTx) limited(statement func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(t.ctx, snapshotAnswer)
	defer cancel()
	return statement(ctx)
}

// exec returns the number of rows that a statement affects.
func (t *snapshotTx) exec(sql string, args ...any) (rows int64, err error) {
	err = t.limited(func(ctx context.Context) error {
		tag, err := t.tx.Exec(ctx, sql, args...)
		rows = tag.RowsAffected()
		return err
	})
	return rows, err
}

// scan reads the one row of a query.
func (t *snapshotTx) scan(sql string, args []any, into ...any) error {
	return t.limited(func(ctx context.Context) error { return t.tx.QueryRow(ctx, sql, args...).Scan(into...) })
}

// partWriter divides a snapshot into parts while it is written.
type partWriter struct {
	tx   *snapshotTx
	uid  int64
	part []byte
	n    int
	size int64
}

func (w *partWriter) Write(data []byte) (int, error) {
	written := 0
	for len(data) > 0 {
		if w.part == nil {
			w.part = make([]byte, 0, partSize)
		}
		n := min(len(data), partSize-len(w.part))
		w.part = append(w.part, data[:n]...)
		data = data[n:]
		if len(w.part) == partSize {
			if err := w.flush(); err != nil {
				return written, err
			}
		}
		written += n
	}
	return written, nil
}

func (w *partWriter) flush() error {
	if len(w.part) == 0 {
		return nil
	}
	_, err := w.tx.exec("INSERT INTO evalctl.snapshot_parts (brain, n, data) VALUES ($1, $2, $3)", w.uid, w.n, w.part)
	w.size += int64(len(w.part))
	w.n++
	w.part = w.part[:0]
	return err
}

// partReader is an io.ReaderAt of a snapshot. It transfers only the requested bytes.
type partReader struct {
	mu   sync.Mutex // a transaction is not safe for concurrent use
	tx   *snapshotTx
	uid  int64
	size int64
}

// selectParts has a range of bytes of a snapshot, cut into parts. $2 is its first part, $3 its
// first byte in that part, $4 its last part, and $5 the number of its bytes in that part and before
// it.
const selectParts = `SELECT CASE n
	WHEN $2 THEN substring(data FROM $3 + 1 FOR CASE WHEN $2 = $4 THEN $5 - $3 ELSE ` + partSizeSQL + ` END)
	WHEN $4 THEN substring(data FROM 1 FOR $5)
	ELSE data END
	FROM evalctl.snapshot_parts WHERE brain = $1 AND n BETWEEN $2 AND $4 ORDER BY n`

const partSizeSQL = "1048576"

func (r *partReader) ReadAt(p []byte, off int64) (int, error) {
	want := p
	if rest := r.size - off; int64(len(want)) > rest {
		want = want[:max(rest, 0)]
	}
	n := 0
	if len(want) > 0 {
		var err error
		if n, err = r.read(want, off); err != nil {
			return n, err
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// read fills p, which is not empty and within the snapshot.
func (r *partReader) read(p []byte, off int64) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := off + int64(len(p)) - 1
	err = r.tx.limited(func(ctx context.Context) error {
		rows, err := r.tx.tx.Query(ctx, selectParts, r.uid,
			int32(off/partSize), int32(off%partSize), int32(last/partSize), int32(last%partSize)+1)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			n += copy(p[n:], rows.RawValues()[0])
		}
		return rows.Err()
	})
	if err == nil && n < len(p) {
		err = fmt.Errorf("parts of the snapshot are missing: %w", io.ErrUnexpectedEOF)
	}
	return n, err
}
