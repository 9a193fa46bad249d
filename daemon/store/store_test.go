package store_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"evalctl/daemon/store"
	"evalctl/daemon/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// strict is a backend with versions. It reports an error whenever the store breaks a guarantee in
// Backend's documentation.
type strict struct {
	t          *testing.T
	committing atomic.Bool
	closed     atomic.Bool
	fail       error // of the next commit

	mu      sync.Mutex
	docs    map[string]versioned
	commits []store.Commit
}

type versioned struct {
	data    []byte
	version int
	time    time.Time
}

func newStrict(t *testing.T) *strict { return &strict{t: t, docs: map[string]versioned{}} }

func (b *strict) check(path string) {
	if b.closed.Load() {
		b.t.Error("used after Close")
	}
	if err := store.ValidPath(path); path != "" && err != nil {
		b.t.Errorf("got path %q: %v", path, err)
	}
}

func (b *strict) info(path string) store.FileInfo {
	d := b.docs[path]
	return store.FileInfo{Path: path, Size: int64(len(d.data)), ModTime: d.time, Version: strconv.Itoa(d.version)}
}

func (b *strict) Read(_ context.Context, path string) ([]byte, error) {
	b.check(path)
	b.mu.Lock()
	defer b.mu.Unlock()
	if d, ok := b.docs[path]; ok {
		return bytes.Clone(d.data), nil
	}
	return nil, store.ErrNotFound
}

func (b *strict) Stat(ctx context.Context, path string) (store.FileInfo, error) {
	b.check(path)
	b.mu.Lock()
	_, ok := b.docs[path]
	info := b.info(path)
	b.mu.Unlock()
	if ok {
		return info, nil
	}
	if files, _ := b.List(ctx, path); len(files) > 0 {
		return store.FileInfo{Path: path, IsDir: true}, nil
	}
	return store.FileInfo{}, store.ErrNotFound
}

func (b *strict) List(_ context.Context, dir string) ([]store.FileInfo, error) {
	b.check(dir)
	b.mu.Lock()
	defer b.mu.Unlock()
	var files []store.FileInfo
	for path := range b.docs {
		if dir == "" || strings.HasPrefix(path, dir+"/") {
			files = append(files, b.info(path))
		}
	}
	return files, nil
}

