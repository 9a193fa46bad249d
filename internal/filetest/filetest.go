// Package filetest reads and writes the files of tests. An error ends the test.
package filetest

import (
	"os"
	"path/filepath"
)

// test is a *testing.T, a *testing.B or a *rapid.T.
type test interface {
	Helper()
	Fatal(args ...any)
}

// Write writes a file that only its owner may read, and the folders above it, and returns its path.
func Write[T ~string | ~[]byte](t test, path string, content T) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Read returns the content of a file.
func Read(t test, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
