package atomicfile_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/internal/atomicfile"
)

func Example() {
	dir, err := os.MkdirTemp("", "atomicfile")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "state.txt")
	for _, text := range []string{"first", "second"} {
		err := atomicfile.Write(path, 0o644, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	data, err := os.ReadFile(path)
	fmt.Printf("%s %v\n", data, err)
	// Output:
	// second <nil>
}

func write(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantFiles compares the folder's files and their contents.
func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		text, known := want[e.Name()]
		if err != nil || !known || string(data) != text {
			t.Errorf("%s contains %q, %v", e.Name(), data, err)
		}
	}
	if len(entries) != len(want) {
		t.Errorf("got %d files, want %d", len(entries), len(want))
	}
}

var errFull = errors.New("disk full")

func TestFailedContentLeavesTheTarget(t *testing.T) {
	half := func(w io.Writer) error {
		_, _ = io.WriteString(w, "half of the ne")
		return errFull
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "go.json")
	put(t, path, "old")
	if err := atomicfile.Write(path, 0o644, half); !errors.Is(err, errFull) {
		t.Error(err)
	}
	wantFiles(t, dir, map[string]string{"go.json": "old"})
}

func TestPermissions(t *testing.T) {
	for _, perm := range []fs.FileMode{0o600, 0o644, 0o666} {
		path := filepath.Join(t.TempDir(), "file")
		if err := atomicfile.Write(path, perm, write("x")); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != perm {
			t.Errorf("got %v, %v, want %v", info.Mode(), err, perm)
		}
	}
}

func TestDiscard(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	put(t, path, "old")
	f, err := atomicfile.Create(path, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Discard(), f.Discard()); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, map[string]string{"file": "old"})
}

func TestDiscardAfterCommit(t *testing.T) {
	dir := t.TempDir()
	f, err := atomicfile.Create(filepath.Join(dir, "file"), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.Write([]byte("new"))
	if err := errors.Join(f.Commit(), f.Discard()); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, map[string]string{"file": "new"})
}

func TestTargetThatCannotBeReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	err := atomicfile.Write(path, 0o644, write("x"))
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a folder was replaced, or the error does not name it: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the temporary file stays: %v", entries)
	}
	missing := filepath.Join(dir, "missing")
	err = atomicfile.Write(filepath.Join(missing, "x"), 0o644, write("x"))
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestSymbolicLinkIsReplaced(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	put(t, real, "old")
	if err := os.Symlink("real", link); err != nil {
		t.Skip(err)
	}
	if err := atomicfile.Write(link, 0o644, write("new")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
	wantFiles(t, dir, map[string]string{"real": "old", "link": "new"})
}

func TestBackup(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 3, 21, 23, 5, 9, 0, time.FixedZone("", 3600))
	want := map[string]string{}
	for i, name := range []string{"go.220509.json", "go.220509-2.json", "go.220509-3.json"} {
		path, text := filepath.Join(dir, "go.json"), string(rune('a'+i))
		put(t, path, text)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		if got, err := atomicfile.Backup(path); err != nil || got != filepath.Join(dir, name) {
			t.Errorf("got %q, %v, want %s", got, err, name)
		}
		want[name] = text
	}
	wantFiles(t, dir, want)
	if got, err := atomicfile.Backup(filepath.Join(dir, "missing.json")); got != "" || err != nil {
		t.Errorf("nothing to back up: %q, %v", got, err)
	}
}

func TestKeep(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "go.json")
	at := time.Date(2026, 3, 21, 22, 5, 9, 0, time.UTC)
	put(t, path, "old")
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	if got, err := atomicfile.Keep(path); err != nil || got != filepath.Join(dir, "go.220509.json") {
		t.Fatalf("got %q, %v", got, err)
	}
	wantFiles(t, dir, map[string]string{"go.json": "old", "go.220509.json": "old"})
	if err := atomicfile.Write(path, 0o644, write("new")); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, map[string]string{"go.json": "new", "go.220509.json": "old"})
}

func TestLink(t *testing.T) {
	dir := t.TempDir()
	from, path := filepath.Join(dir, "from"), filepath.Join(dir, "path")
	for _, text := range []string{"one", "two"} {
		if err := atomicfile.Write(from, 0o644, write(text)); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time both names are one file already
			if err := atomicfile.Link(from, path); err != nil {
				t.Fatal(err)
			}
			wantFiles(t, dir, map[string]string{"from": text, "path": text})
		}
	}
	if err := atomicfile.Link(filepath.Join(dir, "missing"), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	wantFiles(t, dir, map[string]string{"from": "two", "path": "two"})
}

// TestLinkWithoutHardLinks checks the copy by which a link is replaced.
func TestLinkWithoutHardLinks(t *testing.T) {
	dir := t.TempDir()
	from, path := filepath.Join(dir, "from"), filepath.Join(dir, "path")
	put(t, from, "text")
	put(t, path, "old")
	if err := atomicfile.ReplaceByCopy(from, path); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, map[string]string{"from": "text", "path": "text"})
}

func TestLongestName(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("ы", 126)+".md") // 255 bytes
	if err := atomicfile.WriteData(path, 0o644, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Link(path, path); err != nil {
		t.Error(err)
	}
}
