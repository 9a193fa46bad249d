package memstore_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"evalctl/daemon/store/memstore"
)

// The benchmarks compare the store with a locked map of copied documents.

func BenchmarkWrite(b *testing.B) {
	data := bytes.Repeat([]byte("x"), 1024)
	paths := benchPaths()
	b.Run("memstore", func(b *testing.B) {
		s := memstore.Open(nil)
		defer s.Close()
		for i := 0; b.Loop(); i++ {
			if err := s.Write(b.Context(), paths[i%len(paths)], data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("map", func(b *testing.B) {
		var mu sync.RWMutex
		m := map[string][]byte{}
		for i := 0; b.Loop(); i++ {
			mu.Lock()
			m[paths[i%len(paths)]] = bytes.Clone(data)
			mu.Unlock()
		}
	})
}

func BenchmarkRead(b *testing.B) {
	data := bytes.Repeat([]byte("x"), 1024)
	paths := benchPaths()
	b.Run("memstore", func(b *testing.B) {
		s := memstore.Open(nil)
		defer s.Close()
		for _, path := range paths {
			if err := s.Write(b.Context(), path, data); err != nil {
				b.Fatal(err)
			}
		}
		for i := 0; b.Loop(); i++ {
			if _, err := s.Read(b.Context(), paths[i%len(paths)]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("map", func(b *testing.B) {
		var mu sync.RWMutex
		m := map[string][]byte{}
		for _, path := range paths {
			m[path] = data
		}
		for i := 0; b.Loop(); i++ {
			mu.RLock()
			_ = bytes.Clone(m[paths[i%len(paths)]])
			mu.RUnlock()
		}
	})
}

func benchPaths() []string {
	var paths []string
	for i := range 1024 {
		paths = append(paths, fmt.Sprintf("notes/%d/%d.md", i%10, i))
	}
	return paths
}
