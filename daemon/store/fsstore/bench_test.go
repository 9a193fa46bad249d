package fsstore_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
)

func openBench(b *testing.B) *store.Store {
	b.Helper()
	s, err := fsstore.Open(b.Context(), b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// BenchmarkWrite compares a durable write with the same system calls made directly.
func BenchmarkWrite(b *testing.B) {
	data := bytes.Repeat([]byte("x"), 1024)
	b.Run("fsstore", func(b *testing.B) {
		s := openBench(b)
		for i := 0; b.Loop(); i++ {
			if err := s.Write(b.Context(), fmt.Sprintf("notes/%d.md", i%1024), data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("system-calls", func(b *testing.B) {
		dir := b.TempDir()
		for i := 0; b.Loop(); i++ {
			if err := writeByHand(dir, fmt.Sprintf("%d.md", i%1024), data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func writeByHand(dir, name string, data []byte) error {
	temp := filepath.Join(dir, "temp")
	f, err := os.Create(temp)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(temp, filepath.Join(dir, name)); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err := d.Sync(); err != nil {
		return err
	}
	return d.Close()
}

// BenchmarkBatch compares 1,024 documents written in one batch with the same documents written
// one by one. The result depends on how fast the filesystem creates files. ext4 is much slower
// after many deletions, so compare numbers of the same run only.
func BenchmarkBatch(b *testing.B) {
	const n = 1024
	data := bytes.Repeat([]byte("x"), 1024)
	path := func(round, i int) string { return fmt.Sprintf("notes/%d/%d.md", round, i) }
	b.Run("batch", func(b *testing.B) {
		s := openBench(b)
		for round := 0; b.Loop(); round++ {
			err := s.Batch(b.Context(), store.BatchOptions{}, func(t *store.Batch) error {
				for i := range n {
					if err := t.Write(b.Context(), path(round, i), data); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("one-by-one", func(b *testing.B) {
		s := openBench(b)
		for round := 0; b.Loop(); round++ {
			for i := range n {
				if err := s.Write(b.Context(), path(round, i), data); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	// The lower bound: files that are only created, neither durable nor atomic.
	b.Run("plain-files", func(b *testing.B) {
		dir := b.TempDir()
		for round := 0; b.Loop(); round++ {
			if err := os.MkdirAll(filepath.Join(dir, path(round, 0), ".."), 0o700); err != nil {
				b.Fatal(err)
			}
			for i := range n {
				if err := os.WriteFile(filepath.Join(dir, path(round, i)), data, 0o600); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
