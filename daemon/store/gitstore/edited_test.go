package gitstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/store"
	"evalctl/daemon/store/gitstore"
)

// TestEditsWhileOpen: a file is changed by hand while the store is open. No commit has the change
// or replaces it, and other documents can be written.
func TestEditsWhileOpen(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	r := openDir(t, dir, nil)
	write(t, r, "a.md", "green")
	write(t, r, "gone.md", "x")
	file := filepath.Join(dir, "a.md")
	put(t, file, "by hand")
	for name, err := range map[string]error{
		"write": r.Write(ctx, "a.md", []byte("red")), "append": r.Append(ctx, "a.md", []byte("!")),
		"rename": r.Rename(ctx, "a.md", "b.md"), "delete": r.Delete(ctx, "a.md"),
	} {
		if !errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), "a.md") || !strings.Contains(err.Error(), "by hand") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "by hand" {
		t.Errorf("%q, %v", text, err)
	}
	write(t, r, "c.md", "other")
	write(t, r, "folder.md", "x")
	folder := filepath.Join(dir, "folder.md")
	must(t, os.Remove(folder), os.Mkdir(folder, 0o700))
	if err := r.Write(ctx, "folder.md", []byte("y")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a folder in its place: %v", err)
	}
	must(t, os.Remove(folder), r.Write(ctx, "folder.md", []byte("y")))
	must(t, os.Remove(filepath.Join(dir, "gone.md")), r.Write(ctx, "gone.md", []byte("y")))
	put(t, file, "green")
	write(t, r, "a.md", "red")
	wantSound(t, r, dir)
}

// TestVersions: documents of one size that were committed at the same time have different versions.
func TestVersions(t *testing.T) {
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	dir := t.TempDir()
	opts := gitstore.Options{Options: store.Options{Now: func() time.Time { return when }}}
	r := openDir(t, dir, &opts)
	seen := map[string]string{}
	for _, content := range []string{"zebra", "camel", "otter"} {
		write(t, r, "m/a.md", content)
		info, err := r.Stat(t.Context(), "m/a.md")
		list, listErr := r.List(t.Context(), "m", store.ListOptions{})
		must(t, err, listErr)
		if earlier, ok := seen[info.Version]; ok || info.Version == "" || list[0].Version != info.Version {
			t.Errorf("%s: version %q of %q, listed %q", content, info.Version, earlier, list[0].Version)
		}
		seen[info.Version] = content
		must(t, r.Close())
		r = openDir(t, dir, &opts)
		if again, err := r.Stat(t.Context(), "m/a.md"); err != nil || again.Version != info.Version {
			t.Errorf("%s: version %q, reopened %q, %v", content, info.Version, again.Version, err)
		}
	}
}
