package pgstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"

	"evalctl/daemon/store"
)

// chunkBytes is how much of a document is held in memory. Smaller documents are read at once.
const chunkBytes = 256 << 10

// Open implements an optional method of store.Backend. A document of more than one chunk is read
// while the caller reads it. It occupies a connection only while a chunk is read, however slow the
// caller is. If the document is changed in the meantime, the next Read is store.ErrConflict.
func (b *backend) Open(ctx context.Context, path string) (content io.ReadCloser, size int64, err error) {
	r := &reader{b: b, path: path}
	var found bool
	err = b.row(ctx, `SELECT d.path IS NOT NULL, coalesce(d.size, 0), coalesce(d.version, 0), substring(d.data FROM 1 FOR $3)
		FROM evalctl.heads h LEFT JOIN evalctl.documents d ON d.brain = h.brain AND d.path = $2
		WHERE h.brain = $1`, []any{b.brain, path, chunkBytes}, &found, &r.size, &r.version, &r.chunk)
	switch {
	case err != nil:
		return nil, 0, err
	case !found:
		return nil, 0, store.ErrNotFound
	case r.size == int64(len(r.chunk)):
		return io.NopCloser(bytes.NewReader(r.chunk)), r.size, nil
	}
	r.read = int64(len(r.chunk))
	return r, r.size, nil
}

// reader reads one version of a document in chunks.
type reader struct {
	b       *backend
	path    string
	version int64
	size    int64
	chunk   []byte // read, but not returned yet
	read    int64  // bytes so far, with chunk
	closed  bool
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if r.closed {
		return 0, store.ErrReadOnly
	}
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
	err := r.b.db.use(context.Background(), func(ctx context.Context, conn querier) error {
		return conn.QueryRow(ctx, `SELECT substring(data FROM $4::int FOR $5) FROM evalctl.documents
			WHERE brain = $1 AND path = $2 AND version = $3`, r.b.brain, r.path, r.version, r.read+1, chunkBytes).Scan(&r.chunk)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("%w: the document was changed after %d of its %d bytes were read: read it again",
			store.ErrConflict, r.read, r.size)
	}
	if err == nil && len(r.chunk) == 0 {
		err = io.ErrUnexpectedEOF
	}
	r.read += int64(len(r.chunk))
	return err
}

// Close implements io.Closer.
func (r *reader) Close() error {
	r.closed = true
	return nil
}
