// Package store keeps documents under paths. Callers use Store, which implements all rules of the
// contract (spec 4.3, 6.2, 7.2), so that all engines behave the same. Engines implement Backend.
// The packages memstore, fsstore, gitstore and httpstore each open a Store.
package store

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"
)

// Options configures a Store. Nil and the zero value mean the defaults.
type Options struct {
	// Logger gets an error for each call of an event sink that panics, and messages for the owner
	// of the documents, such as files that the backend does not show. Default: slog.Default().
	Logger *slog.Logger
	// Now returns the time of documents and events. Default: time.Now. It MUST be safe for
	// concurrent use.
	Now func() time.Time
}

// Complete returns the options with defaults for unset fields. o can be nil.
func (o *Options) Complete() Options {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Store is safe for concurrent use. Mutations happen one at a time. When one returns, it is as
// durable as the backend can make it, every read sees it, and its events have been delivered. A
// remote store, which httpstore opens, delivers events a moment later. Reads never see half a
// commit.
//
// Errors are or wrap an *Error, except those returned by the function of a Batch. When a context is
// done, the operation fails with the context's error and changes nothing, unless its commit had
// already begun.
type Store struct {
	gate      *gate
	now       func() time.Time
	hub       *hub
	writeLock chan struct{} // holds a token during a mutation
	stalls    atomic.Uint64 // see lockWrites
	seq       atomic.Uint64
	feed      *feed  // of a backend that other processes change too; otherwise nil
	group     *group // of a backend that is a grouper or shared; otherwise nil
}

// New returns a store on top of b, and takes ownership of b.
func New(b Backend, opts *Options) *Store {
	o := opts.Complete()
	s := &Store{
		gate:      &gate{backend: b},
		now:       o.Now,
		hub:       &hub{logger: o.Logger, sinks: map[uint64]func(ChangeEvent){}},
		writeLock: make(chan struct{}, 1),
	}
	if r, ok := b.(remote); ok {
		s.gate.remote, s.hub.watch = r, r.Watch
	}
	if f, ok := b.(follower); ok {
		f.Follow(s.applyExternal)
	}
	if _, ok := b.(grouper); ok {
		s.group = &group{}
	}
	if b, ok := b.(sharedBackend); ok {
		s.group = &group{}
		s.follow(b)
	}
	return s
}

// Read returns the content of a document. The caller owns it. A directory is ErrNotFound.
func (s *Store) Read(ctx context.Context, path string) ([]byte, error) {
	if err := ValidPath(path); err != nil {
		return nil, wrap("read", path, err)
	}
	data, err := s.gate.read(ctx, path)
	return data, wrap("read", path, err)
}

// Open is Read for callers that stream a document. content has size bytes, which do not change even
// if the document is changed or the store is closed. On a Shared store, reading a large document
// after a change fails with ErrConflict. The caller closes content. Documents in files are not held
// in memory; a backend that can only read whole documents holds them.
func (s *Store) Open(ctx context.Context, path string) (content io.ReadCloser, size int64, err error) {
	if err := ValidPath(path); err != nil {
		return nil, 0, wrap("read", path, err)
	}
	content, size, err = s.gate.open(ctx, path)
	return content, size, wrap("read", path, err)
}

// Write sets the content of a document and creates the document if it does not exist. A path that
// is a directory or is below a document is ErrInvalidPath.
func (s *Store) Write(ctx context.Context, path string, data []byte) error {
	return s.mutate(ctx, Op{Kind: OpWrite, Path: path, Data: data})
}

// Append extends a document and creates it if it does not exist. Paths follow the rules of Write.
func (s *Store) Append(ctx context.Context, path string, data []byte) error {
	return s.mutate(ctx, Op{Kind: OpAppend, Path: path, Data: data})
}

// Delete removes a document. A path that does not exist or is a directory is ErrNotFound.
func (s *Store) Delete(ctx context.Context, path string) error {
	return s.mutate(ctx, Op{Kind: OpDelete, Path: path})
}

// Rename moves a document and overwrites the destination. A source that does not exist or is a
// directory is ErrNotFound. The destination follows the rules of Write. Renaming a document to its
// own path keeps its content.
func (s *Store) Rename(ctx context.Context, from, to string) error {
	return s.mutate(ctx, Op{Kind: OpRename, Path: from, To: to})
}

// Exists reports whether path is a document or a directory.
func (s *Store) Exists(ctx context.Context, path string) (bool, error) {
	if err := ValidPath(path); err != nil {
		return false, wrap("exists", path, err)
	}
	return s.view().exists(ctx, path)
}

// Stat describes a document or a directory. A directory has size 0 and the newest time of the
// documents below it.
func (s *Store) Stat(ctx context.Context, path string) (FileInfo, error) {
	if err := ValidPath(path); err != nil {
		return FileInfo{}, wrap("stat", path, err)
	}
	info, err := s.view().stat(ctx, path)
	return info, wrap("stat", path, err)
}

// List returns the entries of dir in ascending order of paths; "" is the root. Without an error the
// result is never nil. A dir that does not exist or is a document has no entries. Both filters look
// only at the base name of the entry itself: a recursive listing includes documents below a
// directory named _x, but a listing that is not recursive hides the directory entry _x.
func (s *Store) List(ctx context.Context, dir string, opts ListOptions) ([]FileInfo, error) {
	entries, err := s.view().list(ctx, dir, opts)
	return entries, wrap("list", dir, err)
}

// Apply applies all operations of c in their order, or none of them (spec 4.2, batch-ops). Unlike
// Batch it emits one event for each operation as given: a rename is one Renamed event. Without
// operations there is no commit. c.When is ignored. Errors contain the index of the operation,
// counted from 0.
func (s *Store) Apply(ctx context.Context, c Commit) (err error) {
	release, err := s.lockWrites(ctx)
	if err != nil {
		return wrap("apply", "", err)
	}
	defer func() { release(err) }()
	if s.gate.remote != nil {
		return wrap("apply", "", s.applyRemote(ctx, c))
	}
	plan, end := s.plan()
	defer end()
	if h, ok := plan.(*heldTx); ok && len(c.Ops) > 1 {
		if err := h.prefetch(ctx, c.Ops); err != nil {
			return wrap("apply", "", err)
		}
	}
	j := newJournal(plan, s.now)
	var events []ChangeEvent
	for i, op := range c.Ops {
		ev, err := j.apply(ctx, op)
		if err != nil {
			return fmt.Errorf("op %d: %w", i, wrap(string(op.Kind), op.Path, err))
		}
		events = append(events, ev)
	}
	c.Ops, _ = j.merged()
	return wrap("apply", "", s.commit(ctx, plan, c, events))
}

// mutate is Apply of one operation.
func (s *Store) mutate(ctx context.Context, op Op) (err error) {
	if s.group != nil {
		return wrap(string(op.Kind), op.Path, s.mutateGrouped(ctx, op))
	}
	release, err := s.lockWrites(ctx)
	if err != nil {
		return wrap(string(op.Kind), op.Path, err)
	}
	defer func() { release(err) }()
	if s.gate.remote != nil {
		err := op.checkRemote()
		if err == nil {
			err = s.gate.applyRemote(ctx, Commit{Ops: []Op{op}})
		}
		return wrap(string(op.Kind), op.Path, err)
	}
	return wrap(string(op.Kind), op.Path, s.mutatePlanned(ctx, op))
}

// mutatePlanned plans and commits one operation. The caller holds the write lock.
func (s *Store) mutatePlanned(ctx context.Context, op Op) error {
	plan, end := s.plan()
	defer end()
	j := newJournal(plan, s.now)
	ev, err := j.apply(ctx, op)
	if err != nil {
		return err
	}
	ops, _ := j.merged()
	return s.commit(ctx, plan, Commit{Ops: ops}, []ChangeEvent{ev})
}

// commit passes c to the backend and publishes the events. The caller holds the write lock. If the
// operations have cancelled each other out, c.Ops is empty: then the backend gets no commit, but
// the events of Apply are still published.
func (s *Store) commit(ctx context.Context, plan documents, c Commit, events []ChangeEvent) error {
	if len(events) == 0 {
		return nil
	}
	c.When = timestamp(s.now)
	if h, ok := plan.(*heldTx); ok {
		return s.commitShared(ctx, h, c, events)
	}
	if len(c.Ops) > 0 {
		c.Alone = s.group != nil && s.group.callersNow() <= 1
		if err := s.gate.commit(ctx, c); err != nil {
			return err
		}
	}
	if s.gate.remote == nil {
		s.publish(events, c.Reason, c.When)
	}
	return nil
}

// publish numbers the events of one commit, at least one, and delivers them. The caller holds the
// write lock.
func (s *Store) publish(events []ChangeEvent, reason string, when time.Time) {
	// Counted before the table of sinks is read: a caller that subscribes and then reads Seq misses
	// no commit with a higher number.
	stamp(events, s.seq.Add(1), reason, when)
	s.hub.publish(events)
}

// stamp sets the fields that the events of a commit have in common.
func stamp(events []ChangeEvent, seq uint64, reason string, when time.Time) {
	for i := range events {
		events[i].Seq = seq
		events[i].Reason = reason
		events[i].When = when
	}
	events[len(events)-1].Last = true
}

// applyExternal is the function that is passed to follower.Follow.
func (s *Store) applyExternal(ctx context.Context, reason string, change func() ([]ChangeEvent, error)) error {
	release, err := s.lockWrites(ctx)
	if err != nil {
		return err
	}
	defer release(nil)
	events, err := s.gate.applyExternal(ctx, change)
	if len(events) > 0 {
		s.publish(events, reason, timestamp(s.now))
	}
	return err
}

// Subscribe registers a sink for the events of every later commit (spec 6.2). Sinks run one after
// the other inside the mutation, in commit order, so they MUST be quick and MUST NOT mutate the
// store. They may read, subscribe and cancel. A call that panics is logged and skipped. cancel is
// idempotent. The sink may still be running when cancel returns.
//
// On a remote store Subscribe can block until it has connected, and sinks run on the goroutine of
// the connection, also in order. On a store that other processes change too, a sink can run on any
// goroutine. It also gets recent commits of other processes, unless Sync is called first.
func (s *Store) Subscribe(sink func(ChangeEvent)) (cancel func()) {
	return s.hub.subscribe(sink)
}

// Seq returns the number of commits so far. If it is called after Subscribe, the sink gets every
// commit with a higher number. On a remote store it is always 0.
func (s *Store) Seq() uint64 { return s.seq.Load() }

// Broken reports whether a failed commit makes the store reject further mutations until it is
// reopened. Reads still work, but can see half of that commit. A store that other processes change
// too is Broken when it has Missed events; it accepts mutations. Closing and reopening the store
// repairs it.
func (s *Store) Broken() bool { return s.gate.broken.Load() }

// Replaced reports whether another program has replaced the data below the store: moved the branch
// of a repository, or the folder of the documents. The store is Broken then, and reopening it shows
// the new data. Replaced returns false while a mutation runs, because the mutation notices by
// itself.
func (s *Store) Replaced() bool {
	select {
	case s.writeLock <- struct{}{}:
	default:
		return false
	}
	defer func() { <-s.writeLock }()
	return s.gate.replaced()
}

// LocalPath returns the file of a document, whether or not the document exists. ok is false if
// the backend does not keep documents in files, or if the path is invalid.
func (s *Store) LocalPath(path string) (file string, ok bool) {
	local, ok := s.gate.backend.(localPather)
	if !ok || ValidPath(path) != nil {
		return "", false
	}
	file = local.LocalPath(path)
	return file, file != ""
}

// Close waits for running backend calls to return and releases the backend. All later operations
// fail with ErrReadOnly. Closing a closed store does nothing.
func (s *Store) Close() error {
	s.hub.close()
	if s.feed != nil {
		s.feed.stop()
	}
	return wrap("close", "", s.gate.close())
}

// view returns a journal for reading the committed documents.
func (s *Store) view() *journal { return &journal{base: s.gate} }

// exists is statEntry for callers to which absence is not an error.
func (j *journal) exists(ctx context.Context, path string) (bool, error) {
	_, err := j.statEntry(ctx, path)
	if IsNotFound(err) {
		return false, nil
	}
	return err == nil, wrap("exists", path, err)
}

// timestamp reads a clock without the monotonic part, so that times can be compared with ==.
func timestamp(now func() time.Time) time.Time { return now().UTC().Round(0) }
