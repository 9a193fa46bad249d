// Package atomicfile writes files that a crash or a failed write leaves unchanged or completely
// new.
//
// The content goes to a temporary file next to the target, ".<name>.<random>" with at most 200
// bytes of the name. It is synced and renamed; then the folder is synced. A write that fails
// removes its temporary file; a process that is killed leaves it. A target that is a symbolic
// link is replaced, not followed: a caller that wants to keep the link resolves it first.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Write replaces the file at path by the output of content, with the permissions perm, whatever the
// process's umask.
func Write(path string, perm fs.FileMode, content func(io.Writer) error) error {
	f, err := Create(path, perm)
	if err != nil {
		return err
	}
	if err := content(f); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Commit()
}

// WriteData is Write of data.
func WriteData(path string, perm fs.FileMode, data []byte) error {
	return Write(path, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// File is the new content of a target file. Either Commit or Discard must be called. It is not safe
// for concurrent use.
type File struct {
	temp   *os.File
	target string
	perm   fs.FileMode
	synced bool
	done   bool
}

// Create begins to replace the file at path, which need not exist; its folder must.
func Create(path string, perm fs.FileMode) (*File, error) {
	dir := filepath.Dir(path)
	temp, err := createTemp(path)
	if err != nil {
		return nil, fmt.Errorf("create a file in %s: %w", dir, reason(err))
	}
	return &File{temp: temp, target: path, perm: perm}, nil
}

// longestBase limits the part of a temporary name that is the target's, in bytes, because a file
// system limits the whole.
const longestBase = 200

// createTemp creates the temporary file for a target.
func createTemp(path string) (*os.File, error) {
	base := filepath.Base(path)
	if len(base) > longestBase {
		base = strings.ToValidUTF8(base[:longestBase], "")
	}
	return os.CreateTemp(filepath.Dir(path), "."+base+".*")
}

// Write appends data to the new content.
func (f *File) Write(data []byte) (int, error) {
	f.synced = false
	return f.temp.Write(data)
}

// Sync puts the content written so far on the disk, with its final permissions. After it, little
// but the replacement itself can fail in Commit.
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

// Commit replaces the target by the new content. After an error the target is unchanged, unless
// only syncing the folder after the replacement failed.
func (f *File) Commit() error {
	f.done = true
	err := errors.Join(f.Sync(), f.temp.Close())
	if err == nil {
		if err = os.Rename(f.temp.Name(), f.target); err != nil {
			err = fmt.Errorf("replace %s: %w", f.target, reason(err))
		}
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.temp.Name()))
	}
	return SyncDir(filepath.Dir(f.target))
}

// Discard drops the new content and leaves the target unchanged. After Commit it does nothing.
func (f *File) Discard() error {
	if f.done {
		return nil
	}
	f.done = true
	return errors.Join(f.temp.Close(), os.Remove(f.temp.Name()))
}

// SyncDir puts the entries of the folder dir on the disk: those that were created, renamed or
// removed.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
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
