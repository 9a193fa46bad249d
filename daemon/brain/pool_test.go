package brain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
	"evalctl/internal/awaittest"
)

// held returns the ids of the brains whose index is in memory.
func held(s *Service) []string {
	var ids []string
	for _, e := range s.brains {
		if e.indexer.Load() != nil {
			ids = append(ids, e.id())
		}
	}
	return sorted(ids)
}

// openTicking opens a service whose clock advances by a second with each reading. It has no
// janitor: indexes are dropped only by calls of dropIndexes.
func openTicking(t *testing.T, memory int64) (*Service, *atomic.Int64) {
	clock := new(atomic.Int64)
	s := open(t, func(c *Config) {
		c.IndexMemory = memory
		c.SearchWait = 100 * 365 * 24 * time.Hour // by the ticking clock, the rest of an index takes hours
		c.Now = func() time.Time { return epoch.Add(time.Duration(clock.Add(int64(time.Second)))) }
	})
	s.stopJanitor()
	return s, clock
}

func TestIndexesUnderAMemoryLimit(t *testing.T) {
	s, _ := openTicking(t, 0)
	const brains = 40
	id := func(i int) string { return fmt.Sprintf("b%02d", i) }
	search := func(i int) {
		t.Helper()
		if got := find(t, s, id(i), fmt.Sprint("otter", i)); len(got) != 1 {
			t.Errorf("brain %d: found %v", i, got)
		}
	}
	for i := range brains {
		create(t, s, id(i))
		for n := range 50 {
			put(t, s, id(i), fmt.Sprintf("n%d.md", n), fmt.Sprintf("note %d of walrus %d", n, i))
		}
		put(t, s, id(i), "otter.md", fmt.Sprint("otter", i))
		search(i)
	}
	search(0)
	each := s.brains[ownName{"", id(0)}].indexer.Load().size.bytes.Load()
	if each < 10_000 || each > 1_000_000 {
		t.Fatalf("an index of 51 notes is measured as %d bytes", each)
	}
	s.pool.indexMemory = 5*each + each/2
	s.pool.dropIndexes()
	want := []string{id(0), id(36), id(37), id(38), id(39)} // those searched last
	if got := held(s); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("kept the indexes of %v, want %v", got, want)
	}
	for i := range brains { // a dropped one is built again, and follows writes
		search(i)
		put(t, s, id(i), "new.md", fmt.Sprint("seal", i))
		if got := find(t, s, id(i), fmt.Sprint("seal", i)); len(got) != 1 {
			t.Errorf("brain %d: found %v after coming back", i, got)
		}
	}
	s.pool.indexMemory = 1
	s.pool.dropIndexes()
	if got := held(s); fmt.Sprint(got) != fmt.Sprint([]string{id(39)}) {
		t.Errorf("kept the indexes of %v, want the one searched last", got)
	}
}

func TestIdleIndexesAreDropped(t *testing.T) {
	s, clock := openTicking(t, 0)
	for _, id := range []string{"one", "two"} {
		create(t, s, id)
		put(t, s, id, "a.md", "otter")
		find(t, s, id, "otter")
	}
	s.pool.dropIndexes()
	if got := held(s); len(got) != 2 {
		t.Errorf("kept %v, want both", got)
	}
	clock.Add(int64(indexIdle - 5*time.Second))
	find(t, s, "two", "otter")
	s.pool.dropIndexes()
	if got := held(s); fmt.Sprint(got) != "[two]" {
		t.Errorf("kept %v, want the one that is not idle", got)
	}
	clock.Add(int64(indexIdle))
	s.pool.dropIndexes()
	if got := held(s); len(got) != 0 {
		t.Errorf("kept %v, want none", got)
	}
}

// An index that a search waits for is kept, however long the search waits.
func TestAwaitedIndexesAreNotDropped(t *testing.T) {
	b := &slowBackend{docs: map[string][]byte{"a.md": []byte("otter")}, reading: make(chan string), proceed: make(chan struct{})}
	clock := new(atomic.Int64)
	s := open(t, func(c *Config) {
		c.OpenStore = func(context.Context, Record) (*store.Store, error) { return store.New(b, nil), nil }
		c.Now = func() time.Time { return epoch.Add(time.Duration(clock.Load())) }
	})
	s.stopJanitor()
	create(t, s, "eval")
	done := make(chan error, 1)
	go func() {
		got, err := use(t, s, "eval").Search(t.Context(), query("otter"))
		if err == nil && len(got.Hits) != 1 {
			err = fmt.Errorf("found %d chunks", len(got.Hits))
		}
		done <- err
	}()
	awaittest.Receive(t, "b.reading", b.reading)
	clock.Add(int64(2 * indexIdle))
	s.pool.dropIndexes()
	b.proceed <- struct{}{}
	if err := awaittest.Receive(t, "done", done); err != nil {
		t.Error(err)
	}
	clock.Add(int64(indexIdle))
	s.pool.dropIndexes()
	if got := held(s); len(got) != 0 {
		t.Errorf("kept %v after the search", got)
	}
}

