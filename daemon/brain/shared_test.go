package brain

import (
	"context"
	"errors"
	"testing"

	"evalctl/daemon/protocol"
)

// sharedMemory is a SharedCatalog for brains without a tenant.
type sharedMemory struct {
	MemoryCatalog
	retired func() // called after a brain was retired, if not nil
}

func (c *sharedMemory) Retire(ctx context.Context, r Record) (string, error) {
	name, err := c.MemoryCatalog.Retire(ctx, r)
	if c.retired != nil {
		c.retired()
	}
	return name, err
}

func (c *sharedMemory) Lookup(ctx context.Context, _, name string) (found []Record, err error) {
	all, err := c.Load(ctx)
	for _, r := range all {
		if r.Brain.ID == name || r.Brain.Slug == name {
			found = append(found, r)
		}
	}
	return found, err
}

func (c *sharedMemory) Select(ctx context.Context, _ Selection) ([]Record, error) { return c.Load(ctx) }

func (c *sharedMemory) Oldest(context.Context, Selection) (Record, error) {
	return Record{}, ErrNotFound
}

func (c *sharedMemory) Damaged(context.Context) ([]Record, error) { return nil, nil }

func (c *sharedMemory) Count(context.Context) (int, error) { return len(c.records), nil }

func (c *sharedMemory) Missing(context.Context, []int64) ([]int64, error) { return nil, nil }

func (c *sharedMemory) Watch(ctx context.Context, _ func()) { <-ctx.Done() }

// TestReplacedDuringDeletion: another process creates a brain with the id of the one that is just
// being deleted here. It is found at once, and stays usable.
func TestReplacedDuringDeletion(t *testing.T) {
	c := &sharedMemory{}
	s := open(t, func(cfg *Config) { cfg.Catalog = c })
	create := protocol.CreateBrain{ID: "a", Slug: "notes"}
	if _, err := s.Create(t.Context(), "", create); err != nil {
		t.Fatal(err)
	}
	var replaced Handle
	c.retired = func() {
		b, err := newBrain(create)
		if err == nil {
			_, err = c.Add(t.Context(), Record{Brain: b})
		}
		if err == nil {
			err = s.Refresh(t.Context(), "", "a")
		}
		if err == nil {
			replaced, err = s.Find("a")
		}
		if err != nil {
			t.Error(err)
		}
	}
	old := use(t, s, "a")
	if err := s.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(old.Err(), ErrNotFound) || replaced.Err() != nil {
		t.Errorf("the old brain: %v, the new one: %v", old.Err(), replaced.Err())
	}
	if err := s.Refresh(t.Context(), "", "notes"); err != nil {
		t.Fatal(err)
	}
	for _, find := range []func() (Handle, error){
		func() (Handle, error) { return s.Find("a") },
		func() (Handle, error) { return s.FindSlug("", "notes") },
	} {
		if h, err := find(); err != nil || h != replaced {
			t.Errorf("got %v, %v, want the new brain", h, err)
		}
	}
}

// TestOutdatedLookup: what a lookup has read before a brain was created does not end the brain.
func TestOutdatedLookup(t *testing.T) {
	c := &createdDuringLookup{}
	s := open(t, func(cfg *Config) { cfg.Catalog = c })
	c.lookup = func() {
		c.lookup = nil
		if _, err := s.Create(t.Context(), "", protocol.CreateBrain{ID: "a"}); err != nil {
			t.Error(err)
		}
	}
	if err := s.Refresh(t.Context(), "", "a"); err != nil {
		t.Fatal(err)
	}
	if h, err := s.Find("a"); err != nil || h.Err() != nil {
		t.Errorf("got %v, %v", h, err)
	}
}

// createdDuringLookup returns what Lookup found before a function was called.
type createdDuringLookup struct {
	sharedMemory
	lookup func()
}

func (c *createdDuringLookup) Lookup(ctx context.Context, tenant, name string) ([]Record, error) {
	found, err := c.sharedMemory.Lookup(ctx, tenant, name)
	if c.lookup != nil {
		c.lookup()
	}
	return found, err
}

// TestChangedRecord: a lookup sees what another process has changed, unless a later one has seen
// more.
func TestChangedRecord(t *testing.T) {
	c := &createdDuringLookup{}
	s := open(t, func(cfg *Config) { cfg.Catalog = c })
	create(t, s, "a")
	h := use(t, s, "a")
	set := func(slug, name string) {
		t.Helper()
		r := h.entry.record()
		r.Brain.Slug, r.Brain.Name, r.Brain.Visibility = slug, name, protocol.VisibilityPublic
		if err := c.Update(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	refresh := func() {
		t.Helper()
		if err := s.Refresh(t.Context(), "", "a"); err != nil {
			t.Fatal(err)
		}
	}
	set("first", "First")
	c.lookup = func() { // while the result of an earlier lookup is on its way
		c.lookup = nil
		set("second", "Second")
		refresh()
	}
	refresh()
	if b := h.Brain(); b.Name != "Second" || b.Slug != "second" || b.Visibility != protocol.VisibilityPublic {
		t.Errorf("got %+v, want the second change", b)
	}
	if found, err := s.FindSlug("", "second"); err != nil || found != h {
		t.Errorf("by its new slug: %v, %v", found, err)
	}
	for _, old := range []string{"a", "first"} {
		if _, err := s.FindSlug("", old); !errors.Is(err, ErrNotFound) {
			t.Errorf("by its former slug %s: %v", old, err)
		}
	}
}
