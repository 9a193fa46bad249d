package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/daemon/store"
)

// BenchmarkListDeep lists as many directories in one another as there may be, and beside each other.
func BenchmarkListDeep(b *testing.B) {
	beside := make([]string, store.MaxFolders)
	for i := range beside {
		beside[i] = fmt.Sprintf("d%d", i)
	}
	for name, folders := range map[string][]string{
		"nested": {strings.Repeat("d/", store.MaxFolders)}, "beside": beside,
	} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			for _, folder := range folders {
				if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
					b.Fatal(err)
				}
			}
			f := filesIn(b, dir)
			for b.Loop() {
				if _, err := f.List(b.Context(), ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
