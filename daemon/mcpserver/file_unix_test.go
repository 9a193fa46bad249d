//go:build unix

package mcpserver

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evalctl/daemon/protocol"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, size int) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, bytes.Repeat([]byte("x"), size), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	small, limit := write("small.md", 5), write("limit.md", protocol.MaxIngestBytes)
	link, out := filepath.Join(dir, "link.md"), filepath.Join(dir, "out.md")
	outside := filepath.Join(t.TempDir(), "secret.md")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink("small.md", link), os.Symlink(outside, out)); err != nil {
		t.Skip(err)
	}
	files, err := OpenFiles([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	readFile := func(path string) ([]byte, error) { return files.read(t.Context(), path) }
	for path, size := range map[string]int{small: 5, limit: protocol.MaxIngestBytes, link: 5, write("empty.md", 0): 0} {
		if data, err := readFile(path); err != nil || len(data) != size {
			t.Errorf("%s: %d bytes, %v", path, len(data), err)
		}
	}
	t.Chdir(dir)
	if data, err := readFile("small.md"); err != nil || len(data) != 5 {
		t.Errorf("a relative path: %d bytes, %v", len(data), err)
	}
	huge := filepath.Join(dir, "huge.md") // sparse: reading it would take long
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 1<<40); err != nil {
		t.Skip(err)
	}
	for path, want := range map[string][2]string{
		write("above.md", protocol.MaxIngestBytes+1): {"file_too_large", "26214401 bytes, the limit is 26214400"},
		huge:                             {"file_too_large", "the limit is"},
		dir:                              {"validation_error", "is a directory"},
		filepath.Join(dir, "missing.md"): {"not_found", "no such file"},
		filepath.Join(small, "x"):        {"validation_error", "not a directory"},
		"nul\x00.md":                     {"validation_error", "invalid argument"},
		strings.Repeat("x", 5000):        {"validation_error", "too long"},
		out:                              {"validation_error", "path escapes"},
		outside:                          {"validation_error", "is not below a folder whose files this server may read"},
		"../secret.md":                   {"validation_error", "is not below a folder"},
		filepath.Join(dir, "fifo"):       {"validation_error", "not a regular file"},
		"/dev/zero":                      {"validation_error", "is not below a folder"},
		"/proc/kmsg":                     {"validation_error", "is not below a folder"},
	} {
		if filepath.Base(path) == "fifo" {
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := readFile(path)
		e, ok := errors.AsType[*toolError](err)
		if !ok || e.Code != want[0] || !strings.Contains(e.Message, want[1]) {
			t.Errorf("%.60q: %v", path, err)
		}
	}
}
