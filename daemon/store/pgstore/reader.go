package pgstore

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"evalctl/daemon/store"
)

// chunkBytes is how much of a document is held in memory. Smaller documents are read at once.
const chunkBytes = 256 << 10

const firstChunk = `SELECT d.path IS NOT NULL, coalesce(d.size, 0), substring(d.data FROM 1 FOR $3)
	FROM evalctl.heads h LEFT JOIN evalctl.documents d ON d.brain = h.brain AND d.path = $2
	WHERE h.brain = $1`

// Open implements an optional method of store.Backend. A document of more than one chunk occupies a
// connection until it is closed, or until its reader has paused for longer than the server allows
// for an idle transaction, which is an error of Read.
func (b *backend) Open(ctx context.Context, path string) (content io.ReadCloser, size int64, err error) {
	var data []byte
	var found bool
	args := []any{b.brain, path, chunkBytes}
	err = b.row(ctx, firstChunk, args, &found, &size, &data)
	switch {
	case err != nil:
		return nil, 0, err
	case !found:
		return nil, 0, store.ErrNotFound
	case size == int64(len(data)):
		return io.NopCloser(bytes.NewReader(data)), size, nil
	}
	r, err := b.openLarge(ctx, path)
	if err != nil {
		return nil, 0, err
	}
	return r, r.size, nil
}

// openLarge reads the first chunk again, because the document may have changed.
func (b *backend) openLarge(ctx context.Context, path string) (*reader, error) {
	if err := b.db.occupy(ctx, b.db.reading); err != nil {
		return nil, err
	}
	r := &reader{b: b, path: path}
	conn, err := b.db.acquire(ctx)
	if err != nil {
		<-b.db.reading
		return nil, err
	}
	r.conn = conn
	limited, cancel := limit(ctx)
	defer cancel()
	found := false
	statements := &pgx.Batch{}
	statements.Queue("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	statements.Queue(firstChunk, b.brain, path, chunkBytes).
		QueryRow(func(row pgx.Row) error { return row.Scan(&found, &r.size, &r.chunk) })
	err = conn.SendBatch(limited, statements).Close()
	if errors.Is(err, pgx.ErrNoRows) {
		err = store.ErrGone
	}
	if err == nil && !found {
		err = store.ErrNotFound
	}
	if err != nil {
		_ = r.Close()
		return nil, failure(ctx, err)
	}
	r.read = int64(len(r.chunk))
	return r, nil
}

// reader reads a document in chunks, in a transaction that sees it as it was.
type reader struct {
	b     *backend
	path  string
	conn  *pgxpool.Conn // nil when closed
	size  int64
	chunk []byte // what has been read, but not returned
	read  int64  // bytes so far, with chunk
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if len(r.chunk) == 0 {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.chunk)
	r.chunk = r.chunk[n:]
	return n, nil
}

func (r *reader) fill() error {
	if r.read == r.size {
		return io.EOF
	}
	if r.conn == nil {
		return store.ErrReadOnly
	}
	ctx, cancel := limit(context.Background())
	defer cancel()
	err := r.conn.QueryRow(ctx, `SELECT substring(data FROM $3::int FOR $4) FROM evalctl.documents
		WHERE brain = $1 AND path = $2`, r.b.brain, r.path, r.read+1, chunkBytes).Scan(&r.chunk)
	if err == nil && len(r.chunk) == 0 {
		err = io.ErrUnexpectedEOF
	}
	r.read += int64(len(r.chunk))
	return failure(context.Background(), err)
}

// Close ends the transaction. It can be called more than once.
func (r *reader) Close() error {
	if r.conn == nil {
		return nil
	}
	ctx, cancel := limit(context.Background())
	defer cancel()
	if !r.conn.Conn().IsClosed() {
		_, _ = r.conn.Exec(ctx, "ROLLBACK") // if it fails, the connection is closed
	}
	r.conn.Release()
	r.conn = nil
	<-r.b.db.reading
	return nil
}
