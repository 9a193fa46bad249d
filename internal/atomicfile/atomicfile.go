// Package atomicfile writes files that a crash or a failed write leaves either as they were or
// completely new.
//
// The content goes to a temporary file next to the target, ".<name>.<random>", which is synced and
// renamed; then the folder is synced. A write that fails removes its temporary file; a process that
// is killed leaves it. A target that is a symbolic link is replaced, not followed: a caller that
// wants to keep the link resolves it first.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Write replaces the file at path by what content writes, with the permissions perm, whatever the
// process's umask.
func Write(path string, perm fs.FileMode, content func(io.Writer) error) error {
	f, err := Create(path, perm)
	if err != nil {
		return err
	}
	return f.fill(content)
}

// WriteIn is Write for a slash-separated name in root.
func WriteIn(root *os.Root, name string, perm fs.FileMode, content func(io.Writer) error) error {
	f, err := CreateIn(root, name, perm)
	if err != nil {
		return err
	}
	return f.fill(content)
}

// File is new content for a target file, written bit by bit. Either Commit or Discard must be
// called. It is not safe for concurrent use.
type File struct {
	temp    *os.File
	staged  string // the temporary file's name in root
	target  string // the file to replace, in root
	root    *os.Root
	ownRoot bool
	perm    fs.FileMode
	synced  bool
	done    bool
}

// Create begins to replace the file at path, which need not exist; its folder must.
func Create(path string, perm fs.FileMode) (*File, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("create a file in %s: %w", filepath.Dir(path), reason(err))
	}
	f, err := CreateIn(root, filepath.Base(path), perm)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	f.ownRoot = true
	return f, nil
}

// CreateIn is Create for a slash-separated name in root, which must stay open until the File is
// committed or discarded.
func CreateIn(root *os.Root, name string, perm fs.FileMode) (*File, error) {
	dir, base := path.Split(name)
	staged := dir + "." + base + "." + rand.Text()
	temp, err := root.OpenFile(staged, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		folder := filepath.Join(root.Name(), filepath.FromSlash(dir))
		return nil, fmt.Errorf("create a file in %s: %w", folder, reason(err))
	}
	return &File{temp: temp, staged: staged, target: name, root: root, perm: perm}, nil
}

// Write appends data to the new content.
func (f *File) Write(data []byte) (int, error) {
	f.synced = false
	return f.temp.Write(data)
}

// Sync puts the content written so far on the disk, with its final permissions. A caller that must
// do something between the last chance of a failed write and the replacement calls it before.
func (f *File) Sync() error {
	if f.synced {
		return nil
	}
	err := f.temp.Chmod(f.perm)
	if err == nil {
		err = f.temp.Sync()
	}
	f.synced = err == nil
	return err
}

// Commit replaces the target by the new content. After an error the target is as it was, unless the
// error is that of syncing the folder after the replacement.
func (f *File) Commit() error {
	err := f.Sync()
	if err = errors.Join(err, f.temp.Close()); err == nil {
		if err = f.root.Rename(f.staged, f.target); err != nil {
			path := filepath.Join(f.root.Name(), filepath.FromSlash(f.target))
			err = fmt.Errorf("replace %s: %w", path, reason(err))
		}
	}
	f.done = true
	if err != nil {
		return errors.Join(err, f.root.Remove(f.staged), f.closeRoot())
	}
	return errors.Join(SyncDirIn(f.root, path.Dir(f.target)), f.closeRoot())
}

// Discard drops the new content and leaves the target as it was. After Commit it does nothing.
func (f *File) Discard() error {
	if f.done {
		return nil
	}
	f.done = true
	return errors.Join(f.temp.Close(), f.root.Remove(f.staged), f.closeRoot())
}

func (f *File) fill(content func(io.Writer) error) error {
	if err := content(f); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Commit()
}

func (f *File) closeRoot() error {
	if !f.ownRoot {
		return nil
	}
	return f.root.Close()
}

// SyncDir puts the entries of the folder dir on the disk: what was created, renamed or removed in
// it.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// SyncDirIn is SyncDir for a slash-separated name in root, "." for root itself.
func SyncDirIn(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// reason strips the operation and the temporary name from an error of package os.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}
