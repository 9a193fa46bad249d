package fsstore

import (
	"os"
	"path/filepath"
	"testing"

	"evalctl/daemon/store"
)

// TestBrokenIsReported: after a batch that can be neither written to the log nor erased there, Broken
// returns true. Reopening repairs the store.
func TestBrokenIsReported(t *testing.T) {
	dir := t.TempDir()
	b, err := open(t.Context(), dir, quiet, nil)
	if err != nil {
		t.Fatal(err)
	}
	st := store.New(b, nil)
	two := store.Commit{Ops: []store.Op{{Kind: store.OpWrite, Path: "a.md"}, {Kind: store.OpWrite, Path: "b.md"}}}
	if err := st.Apply(t.Context(), two); err != nil || st.Broken() {
		t.Fatalf("%v, broken %v", err, st.Broken())
	}
	b.active.file.Close()
	if err := st.Apply(t.Context(), two); err == nil || !st.Broken() {
		t.Errorf("%v, broken %v", err, st.Broken())
	}
	if err := st.Write(t.Context(), "c.md", nil); !store.IsReadOnly(err) {
		t.Errorf("got %v", err)
	}
	_ = st.Close() // the log is closed already
	st, err = Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.Apply(t.Context(), two); err != nil || st.Broken() {
		t.Errorf("%v, broken %v", err, st.Broken())
	}
}

// TestReplacedKeepsTheLog: documents that are only in the log when their folder is replaced by a
// copy get into the copy, whether or not anybody noticed it before the store was closed.
func TestReplacedKeepsTheLog(t *testing.T) {
	for _, noticed := range []bool{true, false} {
		dir := t.TempDir()
		b, err := open(t.Context(), dir, quiet, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"first.md", "a.md", "b.md"} {
			c := store.Commit{Ops: []store.Op{{Kind: store.OpWrite, Path: path, Data: []byte("otter")}}}
			c.Alone = path == "first.md" // this one is in its file at once
			if err := b.Commit(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		documents, away := filepath.Join(dir, documentsDir), filepath.Join(dir, "away")
		if err := os.Rename(documents, away); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(documents, os.DirFS(away)); err != nil {
			t.Fatal(err)
		}
		if noticed && !b.Replaced() {
			t.Error("it was not noticed")
		}
		if err := b.Close(); store.IsReadOnly(err) == noticed {
			t.Errorf("noticed %v: close: %v", noticed, err)
		}
		st, err := Open(t.Context(), dir, quiet)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"a.md", "b.md"} {
			if got, err := st.Read(t.Context(), path); err != nil || string(got) != "otter" {
				t.Errorf("noticed %v: read %s: %q, %v", noticed, path, got, err)
			}
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
}
