package fsstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
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
		if err := syncDir(b.Root, dir); err != nil {
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
	if err := syncDir(b.Root, dir); err != nil {
		return b.fail(err)
	}
	return nil
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
	done, err := b.apply(e)
	if err != nil {
		// Before the journal is gone: a crash while undoing finishes the batch.
		if undoErr := b.undo(e.Ops[:done]); undoErr != nil {
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
	if err := b.checkpoint(); err != nil {
		_ = b.fail(err) // told to the next one
	}
	return nil
}

// checkpoint brings the applied batch to disk and empties the journal.
func (b *backend) checkpoint() error {
	if err := syncAll(b); err != nil {
		return err
	}
	if err := store.EmptyDir(b.home, undoDir); err != nil {
		return err
	}
	return b.clearJournal()
}

// apply carries out a batch and can be repeated after having been interrupted.
// What it replaces is moved aside. done is how many operations there are to
// undo, including one that failed half-way.
func (b *backend) apply(e entry) (done int, err error) {
	last := &folder{docs: b.Root}
	defer last.close()
	for i, op := range e.Ops {
		if op.Kind == store.OpDelete {
			if err := b.setAside(i, op); err != nil {
				return i, err
			}
			b.Prune(store.FileDir(op.Path))
			continue
		}
		err := last.create(op.Path, op.Data, e.When)
		if errors.Is(err, fs.ErrExist) {
			if err := b.setAside(i, op); err != nil {
				return i, err
			}
			err = last.create(op.Path, op.Data, e.When)
		}
		if err != nil {
			return i + 1, err
		}
	}
	return len(e.Ops), nil
}

func (b *backend) setAside(i int, op store.Op) error {
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
	return b.home.Rename(documentsDir+"/"+op.Path, undoFile(i))
}

// undo takes back the operations, last one first.
func (b *backend) undo(ops []store.Op) error {
	for i := len(ops) - 1; i >= 0; i-- {
		op := ops[i]
		if op.Kind == store.OpWrite {
			if err := b.Root.Remove(op.Path); err != nil && !store.IsNotFound(store.NoFile(err)) {
				return err
			}
			b.Prune(store.FileDir(op.Path))
		}
		if _, err := b.home.Lstat(undoFile(i)); err != nil {
			continue // there was nothing to set aside
		}
		if err := b.Root.MkdirAll(store.FileDir(op.Path), dirMode); err != nil {
			return err
		}
		if err := b.home.Rename(undoFile(i), documentsDir+"/"+op.Path); err != nil {
			return err
		}
	}
	return nil
}

func undoFile(i int) string { return path.Join(undoDir, strconv.Itoa(i)) }
