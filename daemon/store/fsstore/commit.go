package fsstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"evalctl/daemon/store"
)

// Commit writes a single document by staging it; anything larger goes through
// the journal.
func (b *backend) Commit(_ context.Context, c store.Commit) error {
	if b.broken != nil {
		return b.broken
	}
	if len(c.Ops) > 1 {
		return b.commitBatch(entry{When: c.When, Ops: c.Ops})
	}
	if op := c.Ops[0]; op.Kind == store.OpDelete {
		return b.deleteOne(op.Path)
	}
	return b.writeOne(c.Ops[0], c.When)
}

// fail makes later commits fail until the store is opened again.
func (b *backend) fail(err error) error {
	b.broken = fmt.Errorf("%w: an earlier commit hit %w; open the store again to repair it", store.ErrReadOnly, err)
	return err
}

func (b *backend) writeOne(op store.Op, when time.Time) error {
	if err := b.stage(op.Data, when); err != nil {
		return errors.Join(err, b.unstage())
	}
	target := documentsDir + "/" + op.Path
	dir := store.FileDir(op.Path)
	top := dir // up to here directories have to be synced

	b.Lock()
	err := b.home.Rename(stagedFile, target)
	if errors.Is(err, fs.ErrNotExist) {
		top = b.existing(dir)
		if err = b.Root.MkdirAll(dir, dirMode); err == nil {
			err = b.home.Rename(stagedFile, target)
		}
		if err != nil {
			b.Prune(dir)
		}
	}
	b.Unlock()
	if err != nil {
		return errors.Join(err, b.unstage())
	}
	for ; ; dir = store.FileDir(dir) {
		if err := b.syncDir(dir); err != nil {
			return b.fail(err)
		}
		if dir == top {
			return nil
		}
	}
}

// stage writes and syncs a file that is not yet a document.
func (b *backend) stage(data []byte, when time.Time) error {
	f, err := b.home.OpenFile(stagedFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = b.home.Chtimes(stagedFile, when, when)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (b *backend) unstage() error {
	err := b.home.Remove(stagedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (b *backend) deleteOne(path string) error {
	b.Lock()
	err := b.Root.Remove(path)
	var dir string
	if err == nil {
		dir = b.Prune(store.FileDir(path))
	}
	b.Unlock()
	if err != nil {
		return store.NoFile(err)
	}
	if err := b.syncDir(dir); err != nil {
		return b.fail(err)
	}
	return nil
}

// syncDir makes the entries of a directory of documents durable. They have changed
// already, so it must not fail for want of a descriptor, which syncAll does
// without where it can.
func (b *backend) syncDir(dir string) error {
	f, err := b.Root.Open(dir)
	if err != nil {
		return syncAll(b)
	}
	return errors.Join(f.Sync(), f.Close())
}

// existing gives the nearest directory, from dir upwards, that there is.
func (b *backend) existing(dir string) string {
	for dir != "." {
		if _, err := b.Root.Lstat(dir); err == nil {
			break
		}
		dir = store.FileDir(dir)
	}
	return dir
}

// commitBatch is committed once the journal is on disk: from there a crash
// leads to repair. An error until then, or one while the operations are
// applied, leaves everything as it was.
func (b *backend) commitBatch(e entry) error {
	if err := writeJournal(b.journal, e); err != nil {
		if clearErr := b.clearJournal(); clearErr != nil {
			return b.fail(errors.Join(err, clearErr))
		}
		return err
	}
	b.Lock()
	undo, err := b.apply(e)
	if err != nil {
		// Before the journal is gone: a crash while undoing finishes the batch.
		if undoErr := undo.Run(); undoErr != nil {
			err = b.fail(errors.Join(err, undoErr))
		}
	}
	b.Unlock()
	if b.broken != nil {
		return err
	}
	if err != nil {
		if clearErr := b.clearJournal(); clearErr != nil {
			return b.fail(errors.Join(err, clearErr))
		}
		return err
	}
	// The batch is durable by its journal even if this goes wrong, but the
	// next commit must not find the journal in use.
	if err := b.checkpoint(undo); err != nil {
		_ = b.fail(err) // told to the next one
	}
	return nil
}

// checkpoint brings the applied batch to disk and empties the journal.
func (b *backend) checkpoint(undo *store.Undo) error {
	if err := syncAll(b); err != nil {
		return err
	}
	if err := undo.Discard(); err != nil {
		return err
	}
	return b.clearJournal()
}

// apply carries out a batch and can be repeated after having been interrupted.
// What it replaces is moved aside. After an error everything done is in undo.
func (b *backend) apply(e entry) (undo *store.Undo, err error) {
	undo = &store.Undo{Files: &b.Files, BackupDir: filepath.Join(b.dir, undoDir)}
	last := &folder{docs: b.Root}
	defer last.close()
	for i, op := range e.Ops {
		if op.Kind == store.OpDelete {
			if err = b.backUp(undo, i, op); err == nil {
				b.Prune(store.FileDir(op.Path))
			}
		} else {
			err = b.put(last, undo, i, op, e.When)
		}
		if err != nil {
			return undo, err
		}
	}
	return undo, nil
}

// put writes a document of a batch, whether there is one or not.
func (b *backend) put(last *folder, undo *store.Undo, i int, op store.Op, when time.Time) error {
	created, err := last.create(op.Path, op.Data, when)
	if errors.Is(err, fs.ErrExist) {
		if err := b.backUp(undo, i, op); err != nil {
			return err
		}
		created, err = last.create(op.Path, op.Data, when)
	}
	switch {
	case created:
		undo.Created(op.Path)
	case err != nil:
		b.Prune(store.FileDir(op.Path)) // what was made on the way
	}
	return err
}

func (b *backend) backUp(undo *store.Undo, i int, op store.Op) error {
	info, err := b.Root.Lstat(op.Path)
	switch {
	case store.IsNotFound(store.NoFile(err)):
		return nil
	case err != nil:
		return err
	case info.IsDir() && op.Kind == store.OpDelete:
		// Repeated: the document has since given way to a directory.
		return nil
	case info.IsDir():
		return &store.Error{Op: "replace", Path: op.Path, Err: errors.New("is a directory")}
	}
	if err := b.home.Rename(documentsDir+"/"+op.Path, path.Join(undoDir, strconv.Itoa(i))); err != nil {
		return err
	}
	undo.BackedUp(op.Path, i)
	return nil
}
