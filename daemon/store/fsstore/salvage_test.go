package fsstore

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/store"
)

// TestSalvage damages a store that was killed, and salvages it: what was not damaged is there, what
// was lost is reported, and the store is not changed.
func TestSalvage(t *testing.T) {
	both := map[string]string{
		"a": "2", "d/0": "first log", "d/1": "second log", "d/2": "first log", "e": strings.Repeat("2", ownPiece),
	}
	file := func(dir string, log int) string { return filepath.Join(dir, logFiles[log]) }
	edit := func(name string, change func(data []byte)) error {
		data, err := os.ReadFile(name)
		if err == nil {
			change(data)
			err = os.WriteFile(name, data, 0o600)
		}
		return err
	}
	for name, c := range map[string]struct {
		damage func(dir string) error
		edit   func(docs map[string]string)
		lost   string
		older  string
	}{
		"nothing": {func(string) error { return nil }, func(map[string]string) {}, "", "42/d/1: first log"},
		"headers": {func(dir string) error {
			return edit(file(dir, 0), func(data []byte) { clear(data[:slotsSize]) })
		}, func(map[string]string) {}, "journal of the store is damaged at byte 0", ""},
		"first record": {func(dir string) error {
			return edit(file(dir, 0), func(data []byte) { data[slotsSize+recordHeader+3] ^= 1 })
		}, func(docs map[string]string) { delete(docs, "d/0") }, "record 1 is incomplete", ""},
		"a record between": {func(dir string) error {
			return edit(file(dir, 1), func(data []byte) { data[slotsSize+recordHeader+3] ^= 1 })
		}, func(docs map[string]string) { docs["d/1"] = "first log" }, "numbers 44 to 44 can", ""},
		"a log": {func(dir string) error { return os.Remove(file(dir, 1)) },
			func(docs map[string]string) { docs["d/1"] = "first log"; delete(docs, "e") }, "journal.2 is missing", ""},
		"edited": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, documentsDir, "a"), []byte("by hand"), 0o600)
		}, func(map[string]string) {}, "", "files/a: by hand"},
		"in the way": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, documentsDir, "d"), []byte("by hand"), 0o600)
		}, func(map[string]string) {}, "place of d,", "files/d: by hand"},
		"a log that is no file": {func(dir string) error {
			return errors.Join(os.Remove(file(dir, 1)), os.Mkdir(file(dir, 1), 0o700))
		}, func(docs map[string]string) { docs["d/1"] = "first log"; delete(docs, "e") }, "journal.2 cannot be read", ""},
		"a link": {func(dir string) error {
			return os.Symlink("/etc/passwd", filepath.Join(dir, documentsDir, "link"))
		}, func(map[string]string) {}, "documents/link was left out", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := killed(t, true)
			if err := c.damage(dir); err != nil {
				t.Fatal(err)
			}
			before := tree(t, dir)
			out := filepath.Join(t.TempDir(), "new", "home")
			found, err := Salvage(t.Context(), dir, out)
			if err != nil {
				t.Fatal(err)
			}
			if after := tree(t, dir); !maps.Equal(before, after) {
				t.Error("the store was changed")
			}
			if lost := strings.Join(found.Lost, "\n"); c.lost == "" && lost != "" || !strings.Contains(lost, c.lost) {
				t.Errorf("lost: %q", lost)
			}
			if kept, content, ok := strings.Cut(c.older, ": "); ok {
				if data, err := os.ReadFile(filepath.Join(out, olderDir, kept)); string(data) != content {
					t.Errorf("%s is %q, %v", kept, data, err)
				}
			}
			want := maps.Clone(both)
			c.edit(want)
			got := contentsOf(t, openBackend(t, out))
			for path := range got {
				if strings.HasPrefix(path, "a") && path != "a" { // settled before
					delete(got, path)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSalvageBelowAnother: if the deletion of a document above another one is lost, all versions
// are somewhere.
func TestSalvageBelowAnother(t *testing.T) {
	dir := t.TempDir()
	b := openBackend(t, dir)
	b.settling <- struct{}{}
	commit(t, b, writeOp("x", "1"))
	deletion := b.active.end
	commit(t, b, deleteOp("x"))
	commit(t, b, writeOp("x/y", "2"))
	log := filepath.Join(dir, b.active.name)
	abandon(b)
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	data[deletion+recordHeader] ^= 1
	documents := filepath.Join(dir, documentsDir)
	if err := errors.Join(os.WriteFile(log, data, 0o600), os.RemoveAll(filepath.Join(documents, "x")),
		os.WriteFile(filepath.Join(documents, "x"), []byte("by hand"), 0o600)); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "home")
	if _, err := Salvage(t.Context(), dir, out); err != nil {
		t.Fatal(err)
	}
	got := tree(t, out)
	for file, content := range map[string]string{"documents/x": "1", "older/files/x/y": "2", "older/files-2/x": "by hand"} {
		if got[file] != content {
			t.Errorf("%s is %q, of %q", file, got[file], got)
		}
	}
}

// badSector is a file with a part that cannot be read.
type badSector struct {
	io.ReaderAt
	from, to int64
}

func (f badSector) ReadAt(data []byte, offset int64) (int, error) {
	if offset < f.to && offset+int64(len(data)) > f.from {
		return 0, syscall.EIO
	}
	return f.ReaderAt.ReadAt(data, offset)
}

// TestSalvageABadSector: all blocks but those that the disk cannot read are read.
func TestSalvageABadSector(t *testing.T) {
	content := bytes.Repeat([]byte("otter"), 3*slotSize/5)
	want := bytes.Clone(content)
	clear(want[slotSize : 2*slotSize])
	got, err := readBlocks(badSector{bytes.NewReader(content), slotSize + 10, slotSize + 20}, int64(len(content)))
	if !errors.Is(err, syscall.EIO) || !bytes.Equal(got, want) {
		t.Errorf("%v, equal: %t", err, bytes.Equal(got, want))
	}
	if got, err = readBlocks(bytes.NewReader(content), int64(len(content))); err != nil || !bytes.Equal(got, content) {
		t.Errorf("a sound file: %v, equal: %t", err, bytes.Equal(got, content))
	}
}

// TestSalvageVersions: every version that was committed and can be read is somewhere.
func TestSalvageVersions(t *testing.T) {
	dir := killed(t, true)
	out := filepath.Join(t.TempDir(), "home")
	if _, err := Salvage(t.Context(), dir, out); err != nil {
		t.Fatal(err)
	}
	contents := slices.Collect(maps.Values(tree(t, out)))
	for _, name := range logFiles {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; ; at++ {
			i := bytes.Index(data[at:], []byte(recordMagic))
			if i < 0 {
				break
			}
			at += i
			r, ok, _ := decodeRecord(recordMagic, data[at:])
			for _, op := range r.ops {
				if content := string(data[at:][op.offset : op.offset+op.size]); ok && !slices.Contains(contents, content) {
					t.Errorf("%s of record %d is missing", op.path, r.number)
				}
			}
		}
	}
}

// TestSalvageStaleHeader: if a log has its headers from before it was emptied, a write of then
// is not taken for the last version, and an acknowledged one of later is.
func TestSalvageStaleHeader(t *testing.T) {
	dir := t.TempDir()
	b := openBackend(t, dir)
	b.settling <- struct{}{}
	log := filepath.Join(dir, b.active.name)
	settle := func() {
		if err := b.settleAll(); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, b, writeOp("x", "1"))
	commit(t, b, writeOp("a", "1"))
	before, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	settle()
	commit(t, b, writeOp("a", "2"))
	settle()
	commit(t, b, writeOp("y", "3"))
	abandon(b)
	now, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	copy(now, before[:slotsSize])
	if err := os.WriteFile(log, now, 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "home")
	if _, err := Salvage(t.Context(), dir, out); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"x": "1", "a": "2", "y": "3"}
	if diff := cmp.Diff(want, contentsOf(t, openBackend(t, out))); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

// TestSalvageNames: documents whose files have encoded names are salvaged under their own names,
// with their last versions, and what other programs have left in the folder is not.
func TestSalvageNames(t *testing.T) {
	dir := t.TempDir()
	b := openBackend(t, dir)
	long := strings.Repeat("ü", 100) + "~"
	commit(t, b, writeOp("x~", "1"), writeOp("%=y", "1"), writeOp(".obsidian/a.md", "1"), writeOp(long, "1"), writeOp("gone~", "1"))
	if err := b.settle(); err != nil {
		t.Fatal(err)
	}
	commit(t, b, writeOp("x~", "2"), store.Op{Kind: store.OpDelete, Path: "gone~"})
	if err := os.WriteFile(filepath.Join(dir, documentsDir, ".DS_Store"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "home")
	found, err := Salvage(t.Context(), dir, out)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"x~": "2", "%=y": "1", ".obsidian/a.md": "1", long: "1"}
	if diff := cmp.Diff(want, contentsOf(t, openBackend(t, out))); diff != "" || found.Documents != len(want) {
		t.Errorf("%d documents, lost %q (-want +got):\n%s", found.Documents, found.Lost, diff)
	}
}
