package fsstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"evalctl/daemon/store"
)

// schemaVersion is increased when older versions of the package cannot read the layout.
const schemaVersion = 1

func open(ctx context.Context, dir string) (_ *backend, err error) {
	root, err := store.OpenDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	b := &backend{home: root, lock: flock.New(filepath.Join(root.Name(), lockFile))}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.release())
		}
	}()
	for _, name := range []string{stateDir, undoDir} {
		if err := ensureDir(root, name); err != nil {
			return nil, err
		}
	}
	if err := b.lockStore(); err != nil {
		return nil, err
	}
	version, err := store.ReadSchema(root, schemaFile, schemaVersion)
	if err != nil {
		return nil, err
	}
	if err := b.openDocuments(version == 0); err != nil {
		return nil, err
	}
	if b.journal, err = root.OpenFile(journalFile, os.O_RDWR|os.O_CREATE, fileMode); err != nil {
		return nil, err
	}
	if err := b.repair(); err != nil {
		return nil, err
	}
	if version == 0 {
		err = b.writeSchema()
	}
	return b, err
}

// openDocuments opens the folder of the documents. It creates it for a new store only: that the
// folder of an older one is missing, or that all of it is, is an accident more often than intended,
// such as a volume that is not mounted.
func (b *backend) openDocuments(isNew bool) error {
	if isNew {
		if err := ensureDir(b.home, documentsDir); err != nil {
			return err
		}
	}
	info, err := b.home.Lstat(documentsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return store.Damaged(nil, "the folder %s of the store is missing: restore or mount it, then try again", documentsDir)
	}
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", documentsDir)
	}
	if err != nil {
		return err
	}
	b.documents = info
	if b.Root, err = b.home.OpenRoot(documentsDir); err != nil {
		return err
	}
	closed, err := b.home.ReadFile(closedFile)
	if err != nil || string(closed) != notEmpty {
		return nil // a new store, a crash, or an empty store
	}
	empty, err := b.isEmpty()
	if err == nil && empty {
		err = store.Damaged(nil, "the folder %s of the store is empty, but there were documents in it when the "+
			"store was last used: restore or mount it; or, if they were deleted on purpose, delete %s of the store too",
			documentsDir, closedFile)
	}
	return err
}

// isEmpty reports whether there is nothing in the folder of the documents.
func (b *backend) isEmpty() (bool, error) {
	dir, err := b.Root.Open(".")
	if err != nil {
		return false, err
	}
	names, err := dir.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return len(names) == 0, errors.Join(err, dir.Close())
}

// ensureDir creates a directory if it does not exist. A link is an error, because it could make a
// document path lead to the store's own files.
func ensureDir(root *os.Root, name string) error {
	if err := root.Mkdir(name, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", name)
	}
	return err
}

func (b *backend) lockStore() error {
	locked, err := b.lock.TryLock()
	if err == nil && !locked {
		err = store.Locked(nil, "the store is in use by another process or another open store; close it first")
	}
	return err
}

// writeSchema is the last step of creating a store. It also syncs the new directories, including
// the parents of the store.
func (b *backend) writeSchema() error {
	if err := b.stage(fmt.Appendln(nil, schemaVersion), time.Now()); err != nil {
		return err
	}
	if err := b.home.Rename(stagedFile, schemaFile); err != nil {
		return err
	}
	return syncAll(b)
}

// repair finishes the batch in the journal, if there is one, and removes what a crash has left
// behind.
func (b *backend) repair() error {
	entry, ok, err := readJournal(b.journal)
	if err != nil {
		return err
	}
	if ok {
		if _, err := b.apply(entry); err != nil {
			return fmt.Errorf("finish interrupted batch: %w", err)
		}
		if err := syncAll(b); err != nil {
			return err
		}
	}
	if err := b.clearJournal(); err != nil {
		return err
	}
	if err := b.home.Remove(stagedFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := b.home.RemoveAll(undoDir); err != nil {
		return err
	}
	if err := b.home.Mkdir(undoDir, dirMode); err != nil {
		return err
	}
	err = b.home.Remove(closedFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = b.PruneTree() // walks the whole tree, which is needed only after a crash
	}
	if err != nil {
		return err
	}
	return syncDir(b.home, stateDir)
}