func (b *strict) Commit(_ context.Context, c store.Commit) error {
	if b.committing.Swap(true) {
		b.t.Error("two commits at once")
	}
	defer b.committing.Store(false)
	if b.fail != nil {
		return b.fail
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(c.Ops) == 0 || c.When.IsZero() {
		b.t.Errorf("commit %+v", c)
	}
	seen := map[string]bool{}
	for _, op := range c.Ops {
		b.check(op.Path)
		if seen[op.Path] {
			b.t.Errorf("%s twice in a commit", op.Path)
		}
		seen[op.Path] = true
		old, exists := b.docs[op.Path]
		switch {
		case op.Kind == store.OpDelete && exists:
			delete(b.docs, op.Path)
		case op.Kind == store.OpWrite:
			b.docs[op.Path] = versioned{bytes.Clone(op.Data), old.version + 1, c.When}
		default:
			b.t.Errorf("%s %s, which exists: %t", op.Kind, op.Path, exists)
		}
	}
	b.commits = append(b.commits, c)
	return nil
}

func (b *strict) Close() error {
	if b.closed.Swap(true) {
		b.t.Error("closed twice")
	}
	return nil
}

func openStrict(t *testing.T) *store.Store {
	return store.New(newStrict(t), &store.Options{Logger: slog.New(slog.DiscardHandler)})
}

func TestContract(t *testing.T) { storetest.Run(t, openStrict) }

func TestModel(t *testing.T) { storetest.RunModel(t, openStrict) }

// TestCommit checks the commits that the backend gets.
func TestCommit(t *testing.T) {
	b := newStrict(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	s := store.New(b, &store.Options{Now: func() time.Time { return now }})
	ctx := t.Context()
	var received []store.ChangeEvent
	s.Subscribe(func(ev store.ChangeEvent) { received = append(received, ev) })
	opts := store.BatchOptions{Reason: "r", Message: "m", Author: "a", Email: "e"}
	err := s.Batch(ctx, opts, func(t *store.Batch) error {
		return errors.Join(t.Write(ctx, "gone", nil), t.Append(ctx, "a", []byte("1")), t.Write(ctx, "b", []byte("2")),
			t.Delete(ctx, "gone"), t.Append(ctx, "a", []byte("3")))
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Apply(ctx, store.Commit{Reason: "r2", When: time.Unix(0, 0), Ops: []store.Op{
		{Kind: store.OpRename, Path: "a", To: "c", Expect: "1"}, {Kind: store.OpAppend, Path: "c", Data: []byte("4")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	when := now.UTC()
	want := []store.Commit{
		{Reason: "r", Message: "m", Author: "a", Email: "e", When: when, Ops: []store.Op{
			{Kind: store.OpWrite, Path: "b", Data: []byte("2"), New: true}, {Kind: store.OpWrite, Path: "a", Data: []byte("13"), New: true},
		}},
		{Reason: "r2", When: when, Ops: []store.Op{
			{Kind: store.OpDelete, Path: "a", Expect: "1"}, {Kind: store.OpWrite, Path: "c", Data: []byte("134"), New: true},
		}},
	}
	if diff := cmp.Diff(want, b.commits); diff != "" {
		t.Errorf("commits (-want +got):\n%s", diff)
	}
	wantEvents := []store.ChangeEvent{
		{Seq: 1, Kind: store.Created, Path: "b", Reason: "r", When: when},
		{Seq: 1, Last: true, Kind: store.Created, Path: "a", Reason: "r", When: when},
		{Seq: 2, Kind: store.Renamed, Path: "c", OldPath: "a", Reason: "r2", When: when},
		{Seq: 2, Last: true, Kind: store.Updated, Path: "c", Reason: "r2", When: when},
	}
	if diff := cmp.Diff(wantEvents, received); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// followingBackend is a backend that also changes by other means than Commit.
type followingBackend struct {
	*strict
	outside func(context.Context, string, func() ([]store.ChangeEvent, error)) error
}

func (b *followingBackend) Follow(outside func(context.Context, string, func() ([]store.ChangeEvent, error)) error) {
	b.outside = outside
}

// TestExternalChange: a change by other means than Commit is published like a commit and excludes
// other mutations.
func TestExternalChange(t *testing.T) {
	b := &followingBackend{strict: newStrict(t)}
	now := time.Unix(1, 0).UTC()
	s := store.New(b, &store.Options{Now: func() time.Time { return now }})
	ctx := t.Context()
	var received []store.ChangeEvent
	s.Subscribe(func(ev store.ChangeEvent) { received = append(received, ev) })
	change := func() ([]store.ChangeEvent, error) {
		waiting, cancel := context.WithCancel(ctx)
		cancel()
		if err := s.Write(waiting, "c", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("a write ran during the change: %v", err)
		}
		events := []store.ChangeEvent{{Kind: store.Created, Path: "a"}, {Kind: store.Deleted, Path: "b"}}
		return events, errors.New("half")
	}
	if err := b.outside(ctx, "pull", change); err == nil || err.Error() != "half" {
		t.Errorf("got %v", err)
	}
	want := []store.ChangeEvent{
		{Seq: 1, Kind: store.Created, Path: "a", Reason: "pull", When: now},
		{Seq: 1, Last: true, Kind: store.Deleted, Path: "b", Reason: "pull", When: now},
	}
	if diff := cmp.Diff(want, received); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	nothing := func() ([]store.ChangeEvent, error) { return nil, nil }
	if err := b.outside(ctx, "pull", nothing); err != nil || s.Seq() != 1 {
		t.Errorf("%v, %d commits", err, s.Seq())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.outside(ctx, "pull", change); !store.IsReadOnly(err) {
		t.Errorf("closed: %v", err)
	}
}

// TestApplyKeepsCallersBuffer: an append after a write must not change the buffer that was
// written.
func TestApplyKeepsCallersBuffer(t *testing.T) {
	s := openStrict(t)
	buffer := []byte("12345")
	err := s.Apply(t.Context(), store.Commit{Ops: []store.Op{
		{Kind: store.OpWrite, Path: "a", Data: buffer[:2]}, {Kind: store.OpAppend, Path: "a", Data: []byte("x")},
	}})
	if err != nil || string(buffer) != "12345" {
		t.Errorf("buffer is %q, %v", buffer, err)
	}
}

// TestBatchBlocksOtherMutations: what a batch has read stays current until the batch is
// committed.
func TestBatchBlocksOtherMutations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStrict(t)
		ctx := t.Context()
		written := make(chan error, 1)
		err := s.Batch(ctx, store.BatchOptions{}, func(b *store.Batch) error {
			go func() { written <- s.Append(ctx, "a", []byte("other")) }()
			synctest.Wait()
			if ok, err := b.Exists(ctx, "a"); ok || err != nil {
				t.Errorf("the other write ran during the batch: %t, %v", ok, err)
			}
			return b.Write(ctx, "a", []byte("batch+"))
		})
		if err := errors.Join(err, <-written); err != nil {
			t.Fatal(err)
		}
		if data, err := s.Read(ctx, "a"); string(data) != "batch+other" {
			t.Errorf("got %q, %v", data, err)
		}
	})
}

func TestFailedCommitEmitsNoEvent(t *testing.T) {
	b := newStrict(t)
	b.fail = errors.New("disk full")
	s := store.New(b, nil)
	s.Subscribe(func(ev store.ChangeEvent) { t.Errorf("received %+v", ev) })
	ctx := t.Context()
	write := func(t *store.Batch) error { return t.Write(ctx, "a", nil) }
	for want, err := range map[string]error{
		"write d/a: disk full": s.Write(ctx, "d/a", nil),
		"batch: disk full":     s.Batch(ctx, store.BatchOptions{}, write),
		"apply: disk full":     s.Apply(ctx, store.Commit{Ops: []store.Op{{Kind: store.OpAppend, Path: "a"}}}),
	} {
		if _, ok := errors.AsType[*store.Error](err); !ok || err.Error() != want || !errors.Is(err, b.fail) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if s.Seq() != 0 {
		t.Errorf("%d commits", s.Seq())
	}
}

func TestPanickingSinkIsLogged(t *testing.T) {
	var log bytes.Buffer
	s := store.New(newStrict(t), &store.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	s.Subscribe(func(store.ChangeEvent) { panic("out of luck") })
	if err := s.Write(t.Context(), "notes/a.md", nil); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"level=ERROR", "out of luck", "seq=1"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("no %q in log %q", part, log.String())
		}
	}
	if strings.Contains(log.String(), "notes/a.md") {
		t.Errorf("the path is in log %q", log.String())
	}
}

// TestSubscribeThenSeq: a subscriber that reads Seq misses no commit. An index relies on that.
func TestSubscribeThenSeq(t *testing.T) {
	s := openStrict(t)
	ctx := t.Context()
	var inner []uint64
	var after uint64
	s.Subscribe(func(ev store.ChangeEvent) {
		if ev.Seq == 1 {
			s.Subscribe(func(ev store.ChangeEvent) { inner = append(inner, ev.Seq) })
			after = s.Seq()
		}
	})
	for range 2 {
		if err := s.Write(ctx, "a", nil); err != nil {
			t.Fatal(err)
		}
	}
	if after != 1 || len(inner) != 1 || inner[0] != 2 {
		t.Errorf("seq %d, then events %v", after, inner)
	}
}

func TestErrorText(t *testing.T) {
	for want, err := range map[string]error{
		"write notes/a.md: conflict":  &store.Error{Op: "write", Path: "notes/a.md", Err: store.ErrConflict},
		"batch: conflict":             &store.Error{Op: "batch", Err: store.ErrConflict},
		`read "a\x1b[2Jb": not found`: &store.Error{Op: "read", Path: "a\x1b[2Jb", Err: store.ErrNotFound},
		"read ноты/a: not found":      &store.Error{Op: "read", Path: "ноты/a", Err: store.ErrNotFound},
		`write "a\nb": conflict`:      &store.Error{Op: "write", Path: "a\nb", Err: store.ErrConflict},
		"write a b.md: invalid path: x": &store.Error{Op: "write", Path: "a b.md",
			Err: errors.Join(errors.New("invalid path: x"))},
	} {
		if err.Error() != want {
			t.Errorf("got %s, want %s", err, want)
		}
	}
	text := (&store.Error{Op: "read", Path: strings.Repeat("é", 5000), Err: store.ErrInvalidPath}).Error()
	if len(text) > 1000 {
		t.Errorf("%d bytes", len(text))
	}
}
