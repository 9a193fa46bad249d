//go:build unix

package history_test

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestReadDoesNotOpenPipes has a pipe, which would be waited for.
func TestReadDoesNotOpenPipes(t *testing.T) {
	root := t.TempDir()
	run("go", 0, "+").Save(t, root, "go.json")
	if err := syscall.Mkfifo(filepath.Join(root, "pipe.json"), 0o644); err != nil {
		t.Skip(err)
	}
	if f := read(t, root); len(f.Entries) != 1 || len(f.Unreadable) != 0 {
		t.Errorf("got %+v", f)
	}
}
