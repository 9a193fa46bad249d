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

// schemaVersion is the version of the layout. It is increased when older versions of the package
// cannot read the layout. Open converts all older ones, see upgrade.
const schemaVersion = 3

// open opens the store in dir. wrap, if not nil, returns the disk that the backend uses.
func open(ctx context.Context, dir string, opts *store.Options, wrap func(disk) disk) (_ *backend, err error) {
	root, err := store.OpenDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	o := opts.Complete()
	b := &backend{
		logger: o.Logger.With("store", root.Name()), now: o.Now,
		home: root, lock: flock.New(filepath.Join(root.Name(), lockFile)),
		pending: store.NewOverlay[*logEntry](), writable: map[string]bool{}, settling: make(chan struct{}, 1),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.release())
		}
	}()
	if b.top, err = root.Open("."); err != nil {
		return nil, err
	}
	b.disk = &realDisk{home: root, top: b.top, docs: &b.files}
	if wrap != nil {
		b.disk = wrap(b.disk)
	}
	if err := ensureDir(root, stateDir); err != nil {
		return nil, err
	}
	if err := b.lockStore(); err != nil {
		return nil, err
	}
	version, err := store.ReadSchema(root, schemaFile, schemaVersion)
	if err != nil {
		return nil, err
	}
	closed, err := b.openDocuments(version == 0)
	if err != nil {
		return nil, err
	}
	if err := b.openNames(version); err != nil {
		return nil, err
	}
	if err := b.repair(version, closed); err != nil {
		if damage, ok := errors.AsType[*logError](err); ok {
			err = store.Damaged(nil, "%v. There were writes in it that are not in the files of the documents yet. Restore the "+
				"store from a backup, or copy out what can be read with evalctl serve --salvage", damage)
		}
		return nil, err
	}
	if version != schemaVersion {
		if err := b.writeSchema(); err != nil {
			return nil, err
		}
	}
	if err := b.home.Remove(encodingFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return b, nil
}

// repair recovers from a crash: it writes the documents of the logs to their files, and removes
// leftover files.
func (b *backend) repair(version int, closed bool) (err error) {
	switch version {
	case 0:
		err = b.createLogs()
	case schemaVersion:
		err = b.openLogs(closed)
	default:
		err = b.upgrade()
	}
	if err != nil {
		return err
	}
	if err := b.home.Remove(stagedFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = b.home.Remove(closedFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = b.files.PruneTree() // walks the whole tree, which is needed only after a crash
	}
	if err != nil {
		return err
	}
	return syncDir(b.home, stateDir)
}

// createLogs creates the logs of a new store, or again if that was interrupted.
func (b *backend) createLogs() (err error) {
	for i, l := range []**log{&b.active, &b.spare} {
		if *l, err = newLog(b.disk, logFiles[i]); err != nil {
			return err
		}
		if c, err := readLog(*l); len(c.records) > 0 || c.headers > 0 && err != nil {
			return store.Damaged(err, "the file %s of the store is missing, but %s has writes: restore the store from a "+
				"backup, or copy out what can be read with evalctl serve --salvage", schemaFile, logFiles[i])
		}
		if err := (*l).create(); err != nil {
			return err
		}
	}
	return nil
}

// openDocuments opens the folder of the documents. It creates the folder only for a new store: if
// an older store, or its folder, is missing, the cause is more often an accident, such as a volume
// that is not mounted. closed reports whether the store was closed.
func (b *backend) openDocuments(isNew bool) (closed bool, err error) {
	if isNew {
		if err := ensureDir(b.home, documentsDir); err != nil {
			return false, err
		}
	}
	info, err := b.home.Lstat(documentsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, store.Damaged(nil, "the folder %s of the store is missing: restore or mount it, then try again", documentsDir)
	}
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", documentsDir)
	}
	if err != nil {
		return false, err
	}
	b.folder = info
	if b.files.Root, err = b.home.OpenRoot(documentsDir); err != nil {
		return false, err
	}
	state, err := b.home.ReadFile(closedFile)
	if err != nil || len(state) == 0 {
		return false, nil // a new store, or a crash
	}
	if string(state) == noDocuments {
		return true, nil
	}
	empty, err := b.isEmpty()
	if err == nil && empty {
		err = store.Damaged(nil, "the folder %s of the store is empty, but there were documents in it when the "+
			"store was last used: restore or mount it; or, if they were deleted on purpose, delete %s of the store too",
			documentsDir, closedFile)
	}
	return string(state) == notEmpty, err
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

// writeSchema is the last step of creating a store, or of converting one. It also syncs the new
// directories, including the parents of the store.
func (b *backend) writeSchema() error {
	if err := b.disk.create(stagedFile, fmt.Appendln(nil, schemaVersion), time.Now()); err != nil {
		return err
	}
	b.disk.release()
	// Before the file gets its name: if this fails, the next Open must not take it for complete.
	if err := b.disk.sync(); err != nil {
		return err
	}
	if err := b.disk.rename(stagedFile, schemaFile); err != nil {
		return err
	}
	return syncDir(b.home, stateDir)
}
