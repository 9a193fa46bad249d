package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"evalctl/daemon/store"
)

// advance moves the branch to next and applies changes to the worktree, or returns an error and
// changes nothing. committed is what differs between the branch and next.
func (b *backend) advance(next tip, changes, committed []change, when time.Time) error {
	if err := b.stage(changes, when); err != nil {
		return errors.Join(err, b.unstage(changes))
	}
	if err := b.moveBranch(b.head.commit, next.commit); err != nil {
		return errors.Join(err, b.unstage(changes))
	}
	b.Lock()
	undo, err := b.apply(changes)
	if err == nil {
		b.track(committed)
	}
	b.Unlock()
	if err != nil {
		if b.broken != nil {
			return err
		}
		// Moved back only after the files have been restored. After a crash before that, Open
		// finishes the commit.
		if moveErr := b.moveBranch(next.commit, b.head.commit); moveErr != nil {
			return b.markBroken(errors.Join(err, moveErr))
		}
		return errors.Join(err, b.unstage(changes))
	}
	b.head = next
	b.updateIndex(committed)
	if err := undo.Discard(); err != nil {
		_ = b.markBroken(err) // reported by the next commit, because this one has succeeded
	}
	return nil
}

// stage writes the new content of documents to stagedDir, so that a full disk is detected before
// the branch is moved.
func (b *backend) stage(changes []change, when time.Time) error {
	for i, c := range changes {
		if c.isDelete() {
			continue
		}
		data := c.data
		if data == nil {
			var err error
			if data, err = b.objects.blob(c.hash); err != nil {
				return err
			}
		}
		name := numberedFile(stagedDir, i)
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

// unstage removes the staged files that apply has not moved.
func (b *backend) unstage(changes []change) error {
	var errs []error
	for i := range changes {
		errs = append(errs, removeFile(b.git, numberedFile(stagedDir, i)))
	}
	return errors.Join(errs...)
}

// apply moves staged files into place. If it fails, it restores the previous files; if that fails
// too, it marks the store as broken. The caller holds the lock for writing, unless the store is
// not open yet.
func (b *backend) apply(changes []change) (*store.Undo, error) {
	undo := &store.Undo{Files: &b.Files, BackupDir: filepath.Join(b.Root.Name(), gitDir, filepath.FromSlash(undoDir))}
	for i, c := range changes {
		var err error
		// The last change needs no backup, because nothing after it can fail. So a commit of one
		// document is a single rename, also for other programs that read the file.
		if i < len(changes)-1 {
			err = b.backUp(undo, i, c)
		}
		if err == nil {
			err = b.applyChange(undo, i, c)
		}
		if err == nil {
			continue
		}
		if undoErr := undo.Run(); undoErr != nil {
			return nil, b.markBroken(errors.Join(err, undoErr))
		}
		return nil, err
	}
	return undo, nil
}

// backUp moves the document of change i to undoDir, if there is a document.
func (b *backend) backUp(undo *store.Undo, i int, c change) error {
	info, err := b.Root.Lstat(c.path)
	switch {
	case isAbsent(err):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return &store.Error{Op: "replace", Path: c.path, Err: errors.New("is not a regular file in the worktree")}
	}
	if err := b.Root.Rename(c.path, path.Join(gitDir, numberedFile(undoDir, i))); err != nil {
		return err
	}
	undo.BackedUp(c.path, i)
	return nil
}

func (b *backend) applyChange(undo *store.Undo, i int, c change) error {
	if c.isDelete() {
		if err := b.Root.Remove(c.path); err != nil && !isAbsent(err) {
			return err
		}
		b.Prune(store.FileDir(c.path))
		return nil
	}
	staged := path.Join(gitDir, numberedFile(stagedDir, i))
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
	return placeError(c.path, err)
}

// placeError says why there cannot be a document at a path of the worktree.
func placeError(path string, err error) error {
	switch {
	case store.IsNameError(err):
		err = fmt.Errorf("%w: the file system of the repository does not take one of its names (%w)", store.ErrInvalidPath, err)
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTEMPTY):
		err = fmt.Errorf("%w: files that are not committed are in the way: commit, move or remove them (%w)", store.ErrConflict, err)
	case errors.Is(err, fs.ErrPermission):
		err = fmt.Errorf("%w: the daemon may not write to its folder (%w)", store.ErrInvalidPath, err)
	default:
		return err
	}
	return &store.Error{Op: "write", Path: path, Err: err}
}

// isAbsent reports whether err means that there is no file.
func isAbsent(err error) bool { return store.IsNotFound(store.NoFile(err)) }

func numberedFile(dir string, i int) string { return path.Join(dir, strconv.Itoa(i)) }

// replaceFile writes a file in .git atomically and durably.
func (b *backend) replaceFile(name string, data []byte) error {
	if err := b.replace(name, data, (*os.File).Sync); err != nil {
		return err
	}
	return syncFile(b.git, store.FileDir(name))
}

// replaceUnsynced writes a file in .git atomically, but not durably.
func (b *backend) replaceUnsynced(name string, data []byte) error {
	return b.replace(name, data, func(*os.File) error { return nil })
}

func (b *backend) replace(name string, data []byte, sync func(*os.File) error) error {
	f, err := b.git.OpenFile(tempFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, sync(f), f.Close()); err == nil {
		err = b.git.Rename(tempFile, name)
	}
	if err != nil {
		return errors.Join(err, removeFile(b.git, tempFile))
	}
	return nil
}

// emptyDir removes the files in a directory.
func emptyDir(root *os.Root, dir string) error {
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	err = errors.Join(err, f.Close())
	for _, name := range names {
		err = errors.Join(err, root.Remove(path.Join(dir, name)))
	}
	return err
}
