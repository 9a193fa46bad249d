package gitstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/store"
	"evalctl/daemon/store/storetest"
)

func openBackend(t *testing.T, dir string) *backend {
	t.Helper()
	b, err := open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeOp(path, content string) store.Op {
	return store.Op{Kind: store.OpWrite, Path: path, Data: []byte(content)}
}

func deleteOp(path string) store.Op { return store.Op{Kind: store.OpDelete, Path: path} }

func commit(t *testing.T, b *backend, ops ...store.Op) {
	t.Helper()
	if err := b.Commit(t.Context(), store.Commit{When: time.Now(), Ops: ops}); err != nil {
		t.Fatal(err)
	}
}

// files returns the files of the worktree with their contents, including empty directories, and
// the names of the package's own temporary files.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == ".git":
			return fs.SkipDir
		case d.IsDir():
			found[path+"/"] = ""
			return nil
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		found[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"gitstore/*/*", "gitstore/temp", "refs/heads/*.lock"} {
		left, _ := filepath.Glob(filepath.Join(dir, ".git", pattern))
		for _, file := range left {
			found[file] = "left behind"
		}
	}
	return found
}

// TestRollback makes an operation of a commit fail in the worktree. The store never requests such
// an operation, but the filesystem can fail in this way.
func TestRollback(t *testing.T) {
	dir := storetest.MemoryDir(t)
	b := openBackend(t, dir)
	commit(t, b, writeOp("a", "1"), writeOp("d/b", "2"), writeOp("d/e/c", "3"))
	// A directory that was created by hand, where a document should be written.
	if err := os.MkdirAll(filepath.Join(dir, "dir", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	before, head := files(t, dir), b.head
	for i, ops := range [][]store.Op{
		{writeOp("dir", "x")},
		{writeOp("a", "x"), deleteOp("d/b"), writeOp("n/m/new", "x"), writeOp("dir", "x")},
		{writeOp("a", "x"), writeOp("dir", "x"), writeOp("d/b", "x")},
		{deleteOp("d/e/c"), deleteOp("d/b"), writeOp("d", "x"), writeOp("dir", "x")},
		{deleteOp("a"), writeOp("a/now/below", "x"), writeOp("dir", "x")},
	} {
		if err := b.Commit(t.Context(), store.Commit{When: time.Now(), Ops: ops}); err == nil {
			t.Errorf("case %d succeeded", i)
		}
		if diff := cmp.Diff(before, files(t, dir)); diff != "" {
			t.Errorf("case %d changed files (-before +after):\n%s", i, diff)
		}
		if now, err := b.resolve(b.branch); now != head.commit || b.head != head || err != nil {
			t.Errorf("case %d: branch at %s, head %v, %v", i, now, b.head, err)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "dir")); err != nil {
		t.Fatal(err)
	}
	commit(t, b, writeOp("a", "4"), writeOp("f", "5"))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := openBackend(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBroken: after an error that leaves the files in an unknown state, the store rejects commits
// until it is reopened.
func TestBroken(t *testing.T) {
	dir := storetest.MemoryDir(t)
	b := openBackend(t, dir)
	commit(t, b, writeOp("a", "1"), writeOp("b", "1"))
	undo := filepath.Join(dir, ".git", undoDir)
	if err := errors.Join(os.Remove(undo), os.WriteFile(undo, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	_ = b.markBroken(errors.New("a bad disk"))
	if err := b.Commit(t.Context(), store.Commit{Ops: []store.Op{writeOp("a", "2")}}); !store.IsReadOnly(err) {
		t.Errorf("got %v", err)
	}
	if data, err := b.Read(t.Context(), "a"); err != nil || string(data) != "1" {
		t.Errorf("read %q, %v", data, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(undo); err != nil {
		t.Fatal(err)
	}
	b = openBackend(t, dir)
	commit(t, b, writeOp("a", "3"), writeOp("b", "3"))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}
