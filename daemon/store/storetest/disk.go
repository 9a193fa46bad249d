package storetest

import (
	"os"
	"testing"

	"evalctl/internal/longtest"
)

// MemoryDir returns a new directory on a file system in memory, where syncing costs nothing, or a
// t.TempDir if there is no such file system. It is for tests that do not depend on the disk.
func MemoryDir(t *testing.T) string {
	t.Helper()
	memory := longtest.MemoryDir()
	if memory == "" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "storetest") //nolint:usetesting // t.TempDir cannot choose the filesystem
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
