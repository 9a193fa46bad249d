package fsstore

import (
	"bytes"
	"context"
	"io"
	"time"

	"evalctl/daemon/store"
)

// logEntry is a document, or a deletion, in a log.
type logEntry struct {
	loggedOp
	log  *log
	when time.Time
	data []byte // the document, if log is nil
}

// Now implements store.Change.
func (d *logEntry) Now() (info store.FileInfo, deleted bool) {
	return store.FileInfo{Path: d.path, Size: d.size, ModTime: d.when}, d.deleted
}

// content reads the document.
func (d *logEntry) content() ([]byte, error) {
	if d.log == nil {
		return d.data, nil
	}
	return d.log.content(d.offset, d.size)
}

// Read implements store.Backend.
func (b *backend) Read(ctx context.Context, path string) ([]byte, error) {
	content, size, err := b.Open(ctx, path)
	if read, ok := content.(*readContent); ok {
		return read.data, err
	}
	return store.ReadOpened(content, size, err)
}

// readContent is a content that was read as a whole.
type readContent struct {
	bytes.Reader
	data []byte
}

func (*readContent) Close() error { return nil }

// largeSize is the size from which on a document is written to its file before it is read.
const largeSize = 1 << 20

// Open implements an optional method of store.Backend. A document in a log is read as a whole,
// because the log changes.
func (b *backend) Open(_ context.Context, path string) (content io.ReadCloser, size int64, err error) {
	b.files.RLock()
	if doc, ok := b.pending.Docs[path]; ok && doc.size >= largeSize {
		b.files.RUnlock()
		_ = b.settle() // if it fails, the next write reports it
		b.files.RLock()
	}
	defer b.files.RUnlock()
	if doc, ok := b.pending.Docs[path]; ok && !doc.deleted {
		data, err := doc.content()
		return &readContent{*bytes.NewReader(data), data}, doc.size, err
	}
	if _, ok, _ := b.pending.Find(path); ok {
		return nil, 0, store.ErrNotFound
	}
	return b.files.OpenLocked(path)
}

// Stat implements store.Backend. It leaves the time of a directory to the store.
func (b *backend) Stat(_ context.Context, path string) (store.FileInfo, error) {
	b.files.RLock()
	defer b.files.RUnlock()
	return b.pending.Stat(path, b.files.StatLocked, b.files.ListLocked)
}

// Skipped implements an optional method of store.Backend.
func (b *backend) Skipped(ctx context.Context) (store.Skips, error) { return b.files.Skipped(ctx) }

// NoteUnread implements an optional method of store.Backend.
func (b *backend) NoteUnread(path string, err error) { b.files.NoteUnread(path, err) }

// List implements store.Backend.
func (b *backend) List(_ context.Context, dir string) ([]store.FileInfo, error) {
	b.files.RLock()
	defer b.files.RUnlock()
	return b.pending.List(dir, b.files.ListLocked)
}
