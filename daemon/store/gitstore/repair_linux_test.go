package gitstore

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/store"
	"evalctl/daemon/store/storetest"
)

// TestRestoreSyncsFirst: a file that Open restores after a crash is on disk before it gets its
// place. After a sync that fails, the next Open would otherwise find it complete in the memory
// of the kernel, and forget that it may not be.
func TestRestoreSyncsFirst(t *testing.T) {
	dir := storetest.MemoryDir(t)
	b := openBackend(t, dir)
	commit(t, b, writeOp("a", "1"))
	commit(t, b, writeOp("a", "2"))
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.objects.top.Close()
	differs := change{path: "a", hash: plumbing.ComputeHash(plumbing.BlobObject, []byte("2")), mode: filemode.Regular}
	if err := b.restore([]change{differs}); err == nil {
		t.Error("it succeeded without a sync")
	}
	if now, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(now) != "1" {
		t.Errorf("the file is %q, %v", now, err)
	}
	_ = b.release() // the file of the sync is closed already
	b = openBackend(t, dir)
	if diff := cmp.Diff(map[string]string{"a": "2"}, withoutRoot(files(t, dir))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestObjectsOfAFailedSync: a commit that cannot be synced leaves no objects. A git program
// would take their files for good, and not write them again.
func TestObjectsOfAFailedSync(t *testing.T) {
	dir := storetest.MemoryDir(t)
	b := openBackend(t, dir)
	commit(t, b, writeOp("a", "1"))
	objects := func() (list []string) {
		for _, folder := range []string{"objects", pendingDir} {
			found, err := filepath.Glob(filepath.Join(dir, gitDir, folder, "*"))
			inner, innerErr := filepath.Glob(filepath.Join(dir, gitDir, folder, "*", "*"))
			if err := errors.Join(err, innerErr); err != nil {
				t.Fatal(err)
			}
			list = slices.Concat(list, found, inner)
		}
		return list
	}
	before := objects()
	b.objects.top.Close()
	if err := b.Commit(t.Context(), store.Commit{When: time.Now(), Ops: []store.Op{writeOp("a", "2")}}); err == nil {
		t.Error("it succeeded without a sync")
	}
	if diff := cmp.Diff(before, objects()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	_ = b.release() // the file of the sync is closed already
}
