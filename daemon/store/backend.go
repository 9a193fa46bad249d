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

// Backend is what a storage engine implements; Store adds every rule that all
// engines share. A backend knows documents only: directories are what the
// paths of its documents imply.
//
// The store guarantees: paths are valid, the store is open, Commit is never
// concurrent with another Commit, and Close comes last and once. Reads may run
// at any time, also during a Commit; they MUST see all of a commit or nothing
// of it. Errors are returned raw; the store adds operation and path.
type Backend interface {
	// Read returns the content of a document, which the caller may keep and
	// change, or ErrNotFound.
	Read(ctx context.Context, path string) ([]byte, error)

	// Stat describes a document, or says by IsDir that documents lie below
	// path; a directory's ModTime may be left to the store. Otherwise
	// ErrNotFound.
	Stat(ctx context.Context, path string) (FileInfo, error)

	// List returns every document below dir, at any depth and in any order,
	// and no directories. The root is "". Nothing below dir is no error.
	List(ctx context.Context, dir string) ([]FileInfo, error)

	// Commit makes all operations durable and visible at once, or returns an
	// error and changes nothing. Ops holds writes and deletes only, at most
	// one a path and at least one; every deleted document exists; the tree
	// after the commit has no document below another. It MUST NOT keep Data
	// or change it. A document gets c.When as its modification time. A
	// backend with versions returns ErrConflict when an Op.Expect does not
	// hold.
	Commit(ctx context.Context, c Commit) error

	// Close releases the backend.
	Close() error
}

// opener is the ability of a backend to give a document without holding it
// whole, as Store.Open does.
type opener interface {
	Open(ctx context.Context, path string) (content io.ReadCloser, size int64, err error)
}

// localPather is the ability of a backend to name the file of a document, or to
// return "" for a path it can keep none under.
type localPather interface {
	LocalPath(path string) string
}

// breakable is the ability of a backend to refuse commits from some failure on,
// until it is opened again.
type breakable interface {
	// Broken is called by whoever has just changed the store.
	Broken() bool
}

// follower is the ability of a backend to change by other means than Commit,
// such as a pull from a remote.
type follower interface {
	// Follow is called once, by New. Every such change must go through outside:
	// it calls change while the store is open and nobody else mutates it, and
	// publishes the events change returns, also beside an error, as those of
	// one commit.
	Follow(outside func(ctx context.Context, reason string, change func() ([]ChangeEvent, error)) error)
}

// Commit is a set of mutations that happens as a whole.
type Commit struct {
	Reason  string // carried by every event of the commit
	Message string // Message, Author and Email are for backends with a history
	Author  string
	Email   string
	When    time.Time // set by the store
	Ops     []Op
}

// OpKind names a mutation as the wire does (spec 4.2).
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
	// Expect is the FileInfo.Version that Path must have before the commit,
	// else ErrConflict. Empty expects nothing.
	Expect string
}

// check finds what is wrong with op on every backend and in every store.
func (op Op) check() error {
	switch op.Kind {
	case OpWrite, OpAppend, OpDelete:
		return ValidPath(op.Path)
	case OpRename:
		if err := ValidPath(op.Path); err != nil {
			return err
		}
		if err := ValidPath(op.To); err != nil {
			return fmt.Errorf("to %s: %w", printable(op.To), err)
		}
		return nil
	}
	return fmt.Errorf("unknown kind of operation %q", op.Kind)
}

// FileInfo describes a document or a directory (spec 2).
type FileInfo struct {
	Path    string
	Size    int64     // bytes; 0 for a directory
	ModTime time.Time // UTC; of a directory, the newest below it
	IsDir   bool
	// Version is opaque and changes with every write of the document. It is
	// empty on backends without optimistic concurrency, and for directories.
	Version string
}

// gate keeps a backend from being used once it is closed, and from being closed
// while it is used. Its lock is held for single backend calls only, never while
// code of a caller runs, so sinks and batch functions may close the store.
type gate struct {
	mu      sync.RWMutex
	closed  bool
	broken  atomic.Bool
	backend Backend
	far     remote // the backend, when it is one
}

// enter must be followed by mu.RUnlock when it succeeds.
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

func (g *gate) read(ctx context.Context, path string) ([]byte, error) {
	if err := g.enter(ctx); err != nil {
		return nil, err
	}
	defer g.mu.RUnlock()
	return g.backend.Read(ctx, path)
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
	if err := g.enter(ctx); err != nil {
		return FileInfo{}, err
	}
	defer g.mu.RUnlock()
	return g.backend.Stat(ctx, path)
}

func (g *gate) list(ctx context.Context, dir string) ([]FileInfo, error) {
	if err := g.enter(ctx); err != nil {
		return nil, err
	}
	defer g.mu.RUnlock()
	return g.backend.List(ctx, dir)
}

func (g *gate) commit(ctx context.Context, c Commit) error {
	if err := g.enter(ctx); err != nil {
		return err
	}
	defer g.mu.RUnlock()
	defer g.checkBroken()
	return g.backend.Commit(ctx, c)
}

func (g *gate) outside(ctx context.Context, change func() ([]ChangeEvent, error)) ([]ChangeEvent, error) {
	if err := g.enter(ctx); err != nil {
		return nil, err
	}
	defer g.mu.RUnlock()
	defer g.checkBroken()
	return change()
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
