package gitstore

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"evalctl/daemon/store"
)

// advance makes next the head and brings the worktree in step, or returns an
// error and changes nothing.
func (b *backend) advance(next tip, changes []change, when time.Time) error {
	if err := b.stage(changes, when); err != nil {
		return errors.Join(err, b.unstage(changes))
	}
	if err := b.moveBranch(b.head.commit, next.commit); err != nil {
		return errors.Join(err, b.unstage(changes))
	}
	b.Lock()
	undo, err := b.apply(changes)
	b.Unlock()
	if err != nil {
		if b.broken != nil {
			return err
		}
		// Only now, with the files as they were: a crash before this ends with
		// the commit made.
		if backErr := b.moveBranch(next.commit, b.head.commit); backErr != nil {
			return b.fail(errors.Join(err, backErr))
		}
		return errors.Join(err, b.unstage(changes))
	}
	b.head = next
	if err := undo.Discard(); err != nil {
		_ = b.fail(err) // told to the next commit: this one is made
	}
	return nil
}

// stage writes the new content of documents to where it is no document yet, so
// that a full disk is noticed before the commit is made.
func (b *backend) stage(changes []change, when time.Time) error {
	for i, c := range changes {
		if c.deletes() {
			continue
		}
		data := c.data
		if data == nil {
			var err error
			if data, err = b.objects.blob(c.hash); err != nil {
				return err
			}
		}
		name := numbered(stagedDir, i)
		mode := fs.FileMode(fileMode)
		if c.mode == filemode.Executable {
			mode = dirMode
		}
		if err := b.git.WriteFile(name, data, mode); err != nil {
			return err
		}
		if err := b.git.Chtimes(name, when, when); err != nil {
			return err
		}
	}
	return nil
}

// unstage removes what stage wrote and apply did not take.
func (b *backend) unstage(changes []change) error {
	var errs []error
	for i := range changes {
		errs = append(errs, removeFile(b.git, numbered(stagedDir, i)))
	}
	return errors.Join(errs...)
}

// apply moves staged files to their places. On an error it puts everything
// back, or else breaks the store. The caller holds mu.
func (b *backend) apply(changes []change) (*store.Undo, error) {
	undo := &store.Undo{Files: &b.Files, BackupDir: filepath.Join(b.Root.Name(), gitDir, filepath.FromSlash(undoDir))}
	for i, c := range changes {
		var err error
		// The last one needs no way back. A commit of one document is a single
		// step, also for those who read its file.
		if i < len(changes)-1 {
			err = b.backUp(undo, i, c)
		}
		if err == nil {
			err = b.applyOne(undo, i, c)
		}
		if err == nil {
			continue
		}
		if undoErr := undo.Run(); undoErr != nil {
			return nil, b.fail(errors.Join(err, undoErr))
		}
		return nil, err
	}
	return undo, nil
}

func (b *backend) backUp(undo *store.Undo, i int, c change) error {
	info, err := b.Root.Lstat(c.path)
	switch {
	case absent(err):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return &store.Error{Op: "replace", Path: c.path, Err: errors.New("is no file in the worktree")}
	}
	if err := b.Root.Rename(c.path, path.Join(gitDir, numbered(undoDir, i))); err != nil {
		return err
	}
	undo.BackedUp(c.path, i)
	return nil
}

func (b *backend) applyOne(undo *store.Undo, i int, c change) error {
	if c.deletes() {
		if err := b.Root.Remove(c.path); err != nil && !absent(err) {
			return err
		}
		b.Prune(store.FileDir(c.path))
		return nil
	}
	staged := path.Join(gitDir, numbered(stagedDir, i))
	err := b.Root.Rename(staged, c.path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = b.Root.MkdirAll(store.FileDir(c.path), dirMode); err == nil {
			err = b.Root.Rename(staged, c.path)
		}
		if err != nil {
			b.Prune(store.FileDir(c.path))
		}
	}
	if err == nil {
		undo.Created(c.path)
	}
	return err
}

// absent tells whether there is no file, or none can be.
func absent(err error) bool { return store.IsNotFound(store.NoFile(err)) }

func numbered(dir string, i int) string { return path.Join(dir, strconv.Itoa(i)) }

// replace writes a file of .git whole or not at all, and durably.
func (b *backend) replace(name string, data []byte) error {
	f, err := b.git.OpenFile(tempFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = b.git.Rename(tempFile, name)
	}
	if err != nil {
		return errors.Join(err, removeFile(b.git, tempFile))
	}
	return syncFile(b.git, store.FileDir(name))
}
