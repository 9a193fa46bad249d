package brain

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
	"evalctl/internal/awaittest"
)

// A slow deletion delays no other brain.
func TestDeletingStallsNobody(t *testing.T) {
	opening, proceed := make(chan struct{}), make(chan struct{})
	s := open(t, func(c *Config) {
		inFolder(t, filepath.Join(t.TempDir(), "brains"))(c)
		c.OpenStore = func(_ context.Context, r Record) (*store.Store, error) {
			if r.Brain.ID == "slow" {
				close(opening)
				<-proceed
			}
			return memstore.Open(nil), nil
		}
	})
	create(t, s, "slow")
	create(t, s, "other")
	h := use(t, s, "slow")
	var slow sync.WaitGroup
	slow.Go(func() { _, _ = h.Store(t.Context()) })
	awaittest.Receive(t, "opening", opening)
	slow.Go(func() {
		if err := s.Delete(context.Background(), h); err != nil {
			t.Error(err)
		}
	})
	awaittest.Receive(t, "h.Done", h.Done())
	others := make(chan struct{})
	go func() {
		defer close(others)
		put(t, s, "other", "a.md", "otter")
		find(t, s, "other", "otter")
		create(t, s, "third")
		if err := s.Delete(t.Context(), use(t, s, "third")); err != nil {
			t.Error(err)
		}
		if _, err := s.Find("slow"); !errors.Is(err, ErrNotFound) {
			t.Errorf("find: %v", err)
		}
		if err := s.Delete(t.Context(), h); !errors.Is(err, ErrNotFound) {
			t.Errorf("delete: %v", err)
		}
		for _, r := range []protocol.CreateBrain{{ID: "slow"}, {ID: "x", Slug: "slow"}} {
			if _, err := s.Create(t.Context(), "", r); !errors.Is(err, ErrExists) {
				t.Errorf("create %+v: %v", r, err)
			}
		}
		if list := list(t, s); len(list) != 1 || list[0].ID != "other" {
			t.Errorf("listed %v", list)
		}
		if _, err := s.Create(t.Context(), "", protocol.CreateBrain{ID: "slow"}); !errors.Is(err, ErrExists) {
			t.Errorf("the id is free before the brain is deleted: %v", err)
		}
	}()
	select {
	case <-others:
	case <-time.After(2 * time.Minute):
		t.Error("other brains wait for the one that is being deleted")
	}
	close(proceed)
	awaittest.Wait(t, "slow", slow.Wait)
	awaittest.Receive(t, "others", others)
	create(t, s, "slow")
	put(t, s, "other", "b.md", "otter")
}

// Of concurrent creations or deletions of the same brain, one succeeds. In the end the disk
// and the service agree.
func TestCreateAndDeleteAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "brains")
	onDisk := inFolder(t, dir)
	s := open(t, onDisk)
	var created, deleted atomic.Int64
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 25 {
				id := fmt.Sprint("b", (w+i)%3)
				_, err := s.Create(context.Background(), "", protocol.CreateBrain{ID: id})
				switch {
				case err == nil:
					created.Add(1)
				case !errors.Is(err, ErrExists):
					t.Error(err)
				}
				h, err := s.Find(id)
				if err == nil {
					_, _ = h.Store(context.Background())
					err = s.Delete(context.Background(), h)
				}
				switch {
				case err == nil:
					deleted.Add(1)
				case !errors.Is(err, ErrNotFound):
					t.Error(err)
				}
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	left := list(t, s)
	if created.Load()-deleted.Load() != int64(len(left)) || created.Load() == 0 {
		t.Errorf("created %d, deleted %d, left %v", created.Load(), deleted.Load(), left)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if again := list(t, open(t, onDisk)); fmt.Sprint(again) != fmt.Sprint(left) {
		t.Errorf("on disk are %v, want %v", again, left)
	}
}

// A brain is created before the service closes, or not at all.
func TestCreateWhileClosing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "brains")
	onDisk := inFolder(t, dir)
	s := open(t, onDisk)
	made := make([]bool, 200)
	started := make(chan struct{}, 1)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := w; i < len(made); i += 4 {
				_, err := s.Create(context.Background(), "", protocol.CreateBrain{ID: fmt.Sprint("b", i)})
				if err != nil && !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
				made[i] = err == nil
				select {
				case started <- struct{}{}:
				default:
				}
			}
		})
	}
	awaittest.Receive(t, "started", started)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	s = open(t, onDisk)
	for i, want := range made {
		if _, err := s.Find(fmt.Sprint("b", i)); (err == nil) != want {
			t.Errorf("brain %d: created %v, found: %v", i, want, err)
		}
	}
}

