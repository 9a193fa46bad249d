package brain

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evalctl/daemon/store"
	"evalctl/internal/awaittest"
)

// disk keeps the documents of brains while their stores are closed.
type disk struct {
	mu    sync.Mutex
	kept  map[string]*slowBackend
	open  atomic.Int64
	most  atomic.Int64 // maximum of open
	fails atomic.Bool  // the next commits fail
}

// opened is an open store of a brain on a disk.
type opened struct {
	*slowBackend
	disk   *disk
	broken error
}

func (d *disk) openStore(_ context.Context, r Record) (*store.Store, error) {
	id := r.Brain.ID
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.kept[id]
	if b == nil {
		b = &slowBackend{docs: map[string][]byte{}}
		d.kept[id] = b
	}
	d.most.Store(max(d.most.Load(), d.open.Add(1)))
	return store.New(&opened{slowBackend: b, disk: d}, nil), nil
}

func (o *opened) Commit(ctx context.Context, c store.Commit) error {
	if o.broken != nil {
		return o.broken
	}
	if o.disk.fails.Load() {
		o.broken = store.ErrReadOnly
		return errDisk
	}
	return o.slowBackend.Commit(ctx, c)
}

var errDisk = errors.New("disk on fire")

func (o *opened) Broken() bool { return o.broken != nil }

func (o *opened) Close() error {
	o.disk.open.Add(-1)
	return nil
}

// openDisk opens a service on a disk. It has no janitor: idle stores are closed only by
// calls of closeIdleStores.
func openDisk(t *testing.T, set func(*Config)) (*Service, *disk) {
	d := &disk{kept: map[string]*slowBackend{}}
	s := open(t, func(c *Config) {
		inFolder(t, filepath.Join(t.TempDir(), "brains"))(c)
		c.OpenStore = d.openStore
		if set != nil {
			set(c)
		}
	})
	s.stopJanitor()
	return s, d
}

func write(ctx context.Context, h Handle, path, text string) error {
	defer h.Acquire()()
	st, err := h.Store(ctx)
	if err != nil {
		return err
	}
	return st.Write(ctx, path, []byte(text))
}

func TestOpenStoresAreBounded(t *testing.T) {
	const bound, brains, workers = 4, 24, 3
	s, d := openDisk(t, func(c *Config) { c.OpenStores = bound })
	id := func(i int) string { return fmt.Sprint("b", i%brains) }
	for i := range brains {
		create(t, s, id(i))
		put(t, s, id(i), "first.md", "otter")
	}
	var events atomic.Int64
	for i := range brains {
		defer use(t, s, id(i)).Subscribe(func(store.ChangeEvent) { events.Add(1) })()
	}
	var wg sync.WaitGroup
	const rounds = 60
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				h := use(t, s, id(w*7+i*5))
				word := fmt.Sprintf("token%dx%d", w, i)
				if err := write(t.Context(), h, word+".md", word); err != nil {
					t.Error(err)
				}
				got, err := h.Search(t.Context(), query(word))
				if err != nil || len(got.Hits) != 1 {
					t.Errorf("%s: found %+v, %v", word, got.Hits, err)
				}
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	// Acquired brains do not count, so each worker may have one more store open.
	if n := d.most.Load(); n > bound+workers {
		t.Errorf("%d stores were open at once, the limit is %d", n, bound)
	}
	if n := events.Load(); n != workers*rounds {
		t.Errorf("got %d events, want %d", n, workers*rounds)
	}
	for i := range brains {
		if got := find(t, s, id(i), "otter"); len(got) != 1 {
			t.Errorf("%s: found %v", id(i), got)
		}
	}
	if n := d.open.Load(); n > bound {
		t.Errorf("%d stores are open, the limit is %d", n, bound)
	}
	for i := range brains {
		if err := s.Delete(t.Context(), use(t, s, id(i))); err != nil {
			t.Error(err)
		}
	}
	if n, counted := d.open.Load(), len(s.pool.entries); n != 0 || counted != 0 {
		t.Errorf("%d stores of deleted brains are open, %d are counted", n, counted)
	}
}

