// Package braintest has the tests that every implementation of brain.Catalog and
// brain.Snapshots must pass.
package braintest

import (
	stdcmp "cmp"
	"context"
	"errors"
	"fmt"
	"strings"
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
		{"a tenant has an id once", takenID},
		{"tenants have ids of their own", sameIDs},
		{"a retired brain is gone and its id free", retiredBrain},
		{"a retired brain stays away unpurged", unpurgedBrain},
		{"an unknown brain cannot be retired", unknownBrain},
		{"a record is replaced", updatedBrain},
		{"brains change concurrently", concurrentBrains},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := &catalogTest{T: t, ctx: t.Context(), open: prepare(t), kept: map[[2]string]brain.Record{}}
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
	kept map[[2]string]brain.Record // what Add returned last, by tenant and id
}

func nameOf(r brain.Record) [2]string { return [2]string{r.Tenant, r.Brain.ID} }

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
		got, err := t.catalog.Add(t.ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		t.kept[nameOf(got)] = got
	}
}

func (t *catalogTest) retire(id, tenant string) (retired string) {
	t.Helper()
	retired, err := t.catalog.Retire(t.ctx, t.kept[[2]string{tenant, id}])
	if err != nil {
		t.Fatal(err)
	}
	return retired
}

// loads closes the catalog, opens it again and compares the records that it loads.
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
		if want := t.kept[nameOf(r)]; r.Key() != want.Key() {
			t.Errorf("brain %s of %q has the key %s, was added with %s", r.Brain.ID, r.Tenant, r.Key(), want.Key())
		}
	}
	ignored := cmpopts.IgnoreFields(brain.Record{}, "UID", "Folder")
	byID := cmpopts.SortSlices(func(a, b brain.Record) bool {
		return stdcmp.Or(strings.Compare(a.Brain.ID, b.Brain.ID), strings.Compare(a.Tenant, b.Tenant)) < 0
	})
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
		if _, err := t.catalog.Add(t.ctx, record("a", "acme")); !errors.Is(err, brain.ErrExists) {
			t.Errorf("adding a taken id: %v, want ErrExists", err)
		}
	}
	t.loads(first)
}

func sameIDs(t *catalogTest) {
	tenants := []string{"acme", "globex", ""}
	var all []brain.Record
	for _, tenant := range tenants {
		all = append(all, record("a", tenant))
	}
	t.add(all...)
	t.loads(all...)
	keys := map[string]bool{}
	for _, r := range t.kept {
		keys[r.Key()] = true
	}
	if len(keys) != len(tenants) {
		t.Errorf("the brains have the keys %v", keys)
	}
	changed := t.kept[nameOf(all[1])]
	changed.Brain.Name = "another name"
	if err := t.catalog.Update(t.ctx, changed); err != nil {
		t.Fatal(err)
	}
	all[1].Brain.Name = changed.Brain.Name
	t.loads(all...)
	t.retire("a", "acme")
	t.loads(all[1:]...)
	t.add(all[0])
	t.loads(all...)
	t.retire("a", "globex")
	t.loads(all[0], all[2])
}

func retiredBrain(t *catalogTest) {
	old, again, other := record("a", "acme"), record("a", "globex"), record("b", "")
	t.add(old, other)
	retired := t.retire("a", "acme")
	t.loads(other)
	t.add(again)
	if err := t.catalog.Purge(t.ctx, retired); err != nil {
		t.Fatal(err)
	}
	t.loads(other, again)
	if err := t.catalog.Purge(t.ctx, t.retire("a", "globex")); err != nil {
		t.Fatal(err)
	}
	t.loads(other)
}

func unpurgedBrain(t *catalogTest) {
	a := record("a", "acme")
	for range 2 {
		t.add(a)
		t.retire("a", "acme")
	}
	t.loads()
	t.add(a)
	t.loads(a)
}

func unknownBrain(t *catalogTest) {
	a := record("a", "acme")
	t.add(a)
	if _, err := t.catalog.Retire(t.ctx, record("b", "acme")); err == nil {
		t.Error("an unknown brain was retired")
	}
	t.loads(a)
}

func updatedBrain(t *catalogTest) {
	a, b := record("a", "acme"), record("b", "acme")
	t.add(a, b)
	for range 2 {
		a.Stored, a.Brain.Name, a.UID = true, "another name", t.kept[nameOf(a)].UID
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
				got, err := t.catalog.Add(t.ctx, r)
				if err != nil {
					t.Error(err)
				}
				retired, err := t.catalog.Retire(t.ctx, got)
				if err == nil {
					err = t.catalog.Purge(t.ctx, retired)
				}
				if err != nil {
					t.Error(err)
				}
			}
			if i%2 == 0 {
				got, err := t.catalog.Add(t.ctx, r)
				if err != nil {
					t.Error(err)
				}
				t.mu.Lock()
				defer t.mu.Unlock()
				t.kept[nameOf(got)] = got
			}
		})
	}
	wg.Wait()
	t.loads(want...)
}
