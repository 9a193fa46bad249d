package brain

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
	"evalctl/daemon/store/storetest"
)

// unsyncedFolder is a service whose directory of brains cannot be synced while there is a failure.
type unsyncedFolder struct {
	*Service
	dir  string
	fail func() error // nil: every sync succeeds
}

func openUnsynced(t *testing.T, dir string) *unsyncedFolder {
	t.Helper()
	u := &unsyncedFolder{dir: dir}
	u.Service = open(t, func(c *Config) {
		inFolder(t, dir)(c)
		c.Catalog.(*Folder).syncDir = func(d *os.File) error {
			if u.fail != nil && filepath.Clean(d.Name()) == dir {
				return u.fail()
			}
			return d.Sync()
		}
		c.OpenStore = func(ctx context.Context, r Record) (*store.Store, error) {
			return fsstore.Open(ctx, filepath.Join(dir, r.Key()), nil)
		}
	})
	return u
}

func (u *unsyncedFolder) create(t *testing.T, tenant string) error {
	t.Helper()
	_, err := u.Create(t.Context(), tenant, protocol.CreateBrain{ID: "notes"})
	return err
}

// write writes a document into the brain of a tenant that has its name.
func (u *unsyncedFolder) write(t *testing.T, tenant, path string) {
	t.Helper()
	h, err := u.FindOf(tenant, "notes")
	if err == nil {
		err = write(t.Context(), h, path, tenant)
	}
	if err != nil {
		t.Errorf("write %s of %s: %v", path, tenant, err)
	}
}

// has compares the documents of a tenant's brain with those that the tenant has written.
func (u *unsyncedFolder) has(t *testing.T, tenant string, want ...string) {
	t.Helper()
	h, err := u.FindOf(tenant, "notes")
	if err != nil {
		t.Errorf("find the brain of %s: %v", tenant, err)
		return
	}
	defer h.Acquire()()
	st, err := h.Store(t.Context())
	if err != nil {
		t.Errorf("open the brain of %s: %v", tenant, err)
		return
	}
	documents := map[string]string{}
	for _, path := range want {
		documents[path] = tenant
	}
	if diff := cmp.Diff(documents, storetest.Contents(t, st)); diff != "" {
		t.Errorf("documents of %s (-want +got):\n%s", tenant, diff)
	}
}

func (u *unsyncedFolder) reopen(t *testing.T) *unsyncedFolder {
	t.Helper()
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
	return openUnsynced(t, u.dir)
}

func diskFails() error { return syscall.EIO }

// TestUnsyncedDeletion: a brain whose folder was renamed is deleted, although the sync fails.
// Its files stay until the next start. Neither its handles nor its tenant reach a brain that has
// its name afterwards.
func TestUnsyncedDeletion(t *testing.T) {
	for _, used := range []bool{true, false} {
		u := openUnsynced(t, filepath.Join(t.TempDir(), "brains"))
		if err := u.create(t, "acme"); err != nil {
			t.Fatal(err)
		}
		if used {
			u.write(t, "acme", "old.md")
		}
		old, err := u.FindOf("acme", "notes")
		if err != nil {
			t.Fatal(err)
		}
		u.fail = diskFails
		if err := u.Delete(t.Context(), old); !errors.Is(err, syscall.EIO) {
			t.Errorf("delete: %v, want EIO", err)
		}
		u.fail = nil
		if _, err := u.FindOf("acme", "notes"); !errors.Is(err, ErrNotFound) {
			t.Errorf("find: %v, want ErrNotFound", err)
		}
		if kept, err := filepath.Glob(filepath.Join(u.dir, deletedPrefix+"*", brainFile)); len(kept) != 1 || err != nil {
			t.Errorf("the files that a crash brings back: %q, %v", kept, err)
		}
		if err := u.create(t, "globex"); err != nil {
			t.Fatal(err)
		}
		u.write(t, "globex", "a.md")
		if err := u.Delete(t.Context(), old); !errors.Is(err, ErrNotFound) {
			t.Errorf("delete again: %v, want ErrNotFound", err)
		}
		if err := write(t.Context(), old, "stray.md", "acme"); !errors.Is(err, ErrNotFound) {
			t.Errorf("write: %v, want ErrNotFound", err)
		}
		if err := u.create(t, "acme"); err != nil {
			t.Errorf("create again: %v", err)
		}
		u.write(t, "acme", "new.md")
		for range 2 {
			u.has(t, "globex", "a.md")
			u.has(t, "acme", "new.md")
			u = u.reopen(t)
		}
	}
}

// TestUnsyncedCreation: a brain whose creation could not be synced does not exist, and its names
// are free.
func TestUnsyncedCreation(t *testing.T) {
	u := openUnsynced(t, filepath.Join(t.TempDir(), "brains"))
	u.fail = diskFails
	for range 2 {
		if err := u.create(t, "acme"); !errors.Is(err, syscall.EIO) {
			t.Errorf("create: %v, want EIO", err)
		}
		if _, err := u.FindOf("acme", "notes"); !errors.Is(err, ErrNotFound) {
			t.Errorf("find: %v, want ErrNotFound", err)
		}
	}
	u = u.reopen(t)
	if left := list(t, u.Service); len(left) > 0 {
		t.Errorf("reopened: %v", left)
	}
	tenants := []string{"globex", "acme"}
	for _, tenant := range tenants {
		if err := u.create(t, tenant); err != nil {
			t.Fatal(err)
		}
		u.write(t, tenant, "a.md")
	}
	u = u.reopen(t)
	for _, tenant := range tenants {
		u.has(t, tenant, "a.md")
	}
}

// TestUnsyncedCreationStays: if the folder of a brain that could not be synced cannot be taken
// away either, no other brain gets it.
func TestUnsyncedCreationStays(t *testing.T) {
	u := openUnsynced(t, filepath.Join(t.TempDir(), "brains"))
	u.fail = func() error {
		return errors.Join(syscall.EIO, os.MkdirAll(filepath.Join(u.dir, newPrefix+"notes", "in the way"), 0o700))
	}
	if err := u.create(t, "acme"); !errors.Is(err, syscall.EIO) {
		t.Errorf("create: %v, want EIO", err)
	}
	u.fail = nil
	if err := u.create(t, "acme"); !errors.Is(err, ErrExists) {
		t.Errorf("create again: %v, want ErrExists", err)
	}
	if err := u.create(t, "globex"); err != nil {
		t.Fatal(err)
	}
	u.write(t, "globex", "a.md")
	u = u.reopen(t)
	u.has(t, "acme")
	u.has(t, "globex", "a.md")
}

// TestUnsyncedStart: what a crash may bring back is not purged before it is durable that the
// brain was deleted.
func TestUnsyncedStart(t *testing.T) {
	dir := t.TempDir()
	retired := filepath.Join(dir, deletedPrefix+"notes")
	if err := os.Mkdir(retired, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.syncDir = func(*os.File) error { return syscall.EIO }
	if _, err := f.Load(t.Context()); !errors.Is(err, syscall.EIO) {
		t.Errorf("load: %v, want EIO", err)
	}
	if _, err := os.Lstat(retired); err != nil {
		t.Error(err)
	}
}
