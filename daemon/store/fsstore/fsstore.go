// Package fsstore keeps documents as plain files of a directory.
//
// Below that directory, documents holds the documents and .store what the
// package needs for itself, so that no document path can name the latter:
//
//	documents/notes/a.md   the document notes/a.md
//	.store/schema          version of this layout
//	.store/lock            held by the process that has the store open
//	.store/journal         the batch being applied, empty otherwise
//	.store/staged          the document being written
//	.store/undo/           what the batch being applied replaced
package fsstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/gofrs/flock"

	"evalctl/daemon/store"
)

const (
	documentsDir = "documents"
	stateDir     = ".store"
	schemaFile   = stateDir + "/schema"
	lockFile     = stateDir + "/lock"
	journalFile  = stateDir + "/journal"
	stagedFile   = stateDir + "/staged"
	undoDir      = stateDir + "/undo"

	dirMode  = 0o700
	fileMode = 0o600
)

// Open opens the store in dir and creates both when missing. It first finishes
// a batch that a crash interrupted. Only one process can have a store open:
// for any other Open fails. A layout newer than this package knows is
// store.ErrSchemaVersion.
//
// Every mutation is durable when it returns, and a crash at any instant leaves
// all of it or nothing. Files may be read from outside by the path that
// LocalPath gives; only a batch can show such a reader a file in the making.
// Nobody else may change the files. A symbolic link is no document; one that
// leads out of the store cannot be passed.
func Open(ctx context.Context, dir string, opts *store.Options) (*store.Store, error) {
	b, err := open(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	return store.New(b, opts), nil
}

type backend struct {
	dir     string   // absolute
	root    *os.Root // of dir; only for files of .store, and to move files between it and documents
	docs    *os.Root // of documents
	lock    *flock.Flock
	journal *os.File

	// mu is held while a commit changes documents, not while it waits for the
	// disk, and by every read.
	mu sync.RWMutex
	// broken says why the files can no longer be trusted to follow a commit.
	// Opening the store again repairs it. Only Commit uses it.
	broken error
}

var _ store.Backend = (*backend)(nil)

// Read reads a document whole.
func (b *backend) Read(_ context.Context, path string) ([]byte, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	info, err := b.document(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, store.ErrNotFound
	}
	f, err := b.docs.Open(path)
	if err != nil {
		return nil, missing(err)
	}
	data := make([]byte, info.Size())
	_, err = io.ReadFull(f, data)
	return data, errors.Join(err, f.Close())
}

// Stat relies on there being no empty directories.
func (b *backend) Stat(_ context.Context, path string) (store.FileInfo, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	info, err := b.document(path)
	switch {
	case err != nil:
		return store.FileInfo{}, err
	case info.IsDir():
		return store.FileInfo{Path: path, IsDir: true}, nil
	}
	return describe(path, info), nil
}

// List walks the directory.
func (b *backend) List(_ context.Context, dir string) ([]store.FileInfo, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if dir == "" {
		dir = "."
	}
	var files []store.FileInfo
	err := fs.WalkDir(b.docs.FS(), dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || path == dir {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files = append(files, describe(path, info))
		}
		return err
	})
	if err = missing(err); errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return files, err
}

// LocalPath is asserted by store.Store.
func (b *backend) LocalPath(path string) string {
	return filepath.Join(b.dir, documentsDir, filepath.FromSlash(path))
}

// Close lets the next process in last.
func (b *backend) Close() error {
	var errs []error
	if b.journal != nil {
		errs = append(errs, b.journal.Close())
	}
	if b.docs != nil {
		errs = append(errs, b.docs.Close())
	}
	return errors.Join(append(errs, b.root.Close(), b.lock.Close())...)
}

// document describes the regular file or directory at path. Anything else,
// links above all, is refused: it is none of ours.
func (b *backend) document(path string) (fs.FileInfo, error) {
	info, err := b.docs.Lstat(path)
	if err != nil {
		return nil, missing(err)
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, fmt.Errorf("%w: is a %s, not a document", store.ErrInvalidPath, kindOf(info))
	}
	return info, nil
}

func kindOf(info fs.FileInfo) string {
	if info.Mode()&fs.ModeSymlink != 0 {
		return "symbolic link"
	}
	return "special file"
}

func describe(path string, info fs.FileInfo) store.FileInfo {
	return store.FileInfo{Path: path, Size: info.Size(), ModTime: info.ModTime().UTC()}
}

// missing turns what a filesystem says of a path that is not there, or that
// lies below a file, into ErrNotFound.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return store.ErrNotFound
	}
	return err
}

// parent gives the directory of a document, "." at the root, as os.Root wants it.
func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "."
}
