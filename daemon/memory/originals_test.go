package memory

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"evalctl/daemon/convert"
	"evalctl/daemon/store"
	"evalctl/internal/awaittest"
)

// TestIngestAfterDeletion: a file whose document is gone is ingested again, and its original leaves
// with the document, however that is deleted.
func TestIngestAfterDeletion(t *testing.T) {
	for how, remove := range map[string]func(*testing.T, *fixture, string) error{
		"by id":   func(t *testing.T, f *fixture, path string) error { return f.DeleteDocument(t.Context(), f.brain, path) },
		"by path": func(t *testing.T, f *fixture, path string) error { return f.store(t).Delete(t.Context(), path) },
		"in a batch of one event for each op": func(t *testing.T, f *fixture, path string) error {
			var events []string
			cancel := f.brain.Subscribe(func(e store.ChangeEvent) {
				if !strings.HasPrefix(e.Path, "originals/") {
					events = append(events, string(e.Kind)+" "+e.Path)
				}
			})
			defer cancel()
			err := f.store(t).Apply(t.Context(), store.Commit{Ops: []store.Op{
				{Kind: store.OpWrite, Path: "other.md", Data: []byte("x")}, {Kind: store.OpDelete, Path: path}, {Kind: store.OpDelete, Path: "other.md"},
			}})
			if fmt.Sprint(events) != "[created other.md deleted "+path+" deleted other.md]" {
				t.Errorf("events %v", events)
			}
			return err
		},
	} {
		t.Run(how, func(t *testing.T) {
			f := open(t)
			kept := f.ingestFile(t, "kept.txt", "kept")
			first := f.ingestFile(t, "a.txt", "walrus")
			if err := remove(t, f, first.Path); err != nil {
				t.Fatal(err)
			}
			f.awaitFiles(t, originalPath(kept.Hash, convert.Text), kept.Path, recordPath(kept.Hash, convert.Text))
			again := f.ingestFile(t, "a.txt", "walrus")
			if again.Reused || again.Path != first.Path {
				t.Errorf("got %+v", again)
			}
		})
	}
}

// awaitFiles waits until the brain has exactly these files.
func (f *fixture) awaitFiles(t testing.TB, want ...string) {
	t.Helper()
	awaittest.Until(t, "the files "+strings.Join(sorted(want), ", "), func() bool {
		return strings.Join(f.files(t, ""), "\n") == strings.Join(sorted(want), "\n")
	})
}

// TestOriginalsOfAnEarlierProcess: what was deleted or moved while no daemon looked is found at the
// next start.
func TestOriginalsOfAnEarlierProcess(t *testing.T) {
	for name, openStore := range stores {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := openDir(t, dir, openStore)
			gone, moved, stays := f.ingestFile(t, "gone.txt", "gone"), f.ingestFile(t, "moved.txt", "moved"), f.ingestFile(t, "stays.txt", "stays")
			f.shutDown(t)

			st, err := openStore(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			orphan := originalPath(hashOf("orphan"), convert.PDF)
			err = errors.Join(st.Delete(t.Context(), gone.Path), st.Rename(t.Context(), moved.Path, "elsewhere.md"),
				st.Write(t.Context(), orphan, []byte("x")), st.Write(t.Context(), "originals/notes.md", []byte("a document")),
				st.Close())
			if err != nil {
				t.Fatal(err)
			}

			f = openDir(t, dir, openStore)
			f.Resume(f.brain)
			f.awaitFiles(t, "originals/notes.md", "elsewhere.md", stays.Path,
				recordPath(moved.Hash, convert.Text), originalPath(moved.Hash, convert.Text),
				recordPath(stays.Hash, convert.Text), originalPath(stays.Hash, convert.Text))
			if r := f.ingestFile(t, "x.txt", "moved"); !r.Reused || r.Path != "elsewhere.md" {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// TestDamagedRecords: clients can write to every path.
func TestDamagedRecords(t *testing.T) {
	for name, text := range map[string]string{
		"not JSON":       "{",
		"another record": `{"document":"secret.md","kind":"text","sha256":"` + strings.Repeat("0", 64) + `"}`,
		"another path":   `{"document":"secret.md","kind":"text","sha256":"HASH"}`,
		"outside":        `{"document":"../../etc/passwd","kind":"text","sha256":"HASH"}`,
		"a directory":    `{"document":"raw","kind":"text","sha256":"HASH"}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			f.put(t, "secret.md", "secret")
			hash := hashOf("walrus")
			f.put(t, recordPath(hash, convert.Text), strings.ReplaceAll(text, "HASH", hash))
			r := f.ingestFile(t, "a.txt", "walrus")
			if r.Reused || r.Path != "raw/documents/a.txt.md" {
				t.Errorf("got %+v", r)
			}
			if again := f.ingestFile(t, "a.txt", "walrus"); !again.Reused || again.Path != r.Path {
				t.Errorf("got %+v", again)
			}
			if f.read(t, "secret.md") != "secret" {
				t.Error("another document was changed")
			}
		})
	}
}

// TestLostRecord: a document at the path that a file would get is recognised without a record.
func TestLostRecord(t *testing.T) {
	f := open(t)
	first := f.ingestFile(t, "a.txt", "walrus")
	for _, path := range f.files(t, "originals") {
		if err := f.store(t).Delete(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	if again := f.ingestFile(t, "a.txt", "walrus"); !again.Reused || again.Path != first.Path {
		t.Errorf("got %+v", again)
	}
	if list := f.files(t, ""); len(list) != 3 {
		t.Errorf("files %v", list)
	}
}

// TestOverwrittenDocument: a document that was replaced by another text is not the file's.
func TestOverwrittenDocument(t *testing.T) {
	f := open(t)
	first := f.ingestFile(t, "a.txt", "walrus")
	f.put(t, first.Path, "# Something else")
	again := f.ingestFile(t, "a.txt", "walrus")
	if again.Reused || again.Path != "raw/documents/a.txt-"+first.Hash[:8]+".md" {
		t.Errorf("got %+v", again)
	}
	if f.read(t, first.Path) != "# Something else" {
		t.Error("a document was overwritten")
	}
}
