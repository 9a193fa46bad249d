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

// Commit implements store.Backend. A single write is staged and renamed, a single delete needs no
// preparation, and several operations go through the journal.
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

// markBroken makes later commits fail until the store is reopened. It returns err.
func (b *backend) markBroken(err error) error {
	b.broken = fmt.Errorf("%w: an earlier commit failed: %w; reopen the store to repair it", store.ErrReadOnly, err)
	return err
}

func (b *backend) writeOne(op store.Op, when time.Time) error {
	if err := b.stage(op.Data, when); err != nil {
		return errors.Join(err, b.unstage())
	}
	target := documentsDir + "/" + op.Path
	dir := store.FileDir(op.Path)
	top := dir // the last directory upwards from dir whose entries change

	b.Lock()
	err := b.home.Rename(stagedFile, target)
	if errors.Is(err, fs.ErrNotExist) {
		top = b.nearestDir(dir)
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
			return b.markBroken(err)
		}
		if dir == top {
			return nil
		}
	}
}

// stage writes and syncs the content of a document to stagedFile.
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

// unstage removes stagedFile if it exists.
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
		return b.markBroken(err)
	}
	return nil
}

// syncDir makes the entries of a directory of documents durable. They have changed already, so it
// must not fail for lack of a file descriptor. On Linux syncAll needs none.
func (b *backend) syncDir(dir string) error {
	f, err := b.Root.Open(dir)
	if err != nil {
		return syncAll(b)
	}
	return errors.Join(f.Sync(), f.Close())
}

// nearestDir returns the first directory that exists, from dir upwards.
func (b *backend) nearestDir(dir string) string {
	for dir != "." {
		if _, err := b.Root.Lstat(dir); err == nil {
			break
		}
		dir = store.FileDir(dir)
	}
	return dir
}

// commitBatch commits by writing the journal: once it is on disk, the batch is finished even
// after a crash, by repair. After an error, either while writing the journal or while applying
// the operations, the documents are unchanged.
func (b *backend) commitBatch(e entry) error {
	if err := writeJournal(b.journal, e); err != nil {
		if clearErr := b.clearJournal(); clearErr != nil {
			return b.markBroken(errors.Join(err, clearErr))
		}
		return err
	}
	b.Lock()
	undo, err := b.apply(e)
	if err != nil {
		// While there still is a journal, so that a crash during the rollback finishes the batch.
		if undoErr := undo.Run(); undoErr != nil {
			err = b.markBroken(errors.Join(err, undoErr))
		}
	}
	b.Unlock()
	if b.broken != nil {
		return err
	}
	if err != nil {
		if clearErr := b.clearJournal(); clearErr != nil {
			return b.markBroken(errors.Join(err, clearErr))
		}
		return err
	}
	// If this fails, the batch is still durable because of its journal. But the next commit must
	// not overwrite that journal.
	if err := b.checkpoint(undo); err != nil {
		_ = b.markBroken(err) // reported by the next commit
	}
	return nil
}

// checkpoint syncs the applied batch to disk and empties the journal.
func (b *backend) checkpoint(undo *store.Undo) error {
	if err := syncAll(b); err != nil {
		return err
	}
	if err := undo.Discard(); err != nil {
		return err
	}
	return b.clearJournal()
}

// apply applies a batch. It can be repeated after an interruption. Documents that it replaces or
// deletes are moved to the undo directory. undo contains all that was done, also after an error.
func (b *backend) apply(e entry) (undo *store.Undo, err error) {
	undo = &store.Undo{Files: &b.Files, BackupDir: filepath.Join(b.home.Name(), undoDir)}
	dir := &dirWriter{docs: b.Root}
	defer dir.close()
	for i, op := range e.Ops {
		if op.Kind == store.OpDelete {
			if err = b.backUp(undo, i, op); err == nil {
				b.Prune(store.FileDir(op.Path))
			}
		} else {
			err = b.writeDocument(dir, undo, i, op, e.When)
		}
		if err != nil {
			return undo, err
		}
	}
	return undo, nil
}

// writeDocument creates or replaces a document of a batch.
func (b *backend) writeDocument(dir *dirWriter, undo *store.Undo, i int, op store.Op, when time.Time) error {
	created, err := dir.create(op.Path, op.Data, when)
	if errors.Is(err, fs.ErrExist) {
		if err := b.backUp(undo, i, op); err != nil {
			return err
		}
		created, err = dir.create(op.Path, op.Data, when)
	}
	switch {
	case created:
		undo.Created(op.Path)
	case err != nil:
		b.Prune(store.FileDir(op.Path)) // directories that create has made
	}
	return err
}

// backUp moves the document of operation i to the undo directory, if there is a document.
func (b *backend) backUp(undo *store.Undo, i int, op store.Op) error {
	info, err := b.Root.Lstat(op.Path)
	switch {
	case store.IsNotFound(store.NoFile(err)):
		return nil
	case err != nil:
		return err
	case info.IsDir() && op.Kind == store.OpDelete:
		// The batch is being repeated: a later operation has replaced the document by a
		// directory.
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
