package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"evalctl/daemon/store"
	"evalctl/internal/awaittest"
)

// remoteBackend is a remote backend that stores nothing. Its changes are made up by the tests.
type remoteBackend struct {
	*strict
	applied []store.Commit

	mu      sync.Mutex
	watches []watch
}

type watch struct {
	ctx  context.Context
	sink func(store.ChangeEvent)
}

func (e *remoteBackend) Apply(_ context.Context, c store.Commit) error {
	e.applied = append(e.applied, c)
	return e.fail
}

func (e *remoteBackend) ListEntries(_ context.Context, dir string, opts store.ListOptions) ([]store.FileInfo, error) {
	return []store.FileInfo{{Path: fmt.Sprintf("%s/%v", dir, opts.Recursive)}}, nil
}

func (e *remoteBackend) Watch(ctx context.Context, sink func(store.ChangeEvent)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.watches = append(e.watches, watch{ctx, sink})
}

// activeWatches returns a "+" for every watch that has not been cancelled, and a "-" for every
// other one, in the order of their start.
func (e *remoteBackend) activeWatches() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := ""
	for _, w := range e.watches {
		text += map[bool]string{true: "+", false: "-"}[w.ctx.Err() == nil]
	}
	return text
}

func openRemote(t *testing.T) (*store.Store, *remoteBackend) {
	e := &remoteBackend{strict: newStrict(t)}
	return store.New(e, nil), e
}

func TestRemoteOperations(t *testing.T) {
	s, e := openRemote(t)
	ctx := t.Context()
	received := 0
	defer s.Subscribe(func(store.ChangeEvent) { received++ })()
	for want, err := range map[string]error{
		"write /a: invalid path: starts with a slash":        s.Write(ctx, "/a", nil),
		"rename a: to ../b: invalid path: has a dot segment": s.Rename(ctx, "a", "../b"),
		"op 1: append: invalid path: empty": s.Apply(ctx,
			store.Commit{Ops: []store.Op{{Kind: store.OpDelete, Path: "a"}, {Kind: store.OpAppend}}}),
		`op 0: truncate a: unknown kind of operation "truncate"`: s.Apply(ctx,
			store.Commit{Ops: []store.Op{{Kind: "truncate", Path: "a"}}}),
		"op 0: write a: conflict": s.Apply(ctx,
			store.Commit{Ops: []store.Op{{Kind: store.OpWrite, Path: "a", Expect: "1"}}}),
	} {
		if err == nil || err.Error() != want && err.Error() != "apply: "+want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if len(e.applied) > 0 {
		t.Fatalf("the backend got %+v", e.applied)
	}
	rename := store.Commit{Reason: "r", Ops: []store.Op{{Kind: store.OpRename, Path: "a", To: "b"}}}
	if err := s.Apply(ctx, rename); err != nil {
		t.Error(err)
	}
	e.fail = errors.New("no route")
	if err := s.Append(ctx, "a", nil); !errors.Is(err, e.fail) || err.Error() != "append a: no route" {
		t.Errorf("got %v", err)
	}
	if len(e.applied) != 2 || e.applied[0].Reason != "r" || e.applied[1].Ops[0].Kind != store.OpAppend {
		t.Errorf("the backend got %+v", e.applied)
	}
	files, err := s.List(ctx, "d", store.ListOptions{Recursive: true})
	if err != nil || len(files) != 1 || files[0].Path != "d/true" {
		t.Errorf("%v, %v", files, err)
	}
	if received != 0 || s.Seq() != 0 {
		t.Errorf("%d events, %d commits", received, s.Seq())
	}
}

func TestWatchRunsWhileThereAreSinks(t *testing.T) {
	s, e := openRemote(t)
	var received []string
	sink := func(name string) func(store.ChangeEvent) {
		return func(ev store.ChangeEvent) {
			received = append(received, fmt.Sprint(name, ev.Path, " ", ev.Seq, ev.Last))
		}
	}
	one, two := s.Subscribe(sink("one ")), s.Subscribe(sink("two "))
	e.watches[0].sink(store.ChangeEvent{Path: "a", Seq: 7})
	one()
	e.watches[0].sink(store.ChangeEvent{Path: "b"})
	if got := e.activeWatches(); got != "+" {
		t.Errorf("watches %s", got)
	}
	two()
	two()
	if got := e.activeWatches(); got != "-" {
		t.Errorf("watches %s", got)
	}
	three := s.Subscribe(sink("three "))
	e.watches[0].sink(store.ChangeEvent{Path: "late"}) // no longer wanted
	e.watches[1].sink(store.ChangeEvent{Path: "c"})
	want := "[one a 0 true two a 0 true two b 0 true three c 0 true]"
	if got := fmt.Sprint(received); got != want {
		t.Errorf("received %s, want %s", got, want)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	three()
	s.Subscribe(sink("four "))
	if got := e.activeWatches(); got != "--" {
		t.Errorf("watches %s", got)
	}
}

// TestConcurrentSubscribers wants a watch whenever there is a subscriber, and none at the end.
func TestConcurrentSubscribers(t *testing.T) {
	s, e := openRemote(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				cancel := s.Subscribe(func(store.ChangeEvent) {})
				if got := e.activeWatches(); got == "" || got[len(got)-1] != '+' {
					t.Errorf("subscribed without a watch: %s", got)
				}
				cancel()
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	if got := e.activeWatches(); got[len(got)-1] != '-' {
		t.Errorf("watches %s", got)
	}
}
