package fsstore

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/store"
)

func openBackend(t *testing.T, dir string) *backend {
	t.Helper()
	b, err := open(t.Context(), dir)
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
	if err := b.Commit(t.Context(), store.Commit{When: time.Now(), Ops: ops}); err != nil {
		t.Fatal(err)
	}
}

// TestRollback makes the last operation of a batch fail. The store never requests such an
// operation, but the filesystem can fail in this way.
func TestRollback(t *testing.T) {
	dir := t.TempDir()
	b := openBackend(t, dir)
	commit(t, b, writeOp("a", "1"), writeOp("d/b", "2"), writeOp("d/e/c", "3"))
	before := tree(t, dir)
	for i, ops := range [][]store.Op{
		{writeOp("a", "x"), deleteOp("d/b"), writeOp("n/m/new", "x"), writeOp("a/below", "x")},
		{deleteOp("d/e/c"), deleteOp("d/b"), writeOp("d", "x"), writeOp("d/e", "x")},
		{deleteOp("a"), writeOp("a/now/below", "x"), writeOp("d", "a directory")},
		{writeOp("d", "a directory"), writeOp("a", "x")},
		{writeOp("n", "x"), writeOp("d/b/below", "x")},
	} {
		if err := b.Commit(t.Context(), store.Commit{When: time.Now(), Ops: ops}); err == nil {
			t.Errorf("case %d succeeded", i)
		}
		if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
			t.Errorf("case %d changed files (-before +after):\n%s", i, diff)
		}
	}
	commit(t, b, writeOp("a", "4"), writeOp("f", "5"))
}

func TestFailedSingleCommitChangesNothing(t *testing.T) {
	dir := t.TempDir()
	b := openBackend(t, dir)
	commit(t, b, writeOp("a", "1"))
	before := tree(t, dir)
	for _, op := range []store.Op{writeOp("a/b/c", "x"), deleteOp("missing"), deleteOp("a/b")} {
		if err := b.Commit(t.Context(), store.Commit{When: time.Now(), Ops: []store.Op{op}}); err == nil {
			t.Errorf("%s %s succeeded", op.Kind, op.Path)
		}
		if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
			t.Errorf("%s %s changed files (-before +after):\n%s", op.Kind, op.Path, diff)
		}
	}
}

// TestRollForward interrupts a batch after each of its operations.
func TestRollForward(t *testing.T) {
	e := entry{When: time.UnixMilli(1_700_000_000_123), Ops: []store.Op{
		writeOp("a", "new"), deleteOp("d/b"), writeOp("d/c/n", "new"), deleteOp("x/y"),
		writeOp("x", "now a document"), deleteOp("p"), writeOp("p/q", "now below"),
	}}
	want := map[string]string{"./": "", "a": "new", "d/": "", "d/c/": "", "d/c/n": "new", "keep": "1",
		"x": "now a document", "p/": "", "p/q": "now below"}
	for steps := range len(e.Ops) + 1 {
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			dir := t.TempDir()
			b := openBackend(t, dir)
			commit(t, b, writeOp("a", "old"), writeOp("d/b", "old"), writeOp("x/y", "old"),
				writeOp("p", "old"), writeOp("keep", "1"))
			if err := writeJournal(b.journal, e); err != nil {
				t.Fatal(err)
			}
			if _, err := b.apply(entry{When: time.Now(), Ops: e.Ops[:steps]}); err != nil {
				t.Fatal(err)
			}
			if steps > 0 && e.Ops[steps-1].Kind == store.OpWrite { // with the last file incomplete
				if err := os.Truncate(b.LocalPath(e.Ops[steps-1].Path), 1); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			b = openBackend(t, dir)
			if diff := cmp.Diff(want, tree(t, filepath.Join(dir, documentsDir))); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
			info, err := b.Stat(t.Context(), "a")
			if err != nil || !info.ModTime.Equal(e.When) {
				t.Errorf("stat: %+v, %v, want time %v", info, err, e.When)
			}
			state := slices.Sorted(maps.Keys(tree(t, filepath.Join(dir, stateDir))))
			if diff := cmp.Diff([]string{"./", "journal", "lock", "schema", "undo/"}, state); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTornJournal cuts the journal, or changes a bit in it, at every byte: only a complete one is
// used.
func TestTornJournal(t *testing.T) {
	data, err := encodeEntry(entry{When: time.Now(), Ops: []store.Op{writeOp("a", "1"), deleteOp("b")}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if _, ok, err := decodeEntry(data[:n]); ok || err != nil {
			t.Errorf("cut at %d: %t, %v", n, ok, err)
		}
		flipped := bytes.Clone(data)
		flipped[n] ^= 0x40
		if _, ok, err := decodeEntry(flipped); ok || err != nil {
			t.Errorf("bit flipped in byte %d: %t, %v", n, ok, err)
		}
	}
	got, ok, err := decodeEntry(data)
	if err != nil || !ok || len(got.Ops) != 2 || got.Ops[0].Path != "a" || string(got.Ops[0].Data) != "1" {
		t.Errorf("got %+v, %t, %v", got, ok, err)
	}
}

func TestJournalWithInvalidPath(t *testing.T) {
	dir := t.TempDir()
	b := openBackend(t, dir)
	if err := writeJournal(b.journal, entry{Ops: []store.Op{writeOp("../out", "x"), writeOp("a", "x")}}); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err := open(t.Context(), dir); !store.IsInvalidPath(err) {
		t.Errorf("got %v, %v", b, err)
	}
}

// TestBroken: after an error that leaves the files in an unknown state, the store rejects commits
// until it is reopened.
func TestBroken(t *testing.T) {
	dir := t.TempDir()
	b := openBackend(t, dir)
	commit(t, b, writeOp("a", "1"), writeOp("b", "1"))
	if err := b.journal.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		batch := store.Commit{Ops: []store.Op{writeOp("a", "2"), writeOp("b", "2")}}
		if err := b.Commit(t.Context(), batch); err == nil {
			t.Error("commit succeeded without a journal")
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

func FuzzDecodeEntry(f *testing.F) {
	for _, e := range []entry{{}, {Ops: []store.Op{writeOp("a", "1"), deleteOp("b/c")}}} {
		data, err := encodeEntry(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[journalHeader:])
	}
	f.Add([]byte(journalMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, ok, err := decodeEntry(data); ok && err != nil {
			t.Fatal("both an entry and an error")
		}
		// With a valid header, so that decoding gets past the checksum.
		e, ok, err := decodeEntry(addHeader(data))
		if !ok || err != nil {
			return
		}
		again, err := encodeEntry(e)
		if err != nil {
			t.Fatal(err)
		}
		if e2, ok, err := decodeEntry(again); !ok || err != nil || !cmp.Equal(e, e2) {
			t.Fatalf("%+v is decoded as %+v, %v", e, e2, err)
		}
	})
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
