package gitstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/store"
	"evalctl/daemon/store/storetest"
)

// crash releases a store without closing it properly.
func crash(t *testing.T, b *backend) {
	t.Helper()
	if err := b.release(); err != nil {
		t.Fatal(err)
	}
}

// TestRollForward interrupts a commit between its changes of the worktree. In one of the cases
// the documents return to their contents of an older commit.
func TestRollForward(t *testing.T) {
	old := []store.Op{writeOp("a", "old"), writeOp("d/b", "old"), writeOp("x/y", "old"),
		writeOp("p", "old"), writeOp("keep", "1")}
	ops := []store.Op{
		writeOp("a", "new"), deleteOp("d/b"), writeOp("d/c/n", "new"), deleteOp("x/y"),
		writeOp("x", "now a document"), deleteOp("p"), writeOp("p/q", "now below"),
	}
	back := []store.Op{
		writeOp("a", "old"), deleteOp("x"), writeOp("x/y", "old"), deleteOp("p/q"), writeOp("p", "old"),
		deleteOp("d/c/n"), writeOp("d/b", "old"),
	}
	wantNew := map[string]string{
		"a": "new", "d/": "", "d/c/": "", "d/c/n": "new", "keep": "1",
		"x": "now a document", "p/": "", "p/q": "now below",
	}
	wantOld := map[string]string{"a": "old", "d/": "", "d/b": "old", "x/": "", "x/y": "old", "p": "old", "keep": "1"}
	for _, c := range []struct {
		name  string
		first []store.Op
		last  []store.Op
		want  map[string]string
	}{{"forth", nil, ops, wantNew}, {"and back", ops, back, wantOld}} {
		for steps := range len(ops) + 1 {
			t.Run(fmt.Sprint(c.name, steps), func(t *testing.T) {
				dir := storetest.MemoryDir(t)
				b := openBackend(t, dir)
				commit(t, b, old...)
				if err := b.Close(); err != nil { // a checkpoint
					t.Fatal(err)
				}
				b = openBackend(t, dir)
				if c.first != nil {
					commit(t, b, c.first...)
				}
				interrupted(t, b, c.last, steps)
				b = openBackend(t, dir)
				if diff := cmp.Diff(c.want, withoutRoot(files(t, dir))); diff != "" {
					t.Errorf("files (-want +got):\n%s", diff)
				}
				if err := b.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// interrupted makes a commit, applies only some of its changes to the worktree, and crashes.
func interrupted(t *testing.T, b *backend, ops []store.Op, steps int) {
	t.Helper()
	changes, err := b.recordChanges(ops)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := b.objects.edit(b.head.tree, changes)
	if err != nil {
		t.Fatal(err)
	}
	next, err := b.writeCommit(t.Context(), tree,
		&object.Commit{ParentHashes: []plumbing.Hash{b.head.commit}, Message: "x\n"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.stage(changes, time.Now()), b.moveBranch(b.head.commit, next.commit)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.apply(changes[:steps]); err != nil {
		t.Fatal(err)
	}
	crash(t, b)
}

func withoutRoot(files map[string]string) map[string]string {
	delete(files, "./")
	return files
}

// TestRewrittenHistory interrupts a pull that rebases: the new head is not a descendant of the
// old one.
func TestRewrittenHistory(t *testing.T) {
	dir := storetest.MemoryDir(t)
	b := openBackend(t, dir)
	commit(t, b, writeOp("a", "1"), writeOp("b", "1"))
	base := b.head
	commit(t, b, writeOp("a", "2"), writeOp("c", "2"))
	if err := b.checkpoint(stateOpen); err != nil {
		t.Fatal(err)
	}
	old := b.head
	changes, err := b.recordChanges([]store.Op{writeOp("b", "3"), writeOp("d", "3")})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := b.objects.edit(base.tree, changes)
	if err != nil {
		t.Fatal(err)
	}
	next, err := b.writeCommit(t.Context(), tree,
		&object.Commit{ParentHashes: []plumbing.Hash{base.commit}, Message: "x\n"}, time.Now())
	if err == nil {
		err = b.moveBranch(old.commit, next.commit)
	}
	if err != nil {
		t.Fatal(err)
	}
	crash(t, b)
	b = openBackend(t, dir)
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "3", "d": "3"}, withoutRoot(files(t, dir))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestEditsSurviveCrashes: Open does not overwrite a change that the crash cannot have caused.
func TestEditsSurviveCrashes(t *testing.T) {
	dir := storetest.MemoryDir(t)
	b := openBackend(t, dir)
	commit(t, b, writeOp("a", "1"), writeOp("b", "1"))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = openBackend(t, dir)
	interrupted(t, b, []store.Op{writeOp("a", "2")}, 0)
	if err := os.WriteFile(filepath.Join(dir, "b"), []byte("by hand"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there was no crash
		if _, err := open(t.Context(), dir, Options{}); err == nil {
			t.Fatal("Open succeeded with an edited file")
		}
		if diff := cmp.Diff(map[string]string{"a": "2", "b": "by hand"}, withoutRoot(files(t, dir))); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	}
}

// TestNewEditsSurviveCrashes: Open does not overwrite or remove a file that was written by hand
// either, if commits since the last checkpoint have changed it.
func TestNewEditsSurviveCrashes(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		last    []store.Op // interrupted
		refused bool
		want    string // the file afterwards
	}{
		"edited before the commit":       {"by hand", []store.Op{writeOp("a", "version 3")}, true, "by hand"},
		"edited after a commit":          {"by hand", []store.Op{writeOp("b", "1")}, true, "by hand"},
		"written where there is none":    {"by hand", []store.Op{deleteOp("a")}, false, "by hand"},
		"an earlier version":             {"version 1", []store.Op{writeOp("a", "version 3")}, false, "version 3"},
		"deleted, and a version is left": {"version 2", []store.Op{deleteOp("a")}, false, ""},
		"cut by the crash":               {"versi\x00", []store.Op{writeOp("a", "version 3")}, false, "version 3"},
		"emptied by the crash":           {"", []store.Op{writeOp("b", "1")}, false, "version 2"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := storetest.MemoryDir(t)
			b := openBackend(t, dir)
			commit(t, b, writeOp("a", "version 1"))
			commit(t, b, writeOp("a", "version 2"))
			interrupted(t, b, c.last, 0)
			file := filepath.Join(dir, "a")
			if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			b, err := open(t.Context(), dir, Options{})
			if errors.Is(err, store.ErrDamaged) != c.refused || err != nil != c.refused {
				t.Errorf("open: %v", err)
			}
			if data, _ := os.ReadFile(file); string(data) != c.want {
				t.Errorf("the file has %q", data)
			}
			if err != nil {
				return
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLocksOfACrash: Open removes the locks of refs that git programs held when they were killed
// along with the store.
func TestLocksOfACrash(t *testing.T) {
	dir := storetest.MemoryDir(t)
	b := openBackend(t, dir)
	commit(t, b, writeOp("a", "1"))
	crash(t, b)
	var locks []string
	for _, ref := range []string{"refs/heads/main", "refs/remotes/origin/main", "refs/stash"} {
		lock := filepath.Join(dir, ".git", filepath.FromSlash(ref)+".lock")
		if err := os.MkdirAll(filepath.Dir(lock), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(lock, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		locks = append(locks, lock)
	}
	b = openBackend(t, dir)
	defer b.Close()
	for _, lock := range locks {
		if _, err := os.Lstat(lock); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left behind: %v", lock, err)
		}
	}
}
