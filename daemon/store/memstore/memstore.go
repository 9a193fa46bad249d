// Package memstore keeps documents in memory.
package memstore

import (
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

// document is small: there can be many.
type document struct {
	content string
	modTime int64 // Unix nanoseconds
}

var _ store.Backend = (*backend)(nil)

func (b *backend) Read(_ context.Context, path string) ([]byte, error) {
	b.mu.RLock()
	doc, ok := b.docs[path]
	b.mu.RUnlock()
	if !ok {
		return nil, store.ErrNotFound
	}
	return []byte(doc.content), nil
}

// ReadMany implements an optional method of store.Backend. The contents are not copied, so that an
// index of them shares their memory.
func (b *backend) ReadMany(_ context.Context, paths []string, maxBytes int) ([]store.Document, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var docs []store.Document
	size := 0
	for i, path := range paths {
		found := store.Document{FileInfo: store.FileInfo{Path: path}}
		if doc, ok := b.docs[path]; ok {
			found = store.Document{FileInfo: doc.info(path), Content: doc.content, Exists: true}
		}
		if size += len(found.Content); i > 0 && size > maxBytes {
			break
		}
		docs = append(docs, found)
	}
	return docs, nil
}

// Open implements an optional method of store.Backend. The content is not copied.
func (b *backend) Open(_ context.Context, path string) (content io.ReadCloser, size int64, err error) {
	b.mu.RLock()
	doc, ok := b.docs[path]
	b.mu.RUnlock()
	if !ok {
		return nil, 0, store.ErrNotFound
	}
	return io.NopCloser(strings.NewReader(doc.content)), int64(len(doc.content)), nil
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
		b.docs[op.Path] = document{content: string(op.Data), modTime: c.When.UnixNano()}
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
	return store.FileInfo{Path: path, Size: int64(len(d.content)), ModTime: time.Unix(0, d.modTime).UTC()}
}