// faultyCatalog is a catalog whose methods can be made to fail.
type faultyCatalog struct {
	MemoryCatalog
	add, retire error
	purged      []string
}

func (c *faultyCatalog) Purge(_ context.Context, retired string) error {
	c.purged = append(c.purged, retired)
	return nil
}

func (c *faultyCatalog) Add(ctx context.Context, r Record) (Record, error) {
	if c.add != nil {
		return Record{}, c.add
	}
	return c.MemoryCatalog.Add(ctx, r)
}

func (c *faultyCatalog) Retire(ctx context.Context, r Record) (string, error) {
	if c.retire != nil {
		return "", c.retire
	}
	_, err := c.MemoryCatalog.Retire(ctx, r)
	return r.Brain.ID, err
}

// TestSlugsAfterFailures: a brain that was not created leaves its slug free, and one that was
// not deleted keeps it.
func TestSlugsAfterFailures(t *testing.T) {
	broken := errors.New("disk on fire")
	c := &faultyCatalog{add: broken}
	s := open(t, func(cfg *Config) { cfg.Catalog = c })
	notes := protocol.CreateBrain{ID: "a", Slug: "notes"}
	if _, err := s.Create(t.Context(), "", notes); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := s.FindSlug("", "notes"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	c.add = nil
	if _, err := s.Create(t.Context(), "", protocol.CreateBrain{ID: "b", Slug: "notes"}); err != nil {
		t.Fatal(err)
	}
	c.retire = broken
	if err := s.Delete(t.Context(), use(t, s, "b")); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if h, err := s.FindSlug("", "notes"); err != nil || h.Brain().ID != "b" {
		t.Errorf("got %v", err)
	}
	if _, err := s.Create(t.Context(), "", notes); !errors.Is(err, ErrExists) {
		t.Errorf("got %v", err)
	}
}

// unclosable is a backend whose Close fails because the disk is full.
type unclosable struct{ slowBackend }

func (*unclosable) Close() error { return syscall.ENOSPC }

// TestDeleteFreesAFullDisk: the data of a deleted brain is deleted although its store cannot be
// closed in order, as on a full disk, which needs the space.
func TestDeleteFreesAFullDisk(t *testing.T) {
	c := &faultyCatalog{}
	s := open(t, func(cfg *Config) {
		cfg.Catalog = c
		cfg.OpenStore = func(context.Context, Record) (*store.Store, error) {
			return store.New(&unclosable{slowBackend{docs: map[string][]byte{}}}, nil), nil
		}
	})
	create(t, s, "full")
	put(t, s, "full", "a.md", "otter")
	if err := s.Delete(t.Context(), use(t, s, "full")); err != nil {
		t.Errorf("delete: %v", err)
	}
	if !slices.Equal(c.purged, []string{"full"}) {
		t.Errorf("purged %q", c.purged)
	}
	create(t, s, "full") // the id is free
}

// TestVanishedAfterAFailedDeletion: a brain that was not deleted is still known to have
// documents, so that a store without any is not created in their place.
func TestVanishedAfterAFailedDeletion(t *testing.T) {
	c := &faultyCatalog{retire: errDisk}
	var vanished bool
	s := open(t, func(cfg *Config) {
		cfg.Catalog = c
		cfg.HasStore = func(string) (bool, error) { return !vanished, nil }
	})
	create(t, s, "a")
	put(t, s, "a", "a.md", "otter")
	if err := s.Delete(t.Context(), use(t, s, "a")); !errors.Is(err, errDisk) {
		t.Fatalf("delete: %v", err)
	}
	vanished = true
	if _, err := use(t, s, "a").Store(t.Context()); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("got %v, want ErrDamaged", err)
	}
}
