package memory

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
)

// TestIdleBrainsLeaveNothing: nothing is kept of brains that were used once, and they are as they
// were when they are used again.
func TestIdleBrainsLeaveNothing(t *testing.T) {
	dir, clock := t.TempDir(), new(atomic.Int64)
	f := openWith(t, brain.Config{
		Catalog: new(brain.MemoryCatalog), Persistent: true,
		OpenStore: func(ctx context.Context, r brain.Record) (*store.Store, error) {
			return fsstore.Open(ctx, filepath.Join(dir, r.Brain.ID), nil)
		},
		Now: func() time.Time { return epoch.Add(time.Duration(clock.Load())) },
	}, Config{})
	f.onJob(func(context.Context, *Service, brain.Handle, *job) (any, error) { return "done", nil })
	find := func(id string) brain.Handle {
		h, err := f.brains.Find(id)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	before := runtime.NumGoroutine()
	const brains = 20
	for i := range brains {
		id := fmt.Sprint("b", i)
		if _, err := f.brains.Create(t.Context(), "", protocol.CreateBrain{ID: id}); err != nil {
			t.Fatal(err)
		}
		f.brain = find(id)
		f.ingestFile(t, "a.txt", "text of "+id)
		f.say(t, "s", user("hello"))
		f.await(t, f.add(t, nil))
	}
	if n := kept(f); n < 4*brains {
		t.Fatalf("the test uses %d values", n)
	}
	left := func() int { return kept(f) + max(0, runtime.NumGoroutine()-before-8) }
	for deadline := time.Now().Add(time.Minute); left() > 4; {
		if time.Now().After(deadline) {
			t.Fatalf("%d values are kept, and %d goroutines were %d", kept(f), runtime.NumGoroutine(), before)
		}
		// The search of another brain measures its index, and that wakes what closes idle brains.
		clock.Add(int64(time.Hour))
		f.brain = find("eval")
		f.put(t, "a.md", fmt.Sprint(clock.Load()))
		if _, err := f.brain.Search(t.Context(), search.Query{Text: "x", TopK: 1, Mode: search.ModeAuto}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	f.brain = find("b3")
	if r := f.ingestFile(t, "b.txt", "text of b3"); !r.Reused {
		t.Errorf("the ingest is %+v, want that of the file before", r)
	}
	if n := len(f.stored(t, "s")); n != 1 {
		t.Errorf("the session has %d messages, want 1", n)
	}
}

// kept counts what the service keeps for single brains.
func kept(f *fixture) int {
	return size(&f.groups) + size(&f.messageGroups) + size(&f.originals) + size(&f.jobs.brains)
}

func size[T any](p *perBrain[T]) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.values)
}
