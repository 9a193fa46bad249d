// Package braintest has the tests that every implementation of brain.Catalog and
// brain.Snapshots must pass.
package braintest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
)

// Catalog tests an implementation of brain.Catalog. Each test calls prepare once, for
// an empty catalog. The function that prepare returns opens this catalog, again after
// each Close.
func Catalog(t *testing.T, prepare func(t *testing.T) (open func() brain.Catalog)) {
	for _, c := range []struct {
		name string
		run  func(*catalogTest)
	}{
		{"an empty catalog has no records", emptyCatalog},
		{"records are kept as they were added", keepsRecords},
		{"slugs need not be unique", sharedSlugs},
		{"an id is taken once", takenID},
		{"a retired brain is gone and its id free", retiredBrain},
		{"a retired brain stays away unpurged", unpurgedBrain},
		{"an unknown brain cannot be retired", unknownBrain},
		{"a record is replaced", updatedBrain},
		{"brains change concurrently", concurrentBrains},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := &catalogTest{T: t, ctx: t.Context(), open: prepare(t), uids: map[string]int64{}}
			run.catalog = run.open()
			c.run(run)
			if err := run.catalog.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// catalogTest is one test on an open catalog.
type catalogTest struct {
	*testing.T
	ctx     context.Context
	open    func() brain.Catalog
	catalog brain.Catalog

	mu   sync.Mutex
	uids map[string]int64 // of the brains added last, by id
}

func record(id, tenant string) brain.Record {
	return brain.Record{
		Tenant: tenant,
		Brain: protocol.Brain{
			ID: id, Slug: "slug-" + id, Name: "Näme of \"" + id + "\"", Visibility: protocol.VisibilityTenant,
			CreatedAt: time.Date(2024, 5, 1, 12, 0, 0, 123_000_000, time.UTC),
		},
	}
}

func (t *catalogTest) add(records ...brain.Record) {
	t.Helper()
	for _, r := range records {
		uid, err := t.catalog.Add(t.ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		t.uids[r.Brain.ID] = uid
	}
}

// added returns the record of a brain with the UID that it was given.
func (t *catalogTest) added(id string) brain.Record {
	r := record(id, "acme")
	r.UID = t.uids[id]
	return r
}

func (t *catalogTest) retire(id string) (retired string) {
	t.Helper()
	retired, err := t.catalog.Retire(t.ctx, t.added(id))
	if err != nil {
		t.Fatal(err)
	}
	return retired
}

// loads closes the catalog, opens it again and compares what it loads.
func (t *catalogTest) loads(want ...brain.Record) {
	t.Helper()
	if err := t.catalog.Close(); err != nil {
		t.Fatal(err)
	}
	t.catalog = t.open()
	got, err := t.catalog.Load(t.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range got {
		if r.UID != t.uids[r.Brain.ID] {
			t.Errorf("brain %s has UID %d, was added with %d", r.Brain.ID, r.UID, t.uids[r.Brain.ID])
		}
	}
	ignored := cmpopts.IgnoreFields(brain.Record{}, "UID")
	byID := cmpopts.SortSlices(func(a, b brain.Record) bool { return a.Brain.ID < b.Brain.ID })
	if diff := cmp.Diff(want, got, byID, ignored, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the catalog holds other records (-want +got):\n%s", diff)
	}
}

func emptyCatalog(t *catalogTest) { t.loads() }

func keepsRecords(t *catalogTest) {
	a, b, c := record("a", "acme"), record("b", ""), record("c", "globex")
	t.add(a, b)
	t.loads(a, b)
	t.add(c)
	t.loads(a, b, c)
}

func sharedSlugs(t *catalogTest) {
	a, b := record("a", "acme"), record("b", "globex")
	b.Brain.Slug = a.Brain.Slug
	t.add(a, b)
	t.loads(a, b)
}

func takenID(t *catalogTest) {
	first := record("a", "acme")
	t.add(first)
	for range 2 {
		if _, err := t.catalog.Add(t.ctx, record("a", "globex")); !errors.Is(err, brain.ErrExists) {
			t.Errorf("adding a taken id: %v, want ErrExists", err)
		}
	}
	t.loads(first)
}

func retiredBrain(t *catalogTest) {
	old, again, other := record("a", "acme"), record("a", "globex"), record("b", "")
	t.add(old, other)
	retired := t.retire("a")
	t.loads(other)
	t.add(again)
	if err := t.catalog.Purge(t.ctx, retired); err != nil {
		t.Fatal(err)
	}
	t.loads(other, again)
	if err := t.catalog.Purge(t.ctx, t.retire("a")); err != nil {
		t.Fatal(err)
	}
	t.loads(other)
}

func unpurgedBrain(t *catalogTest) {
	a := record("a", "acme")
	for range 2 {
		t.add(a)
		t.retire("a")
	}
	t.loads()
	t.add(a)
	t.loads(a)
}

func unknownBrain(t *catalogTest) {
	a := record("a", "acme")
	t.add(a)
	if _, err := t.catalog.Retire(t.ctx, t.added("b")); err == nil {
		t.Error("an unknown brain was retired")
	}
	t.loads(a)
}

func updatedBrain(t *catalogTest) {
	a, b := record("a", "acme"), record("b", "acme")
	t.add(a, b)
	for range 2 {
		a.Stored, a.Brain.Name, a.UID = true, "another name", t.uids["a"]
		if err := t.catalog.Update(t.ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	t.loads(a, b)
	if err := t.catalog.Update(t.ctx, record("c", "acme")); err == nil {
		t.Error("an unknown brain was updated")
	}
	t.loads(a, b)
}

func concurrentBrains(t *catalogTest) {
	const brains = 8
	var wg sync.WaitGroup
	var want []brain.Record
	for i := range brains {
		r := record(fmt.Sprint("b", i), "acme")
		if i%2 == 0 {
			want = append(want, r)
		}
		wg.Go(func() {
			for range 3 {
				uid, err := t.catalog.Add(t.ctx, r)
				if err != nil {
					t.Error(err)
				}
				r.UID = uid
				retired, err := t.catalog.Retire(t.ctx, r)
				if err == nil {
					err = t.catalog.Purge(t.ctx, retired)
				}
				if err != nil {
					t.Error(err)
				}
			}
			if i%2 == 0 {
				uid, err := t.catalog.Add(t.ctx, r)
				if err != nil {
					t.Error(err)
				}
				t.mu.Lock()
				defer t.mu.Unlock()
				t.uids[r.Brain.ID] = uid
			}
		})
	}
	wg.Wait()
	t.loads(want...)
}
