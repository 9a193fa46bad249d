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
//	.store/closed          there while the store is closed, unless by a crash
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

	dirMode  = 0o700
	fileMode = 0o600
)

// Open opens the store in dir and creates both when missing. It first finishes
// a batch that a crash interrupted. Only one process can have a store open:
// for any other Open fails. A layout newer than this package knows is
// store.ErrSchemaVersion.
//
// Every mutation is durable when it returns, and a crash at any instant leaves
// all of it or nothing. An error leaves the documents as they were; where even
// that fails, the store takes no more writes, and the next Open finishes the
// batch. Files may be read from outside by the path that LocalPath gives; only a
// batch can show such a reader a file in the making. Nobody else may change the
// files. A symbolic link is no document; one that leads out of the store cannot
// be passed.
func Open(ctx context.Context, dir string, opts *store.Options) (*store.Store, error) {
	b, err := open(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	return store.New(b, opts), nil
}

type backend struct {
	store.Files // of documents

	dir     string   // absolute
	home    *os.Root // of dir; only for files of .store, and to move files between it and documents
	lock    *flock.Flock
	journal *os.File

	// broken says why the files can no longer be trusted to follow a commit.
	// Opening the store again repairs it. Only Commit uses it.
	broken error
}

var _ store.Backend = (*backend)(nil)

// LocalPath is asserted by store.Store.
func (b *backend) LocalPath(path string) string {
	return filepath.Join(b.dir, documentsDir, filepath.FromSlash(path))
}

// Broken is asserted by store.Store.
func (b *backend) Broken() bool { return b.broken != nil }

// Close lets the next process in last.
func (b *backend) Close() error {
	if b.broken == nil {
		// Without it the next Open only takes longer.
		_ = b.home.WriteFile(closedFile, nil, fileMode)
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
