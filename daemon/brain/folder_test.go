package brain_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/brain"
	"evalctl/daemon/brain/braintest"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
)

func openFolder(t *testing.T, dir string) *brain.Folder {
	t.Helper()
	f, err := brain.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCatalogs(t *testing.T) {
	t.Run("folder", func(t *testing.T) {
		braintest.Catalog(t, func(t *testing.T) func() brain.Catalog {
			dir := filepath.Join(t.TempDir(), "home", "brains")
			return func() brain.Catalog { return openFolder(t, dir) }
		})
	})
	t.Run("memory", func(t *testing.T) {
		braintest.Catalog(t, func(*testing.T) func() brain.Catalog {
			c := new(brain.MemoryCatalog)
			return func() brain.Catalog { return c }
		})
	})
}

func TestFolderSnapshots(t *testing.T) {
	braintest.Snapshots(t, func(t *testing.T, ids ...string) brain.Snapshots {
		f := openFolder(t, t.TempDir())
		t.Cleanup(func() {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
		for _, id := range ids {
			if _, err := f.Add(t.Context(), brain.Record{Brain: protocol.Brain{ID: id}}); err != nil {
				t.Fatal(err)
			}
		}
		return f.Snapshots()
	})
}

// TestFolderFormat reads records as the first version wrote them.
func TestFolderFormat(t *testing.T) {
	dir := t.TempDir()
	for id, content := range map[string]string{
		"ana": `{
  "version": 1,
  "tenant": "acme",
  "brain": {
    "id": "ana",
    "slug": "ana-notes",
    "name": "Ana's notes",
    "visibility": "private",
    "created_at": "2024-05-01T12:00:00.123Z"
  }
}
`,
		"bob": `{"version": 1, "brain": {"id": "bob", "slug": "bob", "name": "bob", "visibility": "public"}}`,
	} {
		if err := os.Mkdir(filepath.Join(dir, id), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, id, "brain.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := openFolder(t, dir)
	defer f.Close()
	records, err := f.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]brain.Record{}
	for _, r := range records {
		got[r.Brain.ID] = r
	}
	want := map[string]brain.Record{
		"ana": {Tenant: "acme", Brain: protocol.Brain{
			ID: "ana", Slug: "ana-notes", Name: "Ana's notes", Visibility: protocol.VisibilityPrivate,
			CreatedAt: time.Date(2024, 5, 1, 12, 0, 0, 123_000_000, time.UTC),
		}},
		"bob": {Brain: protocol.Brain{ID: "bob", Slug: "bob", Name: "bob", Visibility: protocol.VisibilityPublic}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestFolderClearsUp: Load deletes what a crash has left of a brain that was retired and
// not purged.
func TestFolderClearsUp(t *testing.T) {
	dir := t.TempDir()
	f := openFolder(t, dir)
	if _, err := f.Add(t.Context(), brain.Record{Brain: protocol.Brain{ID: "ana"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Retire(t.Context(), brain.Record{Brain: protocol.Brain{ID: "ana"}}); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadDir(dir)
	if err != nil || len(before) != 2 { // with the lock file
		t.Fatalf("the folder contains %v, %v", before, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = openFolder(t, dir)
	defer f.Close()
	if _, err := f.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadDir(dir); err != nil || len(after) != 1 {
		t.Errorf("the folder contains %v, %v", after, err)
	}
}

// removals records calls of Remove, and fails them with fail.
type removals struct {
	brain.Snapshots
	keys []string
	fail error
}

func (r *removals) Remove(_ context.Context, key string) error {
	r.keys = append(r.keys, key)
	return r.fail
}

// TestDeleteRemovesTheSnapshot: a catalog need not know where snapshots are kept. A brain
// whose snapshot cannot be removed is not deleted.
func TestDeleteRemovesTheSnapshot(t *testing.T) {
	snapshots := &removals{fail: errors.New("snapshots are unreachable")}
	s, err := brain.Open(t.Context(), brain.Config{
		Catalog: new(brain.MemoryCatalog), Snapshots: snapshots,
		OpenStore: func(context.Context, brain.Record) (*store.Store, error) { return memstore.Open(nil), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Create(t.Context(), "", protocol.CreateBrain{ID: "ana"}); err != nil {
		t.Fatal(err)
	}
	remove := func() error {
		t.Helper()
		h, err := s.Find("ana")
		if err != nil {
			t.Fatal(err)
		}
		return s.Delete(t.Context(), h)
	}
	if err := remove(); !errors.Is(err, snapshots.fail) {
		t.Errorf("got %v", err)
	}
	snapshots.fail = nil
	if err := remove(); err != nil {
		t.Error(err)
	}
	if want := []string{"1", "1"}; !slices.Equal(snapshots.keys, want) {
		t.Errorf("removed the snapshots of %v, want %v", snapshots.keys, want)
	}
	if _, err := s.Find("ana"); !errors.Is(err, brain.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