// Searches see every write before them while indexes are being dropped.
func TestReadYourWritesWhileIndexesAreDropped(t *testing.T) {
	s, _ := openTicking(t, 1)
	const brains = 4
	for i := range brains {
		create(t, s, fmt.Sprint("b", i))
	}
	var writers, dropper sync.WaitGroup
	stop := make(chan struct{})
	dropper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				s.pool.dropIndexes()
			}
		}
	})
	for w := range 4 {
		writers.Go(func() {
			for i := range 40 {
				id := fmt.Sprint("b", (w+i)%brains)
				word := fmt.Sprintf("token%dx%d", w, i)
				st, err := use(t, s, id).Store(t.Context())
				if err == nil {
					err = st.Write(t.Context(), word+".md", []byte(word))
				}
				var got SearchResult
				if err == nil {
					got, err = use(t, s, id).Search(t.Context(), query(word))
				}
				if err != nil || len(got.Hits) != 1 {
					t.Errorf("%s: found %+v, %+v, %v", word, got.Hits, got.Indexing, err)
				}
			}
		})
	}
	awaittest.Wait(t, "writers", writers.Wait)
	close(stop)
	awaittest.Wait(t, "dropper", dropper.Wait)
}

// stuckSnapshots has no snapshots. Put waits until it may proceed.
type stuckSnapshots struct {
	putting, proceed chan struct{}
}

func (*stuckSnapshots) Get(context.Context, string, func(io.ReaderAt, int64, uint64) error) error {
	return ErrNoSnapshot
}

func (s *stuckSnapshots) Put(context.Context, string, uint64, uint64, func(io.Writer) error) error {
	s.putting <- struct{}{}
	<-s.proceed
	return nil
}

func (*stuckSnapshots) Remove(context.Context, string) error { return nil }

// The documents of a brain are available while the snapshot of its dropped index is written.
func TestDocumentsWhileASnapshotIsWritten(t *testing.T) {
	snapshots := &stuckSnapshots{make(chan struct{}, 8), make(chan struct{})}
	s := open(t, func(c *Config) { c.Snapshots = snapshots })
	s.stopJanitor()
	create(t, s, "eval")
	put(t, s, "eval", "large.md", manyChunks)
	find(t, s, "eval", "walrus")
	h := use(t, s, "eval")
	defer h.Acquire()()
	var dropping sync.WaitGroup
	dropping.Go(func() { h.entry.dropIndex(h.entry.searched) })
	awaittest.Receive(t, "the snapshot", snapshots.putting)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		st, err := h.Store(ctx)
		if err == nil {
			err = st.Write(ctx, "a.md", []byte("otter"))
		}
		h.Passages("a.md", []byte("otter"))
		searching, stop := context.WithTimeout(ctx, 10*time.Millisecond)
		defer stop()
		if _, searchErr := h.Search(searching, query("otter")); !errors.Is(searchErr, context.DeadlineExceeded) {
			err = errors.Join(err, fmt.Errorf("search: got %w, want the end of its context", searchErr))
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Error("the documents wait for the snapshot")
	}
	close(snapshots.proceed)
	awaittest.Wait(t, "dropping", dropping.Wait)
}

// A store that is slow to open does not keep the indexes of other brains in memory.
func TestIndexesAreDroppedDuringASlowOpening(t *testing.T) {
	opening, proceed := make(chan struct{}), make(chan struct{})
	clock := new(atomic.Int64)
	s := open(t, func(c *Config) {
		c.IndexMemory = 1
		c.SearchWait = 100 * 365 * 24 * time.Hour // see openTicking
		c.Now = func() time.Time { return epoch.Add(time.Duration(clock.Add(int64(time.Second)))) }
		c.OpenStore = func(_ context.Context, r Record) (*store.Store, error) {
			if r.Brain.ID == "slow" {
				close(opening)
				<-proceed
			}
			return memstore.Open(nil), nil
		}
	})
	s.stopJanitor()
	for _, id := range []string{"one", "two", "slow"} {
		create(t, s, id)
	}
	for _, id := range []string{"one", "two"} {
		put(t, s, id, "a.md", "otter")
		find(t, s, id, "otter")
	}
	var running sync.WaitGroup
	h := use(t, s, "slow")
	running.Go(func() { _, _ = h.Store(t.Context()) })
	awaittest.Receive(t, "opening", opening)
	dropped := make(chan struct{})
	go func() {
		defer close(dropped)
		s.pool.dropIndexes()
	}()
	select {
	case <-dropped:
	case <-time.After(20 * time.Second):
		t.Error("dropping indexes waits for a store that is being opened")
	}
	close(proceed)
	awaittest.Wait(t, "opening", running.Wait)
	awaittest.Receive(t, "dropped", dropped)
	if got := held(s); fmt.Sprint(got) != "[two]" {
		t.Errorf("kept %v, want the one searched last", got)
	}
}
