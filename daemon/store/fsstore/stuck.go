package fsstore

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"evalctl/daemon/store"
)

// stuckError is why documents of so many bytes cannot be written to their files, although others
// can. Such documents are read from the log, and stay there.
type stuckError struct {
	error
	bytes int64
}

func (e stuckError) Unwrap() error { return e.error }

func isStuck(err error) bool {
	_, ok := errors.AsType[stuckError](err)
	return ok
}

// isOfOneDocument reports whether an error is due to the name or the folder of a document.
func isOfOneDocument(err error) bool {
	for _, of := range []error{
		fs.ErrPermission, fs.ErrExist, syscall.EINVAL, syscall.ENAMETOOLONG, syscall.EILSEQ, syscall.ELOOP, syscall.ENOTDIR,
		syscall.EISDIR, syscall.ENOTEMPTY, syscall.EFBIG, store.ErrInvalidPath,
	} {
		if errors.Is(err, of) {
			return true
		}
	}
	return false
}

// carry copies the stuck documents of a log to the other log, so that the log can be emptied.
func (b *backend) carry(l *log) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, doc := range b.waiting() {
		if doc.log != l {
			continue
		}
		op := store.Op{Kind: store.OpDelete, Path: doc.path}
		if !doc.deleted {
			data, err := doc.content()
			if err != nil {
				return err
			}
			op.Kind, op.Data = store.OpWrite, data
		}
		ops, unclear, err := b.active.append(b.number+1, doc.when, []store.Op{op}, []fileSum{doc.before})
		if unclear {
			b.broken = fmt.Errorf("%w: an earlier commit failed: %w; reopen the store to repair it", store.ErrReadOnly, err)
		}
		if err != nil {
			return err
		}
		b.number++
		b.files.Lock()
		b.pending.Put(doc.path, &logEntry{loggedOp: ops[0], log: b.active, when: doc.when})
		b.files.Unlock()
	}
	return nil
}

// checkWritable rejects a document in a folder that the daemon may not write to, before the
// document is in the log. It checks each folder once.
func (b *backend) checkWritable(path string) error {
	dir := store.FileDir(path)
	if b.writable[dir] {
		return nil
	}
	b.files.RLock()
	defer b.files.RUnlock()
	at := "."
	for d := dir; d != "."; d = store.FileDir(d) {
		if file, info, err := b.files.Lookup(d); err == nil && info.IsDir() {
			at = file
			break
		}
	}
	if err := mayWrite(filepath.Join(b.home.Name(), documentsDir, at)); err != nil {
		return fmt.Errorf("%w: the daemon may not write to the folder %s of the documents (%w)", store.ErrInvalidPath, at, err)
	}
	if len(b.writable) > maxWritable {
		clear(b.writable)
	}
	b.writable[dir] = true
	return nil
}

// maxWritable is the most folders that are remembered.
const maxWritable = 1 << 14
