package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"time"

	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// advance makes next the head and brings the worktree in step, or returns an
// error and changes nothing.
func (b *backend) advance(next tip, changes []change, when time.Time) error {
	if err := b.stage(changes, when); err != nil {
		return errors.Join(err, b.clear(stagedDir))
	}
	if err := b.moveBranch(b.head.commit, next.commit); err != nil {
		return errors.Join(err, b.clear(stagedDir))
	}
	b.mu.Lock()
	err := b.apply(changes)
	b.mu.Unlock()
	if err != nil {
		if b.broken != nil {
			return err
		}
		// Only now, with the files as they were: a crash before this ends with
		// the commit made.
		if backErr := b.moveBranch(next.commit, b.head.commit); backErr != nil {
			return b.fail(errors.Join(err, backErr))
		}
		return errors.Join(err, b.clear(stagedDir))
	}
	b.head = next
	if len(changes) > 1 {
		if err := b.clear(undoDir); err != nil {
			_ = b.fail(err) // told to the next commit: this one is made
		}
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

// apply moves staged files to their places. On an error it puts everything
// back, or else breaks the store. The caller holds mu.
func (b *backend) apply(changes []change) error {
	for i, c := range changes {
		done := i // how many changes there are to take back if this one fails
		var err error
		// The last one needs no way back. A commit of one document is a single
		// step, also for those who read its file.
		if i < len(changes)-1 {
			if err = b.setAside(i, c); err == nil {
				done++
			}
		}
		if err == nil {
			err = b.applyOne(i, c)
		}
		if err == nil {
			continue
		}
		if undoErr := b.undo(changes[:done]); undoErr != nil {
			return b.fail(errors.Join(err, undoErr))
		}
		return err
	}
	return nil
}

func (b *backend) setAside(i int, c change) error {
	info, err := b.root.Lstat(c.path)
	switch {
	case absent(err):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s in the worktree is no file", c.path)
	}
	return b.root.Rename(c.path, path.Join(gitDir, numbered(undoDir, i)))
}

func (b *backend) applyOne(i int, c change) error {
	if c.deletes() {
		if err := b.root.Remove(c.path); err != nil && !absent(err) {
			return err
		}
		b.prune(parent(c.path))
		return nil
	}
	staged := path.Join(gitDir, numbered(stagedDir, i))
	err := b.root.Rename(staged, c.path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = b.root.MkdirAll(parent(c.path), dirMode); err == nil {
			err = b.root.Rename(staged, c.path)
		}
		if err != nil {
			b.prune(parent(c.path))
		}
	}
	return err
}

// undo takes the changes back, last one first.
func (b *backend) undo(changes []change) error {
	for i := len(changes) - 1; i >= 0; i-- {
		c := changes[i]
		if !c.deletes() {
			if err := b.root.Remove(c.path); err != nil && !absent(err) {
				return err
			}
			b.prune(parent(c.path))
		}
		undo := path.Join(gitDir, numbered(undoDir, i))
		if _, err := b.root.Lstat(undo); err != nil {
			continue // there was nothing to set aside
		}
		if err := b.root.MkdirAll(parent(c.path), dirMode); err != nil {
			return err
		}
		if err := b.root.Rename(undo, c.path); err != nil {
			return err
		}
	}
	return nil
}

// prune removes dir and the directories above it as far as they are empty.
func (b *backend) prune(dir string) {
	for ; dir != "."; dir = parent(dir) {
		if err := b.root.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
}

// clear empties a directory of .git/gitstore.
func (b *backend) clear(dir string) error {
	f, err := b.git.Open(dir)
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	err = errors.Join(err, f.Close())
	for _, name := range names {
		err = errors.Join(err, b.git.Remove(path.Join(dir, name)))
	}
	return err
}

// walk calls visit for everything below dir but directories and what git keeps
// to itself.
func (b *backend) walk(dir string, visit func(path string, d fs.DirEntry) error) error {
	if dir == "" {
		dir = "."
	}
	return fs.WalkDir(b.root.FS(), dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && reservedName(d.Name()):
			return fs.SkipDir
		case d.IsDir() || reservedName(d.Name()):
			return nil
		}
		return visit(path, d)
	})
}

// pruneAll removes empty directories, which a crash can leave and which would
// pass for directories of documents.
func (b *backend) pruneAll() error {
	var dirs []string
	err := fs.WalkDir(b.root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir() || path == ".":
			return err
		case reservedName(d.Name()):
			return fs.SkipDir
		}
		dirs = append(dirs, path)
		return nil
	})
	// Children come after their parents in a walk.
	for i := len(dirs) - 1; i >= 0; i-- {
		_ = b.root.Remove(dirs[i]) // fails on the ones to keep
	}
	return err
}

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
	return syncFile(b.git, parent(name))
}
