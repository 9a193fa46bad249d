package fsstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
	"evalctl/daemon/store/storetest"
)

// TestVanishedDocuments: a folder of documents that is missing, or empty without reason, is an
// error and not an empty store, and the documents are back once the folder is.
func TestVanishedDocuments(t *testing.T) {
	for _, running := range []bool{true, false} {
		for _, what := range []string{"missing", "empty"} {
			t.Run(what, func(t *testing.T) {
				dir := storetest.MemoryDir(t)
				documents, away := filepath.Join(dir, "documents"), filepath.Join(dir, "away")
				s := openDir(t, dir)
				if err := s.Write(t.Context(), "a.md", []byte("otter")); err != nil {
					t.Fatal(err)
				}
				vanish := func() {
					if err := os.Rename(documents, away); err != nil {
						t.Fatal(err)
					}
					if what == "empty" {
						if err := os.Mkdir(documents, 0o700); err != nil {
							t.Fatal(err)
						}
					}
				}
				if running {
					if s.Replaced() {
						t.Error("replaced too early")
					}
					vanish()
					if !s.Replaced() || !s.Broken() {
						t.Error("it was not noticed")
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if !running {
					vanish()
				}
				for range 2 {
					if _, err := fsstore.Open(t.Context(), dir, nil); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "restore or mount it") {
						t.Fatalf("got %v", err)
					}
				}
				if err := os.RemoveAll(documents); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(away, documents); err != nil {
					t.Fatal(err)
				}
				if got, err := openDir(t, dir).Read(t.Context(), "a.md"); err != nil || string(got) != "otter" {
					t.Errorf("read %q, %v", got, err)
				}
			})
		}
	}
}

// TestEmptiedStore: a store whose documents were all deleted through it is empty.
func TestEmptiedStore(t *testing.T) {
	dir := storetest.MemoryDir(t)
	s := openDir(t, dir)
	if err := errors.Join(s.Write(t.Context(), "d/a.md", nil), s.Delete(t.Context(), "d/a.md"), s.Close()); err != nil {
		t.Fatal(err)
	}
	openDir(t, dir)
}
