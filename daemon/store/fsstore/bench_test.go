package fsstore_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
	"evalctl/daemon/store/storetest"
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
	write := func(b *testing.B, s *store.Store) {
		err := s.Batch(b.Context(), store.BatchOptions{}, func(t *store.Batch) error {
			for i := range n {
				if err := t.Write(b.Context(), path(0, i), data); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.Run("batch", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			s := openBench(b)
			b.StartTimer()
			write(b, s)
			b.StopTimer()
			s.Close()
			b.StartTimer()
		}
	})
	// The files of the documents are written before Close returns.
	b.Run("batch-and-files", func(b *testing.B) {
		for b.Loop() {
			s := openBench(b)
			write(b, s)
			s.Close()
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

// BenchmarkGroupCommit compares durable writes of new documents by 1 and 16 writers with the least
// that makes them durable: a log to which they append, with one fdatasync for all that wait.
func BenchmarkGroupCommit(b *testing.B) {
	data := bytes.Repeat([]byte("x"), 1024)
	for _, writers := range []int{1, 16} {
		b.Run(fmt.Sprintf("ours/%d", writers), func(b *testing.B) {
			s := openBench(b)
			share(b, writers, func(i int) error {
				return s.Write(b.Context(), fmt.Sprintf("notes/%d/%d.md", i%64, i), data)
			})
		})
		b.Run(fmt.Sprintf("log/%d", writers), func(b *testing.B) {
			log := storetest.NewBareLog(b)
			share(b, writers, func(int) error { return log.Append(data) })
		})
	}
}

// share divides b.N calls among writers.
func share(b *testing.B, writers int, write func(i int) error) {
	b.Helper()
	b.ResetTimer()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := w; i < b.N; i += writers {
				if err := write(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}
