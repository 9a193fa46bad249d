package fsstore

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/store"
)

func openBackend(t *testing.T, dir string) *backend {
	t.Helper()
	b, err := open(t.Context(), dir, quiet, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func writeOp(path, content string) store.Op {
	return store.Op{Kind: store.OpWrite, Path: path, Data: []byte(content)}
}

func deleteOp(path string) store.Op { return store.Op{Kind: store.OpDelete, Path: path} }

// tree reads every file and directory below dir.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			found[path+"/"] = ""
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		found[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func commit(t *testing.T, b *backend, ops ...store.Op) {
	t.Helper()
	if err := b.Commit(t.Context(), store.Commit{When: time.Now().UTC().Round(0), Ops: ops}); err != nil {
		t.Fatal(err)
	}
}

// TestLongNames: a name that no file can have is rejected before it is in the log.
func TestLongNames(t *testing.T) {
	b := openBackend(t, t.TempDir())
	long := writeOp("d/"+strings.Repeat("x", b.maxName+1), "1")
	if err := b.Commit(t.Context(), store.Commit{Ops: []store.Op{writeOp("a", "1"), long}}); !store.IsInvalidPath(err) {
		t.Errorf("got %v", err)
	}
	if _, err := b.Stat(t.Context(), long.Path); !store.IsInvalidPath(err) {
		t.Errorf("stat: %v", err)
	}
	if _, err := b.Read(t.Context(), "a"); !store.IsNotFound(err) || !b.active.empty() {
		t.Errorf("read: %v; the log has %d bytes", err, b.active.end)
	}
}

// TestLayout: documents and deletions are in their files once the log is empty, and reads have the
// same answers before and after.
func TestLayout(t *testing.T) {
	dir := t.TempDir()
	b := openBackend(t, dir)
	commit(t, b, writeOp("a", "1"), writeOp("d/b", "2"), writeOp("d/e/c", "3"), writeOp("x", "4"))
	if err := b.settle(); err != nil {
		t.Fatal(err)
	}
	commit(t, b, writeOp("a", "5"), deleteOp("d/b"), deleteOp("d/e/c"), deleteOp("x"), writeOp("x/y", "6"))
	commit(t, b, writeOp("a", "77"))
	state := func() (found []string) {
		for _, path := range []string{"a", "d", "d/b", "d/e", "x", "x/y"} {
			info, statErr := b.Stat(t.Context(), path)
			data, err := b.Read(t.Context(), path)
			found = append(found, path, info.ModTime.String(), string(data), fmt.Sprint(errors.Join(err, statErr)))
		}
		files, err := b.List(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(files, func(a, b store.FileInfo) int { return strings.Compare(a.Path, b.Path) })
		for _, f := range files {
			found = append(found, f.Path, f.ModTime.String())
		}
		return found
	}
	before := state()
	if err := b.settle(); err != nil {
		t.Fatal(err)
	}
	if len(b.pending.Docs) > 0 || !b.active.empty() || !b.spare.empty() {
		t.Errorf("%d documents are in the logs", len(b.pending.Docs))
	}
	if diff := cmp.Diff(before, state()); diff != "" {
		t.Errorf("-in the log +in files\n%s", diff)
	}
	want := map[string]string{"./": "", "a": "77", "x/": "", "x/y": "6"}
	if diff := cmp.Diff(want, tree(t, filepath.Join(dir, documentsDir))); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

// TestState: a store that was closed has nothing in its logs.
func TestState(t *testing.T) {
	dir := t.TempDir()
	b := openBackend(t, dir)
	for i := range 3 {
		commit(t, b, writeOp("a", strings.Repeat("x", 100_000*i)))
		if err := b.settle(); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, b, writeOp("a", "1"), writeOp("b", "1"))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	state := tree(t, filepath.Join(dir, stateDir))
	want := []string{"./", "closed", "journal", "journal.2", "lock", "schema"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(state))); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if len(state["journal"]) != slotsSize || len(state["journal.2"]) != slotsSize {
		t.Error("the logs are not empty")
	}
}

// TestBroken: after an error that leaves the log in an unknown state, the store rejects commits
// until it is reopened.
func TestBroken(t *testing.T) {
	dir := t.TempDir()
	b := openBackend(t, dir)
	commit(t, b, writeOp("a", "1"), writeOp("b", "1"))
	if err := errors.Join(b.settle(), b.active.file.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		batch := store.Commit{Ops: []store.Op{writeOp("a", "2"), writeOp("b", "2")}}
		if err := b.Commit(t.Context(), batch); err == nil {
			t.Error("commit succeeded without a log")
		}
	}
	if err := b.Commit(t.Context(), store.Commit{Ops: []store.Op{writeOp("a", "2")}}); !store.IsReadOnly(err) {
		t.Errorf("got %v", err)
	}
	if data, err := b.Read(t.Context(), "a"); err != nil || string(data) != "1" {
		t.Errorf("read %q, %v", data, err)
	}
	b.Close()
	commit(t, openBackend(t, dir), writeOp("a", "3"), writeOp("b", "3"))
}

// TestClosedFile: Close creates the file closed unless the store is broken. Without it Open looks
// for what a crash can leave behind.
func TestClosedFile(t *testing.T) {
	dir := t.TempDir()
	closed := func() bool {
		_, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(closedFile)))
		return err == nil
	}
	for _, broken := range []error{nil, fs.ErrInvalid, nil} {
		b := openBackend(t, dir)
		if closed() {
			t.Error("closed while open")
		}
		b.broken = broken
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if closed() != (broken == nil) {
			t.Errorf("closed: %t, broken: %v", closed(), broken)
		}
	}
}
