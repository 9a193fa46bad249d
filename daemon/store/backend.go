package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Backend is implemented by storage engines. Store adds the rules that all engines share. A backend
// stores only documents: directories follow from the paths of documents.
//
// The store guarantees that paths are valid, that the store is open, that commits do not overlap,
// and that Close is called once and last. Reads may run at any time, also during a Commit. They
// MUST see all of a commit or none of it. Backends return plain errors; the store adds the
// operation and the path.
type Backend interface {
	// Read returns the content of a document, which the caller may keep and change, or ErrNotFound.
	Read(ctx context.Context, path string) ([]byte, error)

	// Stat describes a document. If there are documents below path, it returns IsDir. The ModTime
	// of a directory may be zero, which makes the store compute it. Otherwise Stat returns
	// ErrNotFound.
	Stat(ctx context.Context, path string) (FileInfo, error)

	// List returns every document below dir, at any depth and in any order, and no directories. The
	// root is "". A dir without documents is not an error.
	List(ctx context.Context, dir string) ([]FileInfo, error)

	// Commit makes all operations durable and visible at once, or returns an error and changes
	// nothing. Ops holds only writes and deletes: at least one, and at most one for a path. Every
	// deleted document exists, and no document is below another one after the commit. Commit MUST
	// NOT keep or change Data. Written documents get the modification time c.When. A backend with
	// versions returns ErrConflict if a document does not have the version Op.Expect.
	Commit(ctx context.Context, c Commit) error

	// Close releases the backend.
	Close() error
}

// opener is implemented by backends that can read a document without holding all of it in memory;
// see Store.Open.
type opener interface {
	Open(ctx context.Context, path string) (content io.ReadCloser, size int64, err error)
}

// localPather is implemented by backends that keep documents in files. LocalPath returns the file
// of a document, or "" for a path that the backend cannot store.
type localPather interface {
	LocalPath(path string) string
}

// breakable is implemented by backends that a failure can make reject all commits until they are
// reopened.
type breakable interface {
	// Broken is called only by the goroutine that has just changed the store.
	Broken() bool
}

// replaceable is implemented by backends whose data other programs can replace.
type replaceable interface {
	// Replaced reports whether another program has replaced the data since the store was opened.
	// The backend is Broken then. Replaced is called while the store is open and no mutation runs.
	Replaced() bool
}

// follower is implemented by backends that also change in other ways than by Commit, such as a pull
// from a remote.
type follower interface {
	// Follow is called once, by New. The backend must make every such change through apply, which
	// calls change while the store is open and no other mutation runs. The events that change
	// returns are published as one commit, also if change fails.
	Follow(apply func(ctx context.Context, reason string, change func() ([]ChangeEvent, error)) error)
}

// Commit is a set of mutations that are applied as a whole.
type Commit struct {
	Reason  string // carried by every event of the commit
	Message string // Message, Author and Email are for backends that keep a history
	Author  string
	Email   string
	When    time.Time // set by the store
	Ops     []Op
	// Alone is set by the store on a grouper if no other caller waits for a commit. Work that could
	// be left for later then delays nobody.
	Alone bool
}

// OpKind is the name of a mutation on the wire (spec 4.2).
type OpKind string

// The kinds of Op. A Backend sees OpWrite and OpDelete only.
const (
	OpWrite  OpKind = "write"
	OpAppend OpKind = "append"
	OpDelete OpKind = "delete"
	OpRename OpKind = "rename"
)

// Op is one mutation of a Commit.
type Op struct {
	Kind OpKind
	Path string // of a rename, the source
	To   string // of a rename, the destination
	Data []byte // of a write or append
	// Expect is the FileInfo.Version that Path must have before the commit; otherwise the commit
	// fails with ErrConflict. Empty: any version.
	Expect string
	// New tells a Backend that there is no document at Path. Callers of a Store leave it unset.
	New bool
}

// check returns an error if op is invalid regardless of the backend and its documents.
func (op Op) check() error {
	switch op.Kind {
	case OpWrite, OpAppend, OpDelete:
		return ValidPath(op.Path)
	case OpRename:
		if err := ValidPath(op.Path); err != nil {
			return err
		}
		if err := ValidPath(op.To); err != nil {
			return fmt.Errorf("to %s: %w", quotePath(op.To), err)
		}
		return nil
	}
	return fmt.Errorf("unknown kind of operation %q", op.Kind)
}

// FileInfo describes a document or a directory (spec 2).
type FileInfo struct {
	Path    string
	Size    int64     // bytes; 0 for a directory
	ModTime time.Time // UTC; for a directory, the newest time of the documents below it
	IsDir   bool
	// Version is opaque and changes with every write of the document. It is empty for directories
	// and on backends without optimistic concurrency.
	Version string
}

// gate prevents use of a closed backend, and closing a backend in use. Its lock is held only during
// single backend calls and never while a caller's code runs, so event sinks and batch functions may
// close the store.
type gate struct {
	mu      sync.RWMutex
	closed  bool
	broken  atomic.Bool
	backend Backend
	remote  remote // the backend, if it is a remote one; otherwise nil
}

// enter takes the lock for reading if it succeeds; the caller must call mu.RUnlock.
func (g *gate) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.RLock()
	if g.closed {
		g.mu.RUnlock()
		return ErrReadOnly
	}
	return nil
}

// within calls use while the gate is open.
func within[T any](ctx context.Context, g *gate, use func() (T, error)) (result T, err error) {
	if err := g.enter(ctx); err != nil {
		return result, err
	}
	defer g.mu.RUnlock()
	return use()
}

func (g *gate) read(ctx context.Context, path string) ([]byte, error) {
	return within(ctx, g, func() ([]byte, error) { return g.backend.Read(ctx, path) })
}

func (g *gate) open(ctx context.Context, path string) (io.ReadCloser, int64, error) {
	if err := g.enter(ctx); err != nil {
		return nil, 0, err
	}
	defer g.mu.RUnlock()
	if o, ok := g.backend.(opener); ok {
		return o.Open(ctx, path)
	}
	data, err := g.backend.Read(ctx, path)
	if err != nil {
		return nil, 0, err
	}
	return io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
}

func (g *gate) stat(ctx context.Context, path string) (FileInfo, error) {
	return within(ctx, g, func() (FileInfo, error) { return g.backend.Stat(ctx, path) })
}

func (g *gate) list(ctx context.Context, dir string) ([]FileInfo, error) {
	return within(ctx, g, func() ([]FileInfo, error) { return g.backend.List(ctx, dir) })
}

func (g *gate) commit(ctx context.Context, c Commit) error {
	if err := g.enter(ctx); err != nil {
		return err
	}
	defer g.mu.RUnlock()
	defer g.checkBroken()
	return g.backend.Commit(ctx, c)
}

func (g *gate) applyExternal(ctx context.Context, change func() ([]ChangeEvent, error)) ([]ChangeEvent, error) {
	return within(ctx, g, func() ([]ChangeEvent, error) {
		defer g.checkBroken()
		return change()
	})
}

func (g *gate) replaced() bool {
	r, ok := g.backend.(replaceable)
	if !ok || g.enter(context.Background()) != nil {
		return false
	}
	defer g.mu.RUnlock()
	defer g.checkBroken()
	return r.Replaced()
}

func (g *gate) checkBroken() {
	if b, ok := g.backend.(breakable); ok {
		g.broken.Store(b.Broken())
	}
}

func (g *gate) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	return g.backend.Close()
}
