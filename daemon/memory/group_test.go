package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
	"evalctl/internal/awaittest"
)

// TestGroup: requests that wait for a commit share the next one, but neither its reason nor an
// error with those of another kind.
func TestGroup(t *testing.T) {
	f := open(t)
	st := f.store(t)
	var mu sync.Mutex
	commits := map[uint64][]string{}
	defer st.Subscribe(func(e store.ChangeEvent) {
		mu.Lock()
		defer mu.Unlock()
		commits[e.Seq] = append(commits[e.Seq], e.Reason+" "+e.Path)
	})()

	g := f.groups.of(f.brain)
	if g != f.groups.of(f.brain) {
		t.Fatal("a brain has two groups")
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	rejected := errors.New("rejected")
	g.leader.Lock() // so that all of them wait
	var wg sync.WaitGroup
	errs := make([]error, 9)
	for i := range errs {
		queued := make(chan struct{})
		wg.Go(func() {
			ctx, reason := t.Context(), "a"
			if i >= 6 {
				reason = "b"
			}
			if i == 7 {
				ctx = canceled
			}
			write := func(b *store.Batch) error {
				if err := b.Write(t.Context(), fmt.Sprintf("%d.md", i), nil); err != nil {
					return err
				}
				if i == 8 {
					return rejected
				}
				return nil
			}
			g.mu.Lock()
			n := len(g.waiting)
			g.mu.Unlock()
			if n != i {
				t.Errorf("%d requests wait before request %d", n, i)
			}
			go func() {
				for n <= i {
					g.mu.Lock()
					n = len(g.waiting)
					g.mu.Unlock()
				}
				close(queued)
			}()
			errs[i] = g.commit(ctx, st, reason, 1, write)
		})
		awaittest.Receive(t, "queued", queued)
	}
	g.leader.Unlock()
	awaittest.Wait(t, "the goroutines", wg.Wait)
	for i, err := range errs {
		switch {
		case i == 7 && errors.Is(err, context.Canceled), i == 8 && errors.Is(err, rejected), i < 7 && err == nil:
		default:
			t.Errorf("request %d: %v", i, err)
		}
	}
	// The six of reason a together, and of reason b the one that was accepted.
	if len(commits) != 2 || len(commits[1]) != 6 || fmt.Sprint(commits[2]) != "[b 6.md]" {
		t.Errorf("commits %v", commits)
	}
}

// TestGroupLeader: a request that commits the write of another one does not cancel it.
func TestGroupLeader(t *testing.T) {
	f := open(t)
	st, g := f.store(t), f.groups.of(f.brain)
	other := &groupWrite{ctx: t.Context(), reason: "a", write: func(b *store.Batch) error {
		return b.Write(t.Context(), "a.md", nil)
	}}
	g.waiting = append(g.waiting, other)
	gone, leave := context.WithCancel(t.Context())
	leave()
	err := g.commit(gone, st, "b", 1, func(*store.Batch) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the request that was canceled: %v", err)
	}
	if there, err := st.Exists(t.Context(), "a.md"); !other.done || other.err != nil || !there {
		t.Errorf("the other request: %v, stored %v, %v", other.err, there, err)
	}
}

// unsureBackend makes commits, and then says that their outcome is unknown.
type unsureBackend struct{ countedBackend }

func (b *unsureBackend) Commit(ctx context.Context, c store.Commit) error {
	return cmp.Or(b.st.Apply(ctx, c), store.Unavailable(nil, "the outcome is unknown"))
}

// TestGroupUnsure: a commit that may have been made is not made again.
func TestGroupUnsure(t *testing.T) {
	st := store.New(&unsureBackend{countedBackend{st: memstore.Open(nil)}}, nil)
	add := func(b *store.Batch) error { return b.Append(t.Context(), "log.md", []byte("a line\n")) }
	other := &groupWrite{ctx: t.Context(), write: add}
	g := &group{waiting: []*groupWrite{other}}
	err := g.commit(t.Context(), st, "", 1, add)
	for _, err := range []error{err, other.err} {
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	}
	if log, err := st.Read(t.Context(), "log.md"); err != nil || strings.Count(string(log), "a line") != 2 {
		t.Errorf("%s, %v", log, err)
	}
}

// TestGroupSize: a group is bounded.
func TestGroupSize(t *testing.T) {
	g := &group{}
	for _, size := range []int{maxGroup, 1, maxGroup - 1, 1, maxGroup + 1, 1} {
		g.waiting = append(g.waiting, &groupWrite{size: size})
	}
	var got []int
	for len(g.waiting) > 0 {
		got = append(got, len(g.next()))
	}
	if fmt.Sprint(got) != "[1 2 1 1 1]" {
		t.Errorf("groups of %v", got)
	}
}
