package brain

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
)

func TestTenantsOwnBrains(t *testing.T) {
	dir := t.TempDir()
	onDisk := inFolder(t, dir)
	s := open(t, onDisk)
	long := strings.Repeat("n", protocol.MaxBrainSlug)
	add := func(tenant string, r protocol.CreateBrain) string {
		t.Helper()
		b, err := s.Create(t.Context(), tenant, r)
		if err != nil {
			t.Fatal(err)
		}
		return b.ID
	}
	owners := map[string]string{
		add("", protocol.CreateBrain{Name: "Old"}):         "",
		add("acme", protocol.CreateBrain{Name: "Notes"}):   "acme",
		add("globex", protocol.CreateBrain{Name: "Notes"}): "globex",
		add("acme", protocol.CreateBrain{Slug: long}):      "acme",
		add("globex", protocol.CreateBrain{Slug: long}):    "globex",
		add("acme", protocol.CreateBrain{Name: "Old"}):     "acme",
	}
	if len(owners) != 6 || owners["notes"] != "acme" {
		t.Errorf("got %v", owners)
	}
	for tenant, r := range map[string]protocol.CreateBrain{
		"acme":    {Name: "Notes"},        // its own slug
		"globex":  {ID: "notes"},          // another tenant's id, requested explicitly
		"initech": {ID: "old", Slug: "x"}, // nobody's
	} {
		if _, err := s.Create(t.Context(), tenant, r); !errors.Is(err, ErrExists) {
			t.Errorf("%s %+v: got %v", tenant, r, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = open(t, onDisk)
	for id, want := range owners {
		if got := use(t, s, id).Tenant(); got != want {
			t.Errorf("%s belongs to %q, want %q", id, got, want)
		}
		data, err := os.ReadFile(filepath.Join(dir, id, brainFile))
		if err != nil || strings.Contains(string(data), "tenant") != (want != "") {
			t.Errorf("%s: %v in\n%s", id, err, data)
		}
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
