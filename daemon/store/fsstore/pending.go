package fsstore

import (
	"bytes"
	"context"
	"io"
	"strings"
	"time"

	"evalctl/daemon/store"
)

// pending has what the logs say about documents that are not in their files.
type pending struct {
	docs map[string]*logged
	// For each directory, the numbers of documents and of deletions in docs below it.
	written, deleted map[string]int
}

// logged is a document, or a deletion, in a log.
type logged struct {
	loggedOp
	log  *log
	when time.Time
}

func newPending() pending {
	return pending{docs: map[string]*logged{}, written: map[string]int{}, deleted: map[string]int{}}
}

func (p *pending) has(path string) bool {
	_, ok := p.docs[path]
	return ok
}

// put replaces what is known of a document.
func (p *pending) put(doc *logged) {
	p.remove(doc.path)
	p.docs[doc.path] = doc
	p.count(doc, +1)
}

func (p *pending) remove(path string) {
	if old, ok := p.docs[path]; ok {
		delete(p.docs, path)
		p.count(old, -1)
	}
}

func (p *pending) count(doc *logged, n int) {
	counts := p.written
	if doc.deleted {
		counts = p.deleted
	}
	for dir := store.FileDir(doc.path); dir != "."; dir = store.FileDir(dir) {
		if counts[dir] += n; counts[dir] == 0 {
			delete(counts, dir)
		}
	}
}

func (d *logged) info() store.FileInfo {
	return store.FileInfo{Path: d.path, Size: d.size, ModTime: d.when}
}

// content reads the document.
func (d *logged) content() ([]byte, error) { return d.log.content(d.offset, d.size) }

// Read implements store.Backend.
func (b *backend) Read(ctx context.Context, path string) ([]byte, error) {
	file, size, err := b.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	_, err = io.ReadFull(file, data)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return data, err
}

// largeSize is the size from which on a document is written to its file before it is read.
const largeSize = 1 << 20

// Open implements an optional method of store.Backend. A document that is in a log is read as a
// whole, because the log changes.
func (b *backend) Open(_ context.Context, path string) (content io.ReadCloser, size int64, err error) {
	b.files.RLock()
	if doc, ok := b.pending.docs[path]; ok && doc.size >= largeSize {
		b.files.RUnlock()
		_ = b.settle() // if it fails, the next write reports it
		b.files.RLock()
	}
	defer b.files.RUnlock()
	doc, ok := b.pending.docs[path]
	switch {
	case ok && !doc.deleted:
		data, err := doc.content()
		return io.NopCloser(bytes.NewReader(data)), doc.size, err
	case ok || b.pending.written[path] > 0:
		return nil, 0, store.ErrNotFound
	}
	return b.files.OpenLocked(path)
}

// Stat implements store.Backend. It leaves the time of a directory to the store. Every mutation is
// planned with it, so a path that no file can have is rejected before it is in a commit with others.
func (b *backend) Stat(_ context.Context, path string) (store.FileInfo, error) {
	if err := b.checkNames(path); err != nil {
		return store.FileInfo{}, err
	}
	b.files.RLock()
	defer b.files.RUnlock()
	directory := store.FileInfo{Path: path, IsDir: true}
	doc, ok := b.pending.docs[path]
	switch {
	case ok && !doc.deleted:
		return doc.info(), nil
	case b.pending.written[path] > 0:
		return directory, nil
	case ok:
		return store.FileInfo{}, store.ErrNotFound
	}
	info, err := b.files.StatLocked(path)
	if err != nil || !info.IsDir || b.pending.deleted[path] == 0 {
		return info, err
	}
	left, err := b.list(path)
	if err == nil && len(left) == 0 {
		err = store.ErrNotFound
	}
	return directory, err
}

// List implements store.Backend.
func (b *backend) List(_ context.Context, dir string) ([]store.FileInfo, error) {
	b.files.RLock()
	defer b.files.RUnlock()
	return b.list(dir)
}

// list is List for a caller that holds the lock.
func (b *backend) list(dir string) ([]store.FileInfo, error) {
	found, err := b.files.ListLocked(dir)
	if err != nil || len(b.pending.docs) == 0 {
		return found, err
	}
	kept := found[:0]
	for _, f := range found {
		if !b.pending.has(f.Path) {
			kept = append(kept, f)
		}
	}
	for path, doc := range b.pending.docs {
		if !doc.deleted && (dir == "" || strings.HasPrefix(path, dir+"/")) {
			kept = append(kept, doc.info())
		}
	}
	return kept, nil
}