func TestHeldStoresStayOpen(t *testing.T) {
	s, d := openDisk(t, func(c *Config) { c.OpenStores = 1 })
	create(t, s, "held")
	create(t, s, "other")
	h := use(t, s, "held")
	release := h.Acquire()
	st, err := h.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "other", "a.md", "otter")
	if err := st.Write(t.Context(), "a.md", []byte("walrus")); err != nil {
		t.Errorf("a held store: %v", err)
	}
	release()
	find(t, s, "other", "otter")
	create(t, s, "third")
	put(t, s, "third", "a.md", "otter")
	if err := st.Write(t.Context(), "a.md", []byte("walrus")); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a released store: %v", err)
	}
	if n := d.open.Load(); n != 1 {
		t.Errorf("%d stores are open", n)
	}
	if got := find(t, s, "held", "walrus"); len(got) != 1 {
		t.Errorf("found %v", got)
	}
}

func TestIdleStoresAreClosed(t *testing.T) {
	var clock atomic.Int64
	s, d := openDisk(t, func(c *Config) {
		c.Now = func() time.Time { return epoch.Add(time.Duration(clock.Load())) }
	})
	for _, id := range []string{"idle", "used", "held"} {
		create(t, s, id)
		put(t, s, id, "a.md", "otter")
		find(t, s, id, "otter")
	}
	release := use(t, s, "held").Acquire()
	clock.Add(int64(storeIdle - time.Second))
	find(t, s, "used", "otter")
	s.pool.closeIdleStores()
	if n := d.open.Load(); n != 3 {
		t.Errorf("%d stores are open, want all", n)
	}
	clock.Add(int64(time.Second))
	// What is being indexed is not closed at this moment.
	open := func(n int64) func() bool {
		return func() bool { s.pool.closeIdleStores(); return d.open.Load() == n }
	}
	awaittest.Until(t, "two stores are open, those used and held", open(2))
	release()
	s.pool.closeIdleStores()
	if n := d.open.Load(); n != 2 {
		t.Errorf("%d stores are open: one was in use until now", n)
	}
	awaittest.Until(t, "no store is open, and no index", func() bool {
		clock.Add(int64(storeIdle)) // indexing may still have used a store
		return open(0)() && len(held(s)) == 0
	})
	if got := find(t, s, "idle", "otter"); len(got) != 1 {
		t.Errorf("found %v", got)
	}
}

// A store in memory would lose its documents when closed.
func TestStoresInMemoryStayOpen(t *testing.T) {
	s := open(t, func(c *Config) { c.OpenStores = 1 })
	for i := range 4 {
		create(t, s, fmt.Sprint("b", i))
		put(t, s, fmt.Sprint("b", i), "a.md", "otter")
	}
	s.pool.closeIdleStores()
	for i := range 4 {
		if got := find(t, s, fmt.Sprint("b", i), "otter"); len(got) != 1 {
			t.Errorf("brain %d: found %v", i, got)
		}
	}
}

// The next call reopens a store that accepts no more commits, even if the brain is acquired
// and has a subscriber.
func TestBrokenStoresAreReopened(t *testing.T) {
	s, d := openDisk(t, nil)
	create(t, s, "eval")
	h := use(t, s, "eval")
	defer h.Acquire()()
	put(t, s, "eval", "a.md", "otter")
	find(t, s, "eval", "otter")
	var changed []string
	defer h.Subscribe(func(e store.ChangeEvent) { changed = append(changed, e.Path) })()

	d.fails.Store(true)
	st, err := h.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Delete(t.Context(), "a.md"); !errors.Is(err, errDisk) {
		t.Errorf("got %v", err)
	}
	d.fails.Store(false)
	put(t, s, "eval", "b.md", "walrus")
	for _, word := range []string{"otter", "walrus"} {
		if got := find(t, s, "eval", word); len(got) != 1 {
			t.Errorf("%s: found %v", word, got)
		}
	}
	if fmt.Sprint(changed) != "[b.md]" {
		t.Errorf("got events of %v", changed)
	}
	if n := d.open.Load(); n != 1 {
		t.Errorf("%d stores are open", n)
	}
}
