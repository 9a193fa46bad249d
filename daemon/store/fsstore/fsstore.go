// Package fsstore keeps documents as plain files in a directory.
//
// The documents are in the subdirectory documents, and the files of the package itself in .store,
// so no document path can name them:
//
//	documents/notes/a.md   the document notes/a.md
//	.store/schema          version of this layout
//	.store/lock            locked by the process that has the store open
//	.store/journal         the batch being applied, otherwise empty
//	.store/staged          the document being written
//	.store/undo/           documents that the batch being applied has replaced
//	.store/closed          exists while the store is closed, except after a crash; says whether
//	                       there are documents
package fsstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

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
	closedFile   = stateDir + "/closed"
	// notEmpty is the content of closedFile if there are documents.
	notEmpty = "documents\n"

	dirMode  = 0o700
	fileMode = 0o600
)

// Open opens the store in dir, and creates the directory and the store if they do not exist. If a
// crash has interrupted a batch, Open finishes it. Open fails if the store is already open, in
// this or in another process, which is store.ErrLocked. A layout that is newer than this package
// supports is store.ErrSchemaVersion, and documents that have vanished are store.ErrDamaged.
//
// Every mutation is durable when it returns. A crash at any instant leaves all of it or none of
// it. A mutation that fails leaves the documents unchanged. If it cannot be rolled back, the
// store rejects further writes, and the next Open finishes the batch.
//
// Other programs may read the files that LocalPath names, but must not change them. During a
// batch they can see files that are not yet complete. Symbolic links are not documents and are
// not followed.
func Open(ctx context.Context, dir string, opts *store.Options) (*store.Store, error) {
	b, err := open(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	return store.New(b, opts), nil
}

type backend struct {
	store.Files // of documents

	home    *os.Root // of the store; for files in .store, and for moving files to and from documents
	lock    *flock.Flock
	journal *os.File
	// documents is the folder of the documents when it was opened.
	documents os.FileInfo

	// broken is the error after which the files may differ from what was committed, or nil.
	// Reopening the store repairs them. Only Commit and Replaced set it.
	broken error
}

var _ store.Backend = (*backend)(nil)

// LocalPath implements an optional method of store.Backend.
func (b *backend) LocalPath(path string) string {
	return filepath.Join(b.home.Name(), documentsDir, filepath.FromSlash(path))
}

// Broken implements an optional method of store.Backend.
func (b *backend) Broken() bool { return b.broken != nil }

// Replaced implements an optional method of store.Backend: the folder of the documents was deleted,
// unmounted or exchanged.
func (b *backend) Replaced() bool {
	now, err := os.Lstat(filepath.Join(b.home.Name(), documentsDir))
	if b.broken != nil || err == nil && os.SameFile(now, b.documents) {
		return b.broken != nil
	}
	b.broken = fmt.Errorf("%w: the folder %s was replaced; reopen the store", store.ErrReadOnly, documentsDir)
	// An empty folder in its place must not be taken for an empty store. If this fails, so does
	// opening the store, or the folder of the whole store has gone.
	_ = b.home.WriteFile(closedFile, []byte(notEmpty), fileMode)
	return true
}

// Close releases the lock last.
func (b *backend) Close() error {
	if b.broken == nil {
		// Without this file the next Open only takes longer.
		state := notEmpty
		if empty, err := b.isEmpty(); err == nil && empty {
			state = ""
		}
		_ = b.home.WriteFile(closedFile, []byte(state), fileMode)
	}
	return b.release()
}

func (b *backend) release() error {
	var errs []error
	if b.journal != nil {
		errs = append(errs, b.journal.Close())
	}
	if b.Root != nil {
		errs = append(errs, b.Root.Close())
	}
	return errors.Join(append(errs, b.home.Close(), b.lock.Close())...)
}
