package pgcatalog_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
	"evalctl/daemon/store"
	"evalctl/daemon/store/pgstore"
	"evalctl/internal/awaittest"
	"evalctl/internal/postgres/postgrestest"
)

// openBrains opens the brains in a database as a daemon does. They are closed when the test ends.
func openBrains(t testing.TB, url string) *brain.Service {
	t.Helper()
	return openReplica(t, url).Service
}

// find returns the brain of the tenant that a name refers to, after it was looked up in the
// database.
func find(t testing.TB, s *brain.Service, tenant, name string) (brain.Handle, error) {
	t.Helper()
	if err := s.Refresh(t.Context(), tenant, name); err != nil {
		t.Fatal(err)
	}
	h, err := s.FindOf(tenant, name)
	if errors.Is(err, brain.ErrNotFound) {
		h, err = s.FindSlug(tenant, name)
	}
	return h, err
}

func mustFind(t testing.TB, s *brain.Service, tenant, name string) brain.Handle {
	t.Helper()
	h, err := find(t, s, tenant, name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func create(t testing.TB, s *brain.Service, tenant, id string) {
	t.Helper()
	if _, err := s.Create(t.Context(), tenant, protocol.CreateBrain{ID: id}); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, h brain.Handle, path, text string) error {
	t.Helper()
	defer h.Acquire()()
	st, err := h.Store(t.Context())
	if err != nil {
		return err
	}
	return st.Write(t.Context(), path, []byte(text))
}

func TestReplicasSearchEachOthersWrites(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	a, b := openBrains(t, url), openBrains(t, url)
	create(t, a, "acme", "notes")
	onA, onB := mustFind(t, a, "acme", "notes"), mustFind(t, b, "acme", "notes")
	for i := range 20 {
		path, word := fmt.Sprintf("%d.md", i), fmt.Sprintf("word%dx", i)
		writer, reader := onA, onB
		if i%2 == 0 {
			writer, reader = onB, onA
		}
		if err := write(t, writer, path, word); err != nil {
			t.Fatal(err)
		}
		found, err := reader.Search(t.Context(), search.Query{Text: word, TopK: 1, Mode: search.ModeAuto})
		if err != nil || len(found.Hits) != 1 || found.Hits[0].Path != path {
			t.Fatalf("search for write %d on the other replica: got %+v, %v", i, found.Hits, err)
		}
	}
}

// TestReplicasNoticeDeletions: what an outdated handle does is refused, it never reaches a new
// brain with the same id, and streams and jobs of the brain learn about the end.
func TestReplicasNoticeDeletions(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	a, b := openBrains(t, url), openBrains(t, url)
	create(t, a, "acme", "notes")
	old := mustFind(t, b, "acme", "notes")
	if err := write(t, old, "a.md", "old"); err != nil {
		t.Fatal(err)
	}
	if err := a.Delete(t.Context(), mustFind(t, a, "acme", "notes")); err != nil {
		t.Fatal(err)
	}
	create(t, a, "globex", "notes")
	err := write(t, old, "b.md", "x")
	if !errors.Is(err, store.ErrGone) && !errors.Is(err, brain.ErrNotFound) && !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a write to a deleted brain: %v", err)
	}
	awaittest.Receive(t, "the deletion on the other replica", old.Done())
	if err := b.Delete(t.Context(), old); !errors.Is(err, brain.ErrNotFound) {
		t.Errorf("deleting it again: %v", err)
	}
	again := mustFind(t, b, "globex", "notes")
	release := again.Acquire()
	defer release()
	st, err := again.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if files, err := st.List(t.Context(), "", store.ListOptions{Recursive: true}); err != nil || len(files) > 0 {
		t.Errorf("the new brain has %v, %v", files, err)
	}
}

// TestReplicasRaceForNames: of concurrent creations with the same id or slug, one succeeds.
func TestReplicasRaceForNames(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	replicas := []*brain.Service{openBrains(t, url), openBrains(t, url)}
	for round := range 10 {
		requests := []protocol.CreateBrain{
			{ID: fmt.Sprintf("x%d", round), Slug: fmt.Sprintf("y%d", round)},
			{ID: fmt.Sprintf("y%d", round), Slug: fmt.Sprintf("x%d", round)},
			{ID: fmt.Sprintf("z%d", round), Slug: fmt.Sprintf("x%d", round)},
		}
		var mu sync.Mutex
		var wg sync.WaitGroup
		created := 0
		for i := range 6 {
			wg.Go(func() {
				_, err := replicas[i%2].Create(t.Context(), "acme", requests[i%3])
				if err != nil && !errors.Is(err, brain.ErrExists) {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					created++
				}
			})
		}
		awaittest.Wait(t, "the goroutines", wg.Wait)
		if created != 1 {
			t.Errorf("round %d: %d brains were created", round, created)
		}
	}
}

// TestForeignIDs: a tenant's ids do not depend on those of others, on any replica.
func TestForeignIDs(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	a, b := openBrains(t, url), openBrains(t, url)
	request := protocol.CreateBrain{Name: "Notes \x00 of all"}
	first, err := a.Create(t.Context(), "acme", request)
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.Create(t.Context(), "globex", request)
	if err != nil || second.ID != first.ID || second.Slug != first.Slug || second.Name != request.Name {
		t.Errorf("got %+v, %v, want the id %s", second, err, first.ID)
	}
	if _, err := a.Create(t.Context(), "globex", request); !errors.Is(err, brain.ErrExists) {
		t.Errorf("the same slug twice: %v", err)
	}
	for _, s := range []*brain.Service{a, b} {
		for _, tenant := range []string{"acme", "globex"} {
			h := mustFind(t, s, tenant, first.Slug)
			if h.Tenant() != tenant {
				t.Errorf("%s found the brain of %s", tenant, h.Tenant())
			}
			if err := write(t, h, tenant+".md", "x"); err != nil {
				t.Error(err)
			}
		}
		if _, err := find(t, s, "initech", first.ID); !errors.Is(err, brain.ErrNotFound) {
			t.Errorf("another tenant: %v", err)
		}
	}
	if err := a.Delete(t.Context(), mustFind(t, a, "acme", first.ID)); err != nil {
		t.Fatal(err)
	}
	h := mustFind(t, b, "globex", first.ID)
	release := h.Acquire()
	defer release()
	st, err := h.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := st.List(t.Context(), "", store.ListOptions{})
	if err != nil || len(list) != 1 || list[0].Path != "globex.md" {
		t.Errorf("the brain of globex has %v, %v", list, err)
	}
}

// TestPurge: what deleted brains have left is deleted, by whichever replica.
func TestPurge(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	a := openBrains(t, url)
	create(t, a, "", "notes")
	h := mustFind(t, a, "", "notes")
	release := h.Acquire()
	st, err := h.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ops []store.Op
	for i := range 1200 { // more than one transaction
		ops = append(ops, store.Op{Kind: store.OpWrite, Path: fmt.Sprintf("%d.md", i), Data: []byte("x")})
	}
	if err := st.Apply(t.Context(), store.Commit{Ops: ops}); err != nil {
		t.Fatal(err)
	}
	release()
	if err := a.Delete(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	pool := openDB(t, url)
	awaittest.Until(t, "the removal of all rows", func() bool {
		var left int
		err := pool.Pool().QueryRow(t.Context(), `SELECT (SELECT count(*) FROM evalctl.documents) +
			(SELECT count(*) FROM evalctl.changes) + (SELECT count(*) FROM evalctl.retired)`).Scan(&left)
		if err != nil {
			t.Fatal(err)
		}
		return left == 0
	})
}

func openDB(t testing.TB, url string) *pgstore.DB {
	t.Helper()
	db, err := pgstore.Open(t.Context(), url, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// TestReplicasModel: whatever three replicas do one after the other, each of them sees what there
// is.
func TestReplicasModel(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	replicas := []*brain.Service{openBrains(t, url), openBrains(t, url), openBrains(t, url)}
	names := []string{"a", "b", "c"}
	tenants := []string{"", "acme"}
	rapid.Check(t, func(r *rapid.T) {
		model := map[[2]string]brain.Record{} // by tenant and id
		taken := func(tenant, name string) bool {
			for _, rec := range model {
				if rec.Tenant == tenant && (rec.Brain.ID == name || rec.Brain.Slug == name) {
					return true
				}
			}
			return false
		}
		// reached: without keys, it is the id of a tenant's brain.
		reached := func(name string) bool {
			for key := range model {
				if key[0] != "" && key[1] == name {
					return true
				}
			}
			return false
		}
		replica := func(r *rapid.T) *brain.Service {
			return replicas[rapid.IntRange(0, len(replicas)-1).Draw(r, "replica")]
		}
		name, tenant := rapid.SampledFrom(names), rapid.SampledFrom(tenants)
		r.Repeat(map[string]func(*rapid.T){
			"create": func(r *rapid.T) {
				owner, id, slug := tenant.Draw(r, "tenant"), name.Draw(r, "id"), name.Draw(r, "slug")
				b, err := replica(r).Create(t.Context(), owner, protocol.CreateBrain{ID: id, Slug: slug})
				want := taken(owner, id) || taken(owner, slug) || owner == "" && (reached(id) || reached(slug))
				if want != errors.Is(err, brain.ErrExists) || !want && err != nil {
					r.Fatalf("create %s with slug %s: got %v, want exists: %v", id, slug, err, want)
				}
				if err == nil {
					model[[2]string{owner, id}] = brain.Record{Brain: b, Tenant: owner}
				}
			},
			"delete": func(r *rapid.T) {
				owner, id, s := tenant.Draw(r, "tenant"), name.Draw(r, "id"), replica(r)
				_, exists := model[[2]string{owner, id}]
				if err := s.Refresh(t.Context(), owner, id); err != nil {
					r.Fatal(err)
				}
				h, err := s.FindOf(owner, id)
				if (err == nil) != exists {
					r.Fatalf("find %s: got %v, want exists: %v", id, err, exists)
				}
				if !exists {
					return
				}
				if err := s.Delete(t.Context(), h); err != nil {
					r.Fatal(err)
				}
				delete(model, [2]string{owner, id})
			},
			// A write through what the replica knows, as a request does it.
			"write": func(r *rapid.T) {
				owner, id, s := tenant.Draw(r, "tenant"), name.Draw(r, "id"), replica(r)
				_, exists := model[[2]string{owner, id}]
				h, err := s.FindOf(owner, id)
				if err == nil {
					if err = write(t, h, "a.md", "x"); errors.Is(err, store.ErrGone) {
						h.Gone()
					}
				}
				if err != nil {
					if h, err = find(t, s, owner, id); err == nil && h.Brain().ID == id {
						err = write(t, h, "a.md", "x")
					} else if err == nil {
						err = brain.ErrNotFound // the name is a slug
					}
				}
				if (err == nil) != exists {
					r.Fatalf("write to %s: got %v, want exists: %v", id, err, exists)
				}
			},
			"": func(r *rapid.T) {
				s := replica(r)
				list, err := s.List(t.Context(), brain.Selection{})
				if err != nil {
					r.Fatal(err)
				}
				var got, want []string
				for _, rec := range list {
					got = append(got, rec.Brain.ID+" "+rec.Brain.Slug+" "+rec.Tenant)
				}
				for _, rec := range model {
					want = append(want, rec.Brain.ID+" "+rec.Brain.Slug+" "+rec.Tenant)
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					r.Fatalf("the list is %q, want %q", got, want)
				}
			},
		})
		for _, rec := range model {
			if err := replicas[0].Delete(t.Context(), mustFind(t, replicas[0], rec.Tenant, rec.Brain.ID)); err != nil {
				r.Fatal(err)
			}
		}
	})
}
