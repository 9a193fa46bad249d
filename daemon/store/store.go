// Package store keeps documents under paths. Store is the type to use; it holds
// every rule of the contract (spec 4.3, 6.2, 7.2), so that the engines below
// it, which implement Backend, all behave alike. Packages memstore, fsstore and
// gitstore open one.
package store

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"
)

// Options of a Store. Nil and the zero value mean the defaults.
type Options struct {
	// Logger hears of event sinks that panic. Default: slog.Default().
	Logger *slog.Logger
	// Now stamps documents and events. Default: time.Now. It MUST be safe for
	// concurrent use.
	Now func() time.Time
}

// Store is safe for concurrent use. Mutations happen one at a time; when one
// returns, it is durable as far as the backend can make it, every read sees it,
// and its events have been delivered. Reads never see half a commit.
// Of a store elsewhere, which httpstore opens, events come a moment later.
//
// Except for Batch functions' own errors, errors are or wrap an *Error. A context
// that is done makes an operation fail with the context's error and nothing
// changed, unless its commit had already begun.
type Store struct {
	gate    *gate
	now     func() time.Time
	hub     *hub
	writing chan struct{} // holds a token while somebody mutates
	seq     atomic.Uint64
}

// New makes a store over b, which from then on belongs to it.
func New(b Backend, opts *Options) *Store {
	if opts == nil {
		opts = &Options{}
	}
	s := &Store{
		gate:    &gate{backend: b},
		now:     opts.Now,
		hub:     &hub{logger: opts.Logger, sinks: map[uint64]func(ChangeEvent){}},
		writing: make(chan struct{}, 1),
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.hub.logger == nil {
		s.hub.logger = slog.Default()
	}
	if far, ok := b.(remote); ok {
		s.gate.far, s.hub.watch = far, far.Watch
	}
	if f, ok := b.(follower); ok {
		f.Follow(s.outside)
	}
	return s
}

// Read returns the content of a document. The caller owns it. A directory is
// ErrNotFound.
func (s *Store) Read(ctx context.Context, path string) ([]byte, error) {
	if err := ValidPath(path); err != nil {
		return nil, wrap("read", path, err)
	}
	data, err := s.gate.read(ctx, path)
	return data, wrap("read", path, err)
}

// Open is Read for who takes a document bit by bit: size bytes, which stay what
// they were at that moment, also when the document is changed or the store
// closed. The caller closes content. Documents in files are not held in memory;
// those of a backend that only reads them whole are.
func (s *Store) Open(ctx context.Context, path string) (content io.ReadCloser, size int64, err error) {
	if err := ValidPath(path); err != nil {
		return nil, 0, wrap("read", path, err)
	}
	content, size, err = s.gate.open(ctx, path)
	return content, size, wrap("read", path, err)
}

// Write sets the content of a document and creates it when missing. A path
// that is a directory, or that lies below a document, is ErrInvalidPath.
func (s *Store) Write(ctx context.Context, path string, data []byte) error {
	return s.mutate(ctx, Op{Kind: OpWrite, Path: path, Data: data})
}

// Append extends a document and creates it when missing.
func (s *Store) Append(ctx context.Context, path string, data []byte) error {
	return s.mutate(ctx, Op{Kind: OpAppend, Path: path, Data: data})
}

// Delete removes a document. Missing documents and directories are ErrNotFound.
func (s *Store) Delete(ctx context.Context, path string) error {
	return s.mutate(ctx, Op{Kind: OpDelete, Path: path})
}

// Rename moves a document and overwrites the destination. A source that is
// missing or a directory is ErrNotFound; for the destination the rules of Write
// hold. A document renamed to its own path keeps its content.
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

// Stat describes a document, or a directory: size 0 and the newest time of the
// documents below it.
func (s *Store) Stat(ctx context.Context, path string) (FileInfo, error) {
	if err := ValidPath(path); err != nil {
		return FileInfo{}, wrap("stat", path, err)
	}
	info, err := s.view().stat(ctx, path)
	return info, wrap("stat", path, err)
}

// List returns the entries of dir ("" is the root) ascending by path; never
// nil without an error. A dir that is missing, or that is a document, has no
// entries. Both filters look at an entry's own base name: documents below a
// directory named _x do show in a recursive listing, the directory entry _x
// does not show in one that is not.
func (s *Store) List(ctx context.Context, dir string, opts ListOptions) ([]FileInfo, error) {
	entries, err := s.view().list(ctx, dir, opts)
	return entries, wrap("list", dir, err)
}

// Apply makes all operations of c in their order, or none of them (spec 4.2,
// batch-ops). Unlike Batch it emits one event for each operation as given, a
// rename as one Renamed event. No operations means no commit. c.When is
// ignored. An error names the operation by its index, from 0.
func (s *Store) Apply(ctx context.Context, c Commit) error {
	release, err := s.turn(ctx)
	if err != nil {
		return wrap("apply", "", err)
	}
	defer release()
	if s.gate.far != nil {
		return wrap("apply", "", s.applyFar(ctx, c))
	}
	j := newJournal(s.gate, s.now)
	var events []ChangeEvent
	for i, op := range c.Ops {
		ev, err := j.apply(ctx, op)
		if err != nil {
			return fmt.Errorf("op %d: %w", i, wrap(string(op.Kind), op.Path, err))
		}
		events = append(events, ev)
	}
	c.Ops, _ = j.merged()
	return wrap("apply", "", s.commit(ctx, c, events))
}

// mutate is Apply of one operation.
func (s *Store) mutate(ctx context.Context, op Op) error {
	release, err := s.turn(ctx)
	if err != nil {
		return wrap(string(op.Kind), op.Path, err)
	}
	defer release()
	if s.gate.far != nil {
		err := op.checkFar()
		if err == nil {
			err = s.gate.apply(ctx, Commit{Ops: []Op{op}})
		}
		return wrap(string(op.Kind), op.Path, err)
	}
	j := newJournal(s.gate, s.now)
	ev, err := j.apply(ctx, op)
	if err == nil {
		ops, _ := j.merged()
		err = s.commit(ctx, Commit{Ops: ops}, []ChangeEvent{ev})
	}
	return wrap(string(op.Kind), op.Path, err)
}

// commit hands c to the backend and publishes the events. The caller has the
// turn. Operations that cancelled each other out reach no backend, but those
// who asked for every step still hear of them.
func (s *Store) commit(ctx context.Context, c Commit, events []ChangeEvent) error {
	if len(events) == 0 {
		return nil
	}
	c.When = stamp(s.now)
	if len(c.Ops) > 0 {
		if err := s.gate.commit(ctx, c); err != nil {
			return err
		}
	}
	if s.gate.far == nil {
		s.publish(events, c.Reason, c.When)
	}
	return nil
}

// publish numbers the events of one commit, at least one, and delivers them.
// The caller has the turn.
func (s *Store) publish(events []ChangeEvent, reason string, when time.Time) {
	// Counted before the table of sinks is read: whoever subscribes and then
	// asks for Seq misses no commit after that number.
	seq := s.seq.Add(1)
	for i := range events {
		events[i].Seq = seq
		events[i].Reason = reason
		events[i].When = when
	}
	events[len(events)-1].Last = true
	s.hub.publish(events)
}

// outside is what a follower gets.
func (s *Store) outside(ctx context.Context, reason string, change func() ([]ChangeEvent, error)) error {
	release, err := s.turn(ctx)
	if err != nil {
		return err
	}
	defer release()
	events, err := s.gate.outside(ctx, change)
	if len(events) > 0 {
		s.publish(events, reason, stamp(s.now))
	}
	return err
}

// turn waits until no other mutation runs, and fails on a closed store.
func (s *Store) turn(ctx context.Context) (release func(), err error) {
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := s.gate.enter(ctx); err != nil {
		<-s.writing
		return nil, err
	}
	s.gate.mu.RUnlock()
	return func() { <-s.writing }, nil
}

// Subscribe registers a sink for the events of every later commit (spec 6.2).
// Sinks run one after the other inside the mutation, in commit order, so they
// MUST be quick and MUST NOT mutate the store; they may read, subscribe and
// cancel. One that panics is logged and skipped. cancel is idempotent; the sink
// may still be running when it returns.
//
// Where events come from elsewhere, Subscribe may take as long as it takes to
// connect, and sinks run on the connection's goroutine, also in order.
func (s *Store) Subscribe(sink func(ChangeEvent)) (cancel func()) {
	return s.hub.subscribe(sink)
}

// Seq is the number of commits so far. After Subscribe, every commit numbered
// above Seq reaches the sink. It stays 0 where commits are made elsewhere.
func (s *Store) Seq() uint64 { return s.seq.Load() }

// Broken reports whether a commit went wrong in such a way that the store takes
// no more until it is opened again, which repairs it. Reads may go on, but may
// show half of that commit. Close it, and open it.
func (s *Store) Broken() bool { return s.gate.broken.Load() }

// LocalPath names the file that holds a document, also before it is written,
// when the backend keeps documents in files; otherwise, and for invalid paths,
// ok is false.
func (s *Store) LocalPath(path string) (file string, ok bool) {
	local, ok := s.gate.backend.(localPather)
	if !ok || ValidPath(path) != nil {
		return "", false
	}
	file = local.LocalPath(path)
	return file, file != ""
}

// Close waits for calls that are under way in the backend and releases it. From
// then on every operation fails with ErrReadOnly. Further calls do nothing.
func (s *Store) Close() error {
	s.hub.close()
	return wrap("close", "", s.gate.close())
}

// view answers reads of what is committed.
func (s *Store) view() *journal { return &journal{base: s.gate} }

// exists is stat for callers to whom absence is no error.
func (j *journal) exists(ctx context.Context, path string) (bool, error) {
	_, err := j.look(ctx, path)
	if IsNotFound(err) {
		return false, nil
	}
	return err == nil, wrap("exists", path, err)
}

// stamp reads a clock without its monotonic part, so that times compare with ==.
func stamp(now func() time.Time) time.Time { return now().UTC().Round(0) }
