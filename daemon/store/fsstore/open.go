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

// schemaVersion is that of the layout, the only one that this package reads.
const schemaVersion = 2

// open opens the store in dir. wrap, if not nil, returns the disk that the backend uses.
func open(ctx context.Context, dir string, wrap func(disk) disk) (_ *backend, err error) {
	root, err := store.OpenDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	b := &backend{
		home: root, lock: flock.New(filepath.Join(root.Name(), lockFile)),
		pending: store.NewOverlay[*logged](), writable: map[string]bool{}, settling: make(chan struct{}, 1),
	}
	b.disk = &realDisk{home: root, docs: &b.files}
	if wrap != nil {
		b.disk = wrap(b.disk)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.release())
		}
	}()
	if err := ensureDir(root, stateDir); err != nil {
		return nil, err
	}
	if err := b.lockStore(); err != nil {
		return nil, err
	}
	exists, err := store.ReadSchema(root, schemaFile, schemaVersion)
	if err != nil {
		return nil, err
	}
	if err := b.openDocuments(!exists); err != nil {
		return nil, err
	}
	if err := b.openNames(!exists); err != nil {
		return nil, err
	}
	if err := b.repair(); err != nil {
		return nil, err
	}
	if !exists {
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
	b.folder = info
	if b.files.Root, err = b.home.OpenRoot(documentsDir); err != nil {
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
	dir, err := b.files.Root.Open(".")
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
	if err := b.disk.create(stagedFile, fmt.Appendln(nil, schemaVersion), time.Now()); err != nil {
		return err
	}
	b.disk.release()
	if err := b.disk.rename(stagedFile, schemaFile); err != nil {
		return err
	}
	return b.disk.sync()
}
