package fsstore_test

import (
	"path/filepath"
	"testing"

	"evalctl/daemon/store/fsstore"
)

func BenchmarkOpen(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "s")
	for b.Loop() {
		s, err := fsstore.Open(b.Context(), dir, nil)
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}
