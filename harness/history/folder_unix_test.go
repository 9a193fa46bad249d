//go:build unix

package history_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"evalctl/internal/filetest"
)

// TestReadOfOthers has a pipe, which would be waited for, and links to what is not in the folder: each
// is named as unreadable.
func TestReadOfOthers(t *testing.T) {
	root := t.TempDir()
	outside := filetest.Write(t, filepath.Join(t.TempDir(), "x.json"), "secret")
	for name, to := range map[string]string{"kernel.json": "/proc/kmsg", "device.json": "/dev/zero", "outside.json": outside, "run.journal": outside} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("go.json", filepath.Join(root, "link.json")); err != nil {
		t.Fatal(err)
	}
	run("go", 0, "+").Save(t, root, "go.json")
	if err := syscall.Mkfifo(filepath.Join(root, "pipe.json"), 0o644); err != nil {
		t.Skip(err)
	}
	f := read(t, root)
	var names []string
	for _, u := range f.Unreadable {
		names = append(names, filepath.Base(u.Path))
		if strings.Contains(u.Reason, "secret") {
			t.Error(u.Reason)
		}
	}
	slices.Sort(names)
	want := []string{"device.json", "kernel.json", "outside.json", "pipe.json", "run.journal"}
	if len(f.Entries) != 1 || len(f.Journals) != 0 || !slices.Equal(names, want) {
		t.Errorf("got %q of %+v", names, f)
	}
}
