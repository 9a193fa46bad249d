package brain

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
)

// Tenants do not notice each other: each has the ids and the slugs that it asks for.
func TestTenantsOwnBrains(t *testing.T) {
	dir := t.TempDir()
	onDisk := inFolder(t, dir)
	s := open(t, onDisk)
	long := strings.Repeat("n", protocol.MaxBrainSlug)
	tenants := []string{"", "acme", "globex"}
	requests := map[string]protocol.CreateBrain{"notes": {Name: "Notes"}, "x": {ID: "x", Slug: "s"}, long: {Slug: long}}
	for _, tenant := range tenants {
		for id, r := range requests {
			if b, err := s.Create(t.Context(), tenant, r); err != nil || b.ID != id {
				t.Fatalf("%s %+v: got %+v, %v", tenant, r, b, err)
			}
			if _, err := s.Create(t.Context(), tenant, r); !errors.Is(err, ErrExists) {
				t.Errorf("%s %+v again: got %v", tenant, r, err)
			}
		}
	}
	write := func(tenant, id string) {
		t.Helper()
		h, err := s.FindOf(tenant, id)
		if err != nil || h.Tenant() != tenant || h.Brain().ID != id {
			t.Fatalf("%s of %q: got %v of %q, %v", id, tenant, h.Brain(), h.Tenant(), err)
		}
		defer h.Acquire()()
		st, err := h.Store(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Write(t.Context(), tenant+".md", []byte("walrus")); err != nil {
			t.Fatal(err)
		}
		found, err := h.Search(t.Context(), query("walrus"))
		if err != nil || len(found.Hits) != 1 || found.Hits[0].Path != tenant+".md" {
			t.Errorf("%s of %q: found %+v, %v", id, tenant, found.Hits, err)
		}
	}
	for range 2 {
		for _, tenant := range tenants {
			for id := range requests {
				write(tenant, id)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, onDisk)
	}
	if _, err := s.FindOf("initech", "notes"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	h, err := s.Find("notes")
	if err != nil || h.Tenant() != "" {
		t.Errorf("without keys: got the brain of %q, %v", h.Tenant(), err)
	}
	if err := s.Delete(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find("notes"); !errors.Is(err, ErrExists) {
		t.Errorf("without keys, the brain of one of two tenants: %v", err)
	}
	if h, err = s.FindOf("acme", "notes"); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	if h, err := s.Find("notes"); err != nil || h.Tenant() != "globex" {
		t.Errorf("without keys: got the brain of %q, %v", h.Tenant(), err)
	}
	write("globex", "notes")
	// Without keys it is the brain with the id, and a new one would hide it.
	if b, err := s.Create(t.Context(), "", protocol.CreateBrain{Name: "Notes"}); !errors.Is(err, ErrExists) {
		t.Errorf("got %+v, %v", b, err)
	}
	if b, err := s.Create(t.Context(), "", protocol.CreateBrain{ID: "new", Slug: "notes"}); !errors.Is(err, ErrExists) {
		t.Errorf("got %+v, %v", b, err)
	}
}

// homeOfTenants is the folder of brains as the program wrote it when a tenant's ids depended on
// those of others.
var homeOfTenants = map[string]string{
	"a1":                            `{"version":1,"tenant":"acme","brain":{"id":"a1","slug":"a1","name":"a1","visibility":"private","created_at":"2024-05-01T12:00:00.123Z"}}`,
	"a1-otjxzkcjw7wuvsnbhb5pzfmxzm": `{"version":1,"tenant":"globex","brain":{"id":"a1-otjxzkcjw7wuvsnbhb5pzfmxzm","slug":"a1","name":"a1","visibility":"private","created_at":"2024-05-01T12:00:00.123Z"}}`,
}

// TestFolderOfTenants: brains of an older folder keep their names.
func TestFolderOfTenants(t *testing.T) {
	dir := t.TempDir()
	for folder, record := range homeOfTenants {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, folder, brainFile), []byte(record), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	onDisk := inFolder(t, dir)
	s := open(t, onDisk)
	for range 2 {
		for tenant, id := range map[string]string{"acme": "a1", "globex": "a1-otjxzkcjw7wuvsnbhb5pzfmxzm"} {
			h, err := s.FindSlug(tenant, "a1")
			if err != nil || h.Brain().ID != id {
				t.Errorf("%s: got %v, %v", tenant, h.Brain(), err)
			}
		}
		if _, err := s.Create(t.Context(), "globex", protocol.CreateBrain{Slug: "a1"}); !errors.Is(err, ErrExists) {
			t.Errorf("got %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, onDisk)
	}
	if b, err := s.Create(t.Context(), "initech", protocol.CreateBrain{Slug: "a1"}); err != nil || b.ID != "a1" {
		t.Errorf("got %+v, %v", b, err)
	}
}

// A name means one brain to a tenant, whether it is an id or a slug.
func TestNamesOfATenantAreUnique(t *testing.T) {
	dir := t.TempDir()
	onDisk := inFolder(t, dir)
	s := open(t, onDisk)
	for tenant, r := range map[string]protocol.CreateBrain{
		"acme": {ID: "i", Slug: "s"}, "globex": {ID: "gi", Slug: "s"}, "": {ID: "ni", Slug: "s"},
	} {
		if _, err := s.Create(t.Context(), tenant, r); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		for _, r := range []protocol.CreateBrain{
			{ID: "i", Slug: "x"}, {ID: "x", Slug: "s"}, {ID: "s", Slug: "x"}, {ID: "x", Slug: "i"},
		} {
			if _, err := s.Create(t.Context(), "acme", r); !errors.Is(err, ErrExists) {
				t.Errorf("%+v: got %v", r, err)
			}
		}
		for tenant, want := range map[string]string{"acme": "i", "globex": "gi", "": "ni", "initech": ""} {
			h, err := s.FindSlug(tenant, "s")
			if want == "" {
				if !errors.Is(err, ErrNotFound) {
					t.Errorf("%s: got %v", tenant, err)
				}
				continue
			}
			if err != nil || h.Brain().ID != want {
				t.Errorf("%s: got %v, want %s", tenant, err, want)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.FindSlug("acme", "s"); !errors.Is(err, ErrClosed) {
			t.Errorf("closed: got %v", err)
		}
		s = open(t, onDisk)
	}
	if err := s.Delete(t.Context(), use(t, s, "i")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.FindSlug("acme", "s"); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleted: got %v", err)
	}
	for tenant, id := range map[string]string{"acme": "s", "initech": "x"} { // free again
		if _, err := s.Create(t.Context(), tenant, protocol.CreateBrain{ID: id, Slug: "i"}); err != nil {
			t.Error(err)
		}
	}
}
