// Package memstore keeps documents in memory.
package memstore

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"evalctl/daemon/store"
)

// Open returns an empty store. Its content is lost when it is closed. It has no versions and no
// local paths.
func Open(opts *store.Options) *store.Store {
	return store.New(&backend{docs: map[string]document{}, dirs: map[string]int{}}, opts)
}

type backend struct {
	mu   sync.RWMutex
	docs map[string]document
	dirs map[string]int // number of documents below each directory
}

type document struct {
	data    []byte
	modTime time.Time
}

var _ store.Backend = (*backend)(nil)

func (b *backend) Read(_ context.Context, path string) ([]byte, error) {
	b.mu.RLock()
	doc, ok := b.docs[path]
	b.mu.RUnlock()
	if !ok {
		return nil, store.ErrNotFound
	}
	// Copied outside the lock, because a commit replaces documents and never changes their bytes.
	return append([]byte{}, doc.data...), nil
}

// Open implements an optional method of store.Backend. The content is not copied; see Read.
func (b *backend) Open(_ context.Context, path string) (content io.ReadCloser, size int64, err error) {
	b.mu.RLock()
	doc, ok := b.docs[path]
	b.mu.RUnlock()
	if !ok {
		return nil, 0, store.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader(doc.data)), int64(len(doc.data)), nil
}

func (b *backend) Stat(_ context.Context, path string) (store.FileInfo, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if doc, ok := b.docs[path]; ok {
		return doc.info(path), nil
	}
	if b.dirs[path] > 0 {
		return store.FileInfo{Path: path, IsDir: true}, nil
	}
	return store.FileInfo{}, store.ErrNotFound
}

func (b *backend) List(_ context.Context, dir string) ([]store.FileInfo, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var files []store.FileInfo
	for path, doc := range b.docs {
		if dir == "" || strings.HasPrefix(path, dir+"/") {
			files = append(files, doc.info(path))
		}
	}
	return files, nil
}

func (b *backend) Commit(_ context.Context, c store.Commit) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, op := range c.Ops {
		_, existed := b.docs[op.Path]
		if op.Kind == store.OpDelete {
			delete(b.docs, op.Path)
			b.count(op.Path, -1)
			continue
		}
		b.docs[op.Path] = document{data: bytes.Clone(op.Data), modTime: c.When}
		if !existed {
			b.count(op.Path, +1)
		}
	}
	return nil
}

// count adds n to the number of documents in each directory above path.
func (b *backend) count(path string, n int) {
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		b.dirs[path[:i]] += n
		if b.dirs[path[:i]] == 0 {
			delete(b.dirs, path[:i])
		}
	}
}

// Close drops the documents.
func (b *backend) Close() error {
	b.docs, b.dirs = nil, nil
	return nil
}

func (d document) info(path string) store.FileInfo {
	return store.FileInfo{Path: path, Size: int64(len(d.data)), ModTime: d.modTime}
}
