// Package lockfile opens files that one process at a time may own.
package lockfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gofrs/flock"

	"evalctl/internal/atomicfile"
	"evalctl/internal/inputfile"
)

// File is a file that this process owns until Close, or until it ends.
type File struct {
	*os.File
	lock *flock.Flock
}

// Open opens the file at path as os.OpenFile does, readable only for its owner, and locks it. A
// file that inputfile.Open refuses is an error. The error wraps busy if another process has the
// lock, or moves or removes the file at this moment.
func Open(path string, flag int, busy error) (*File, error) {
	if err := inputfile.Check(path, inputfile.Streamed); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	l := flock.New(path, flock.SetFlag(os.O_RDONLY)) // it must not create the file again
	ok, err := l.TryLock()
	if err == nil && (!ok || !sameFile(path, f, l)) {
		err = busy
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), l.Close(), f.Close())
	}
	return &File{File: f, lock: l}, nil
}

// sameFile reports whether the lock is on the file that was opened and path still names it: another
// process may have moved or removed it in between.
func sameFile(path string, f *os.File, l *flock.Flock) bool {
	opened, errO := f.Stat()
	locked, errL := l.Stat()
	named, errN := os.Stat(path)
	return errors.Join(errO, errL, errN) == nil && os.SameFile(opened, locked) && os.SameFile(opened, named)
}

// Renew replaces the file by a copy that is synced, and locks that. Call it before adding to
// what another process has written: after a write that the disk refused, only the memory of the
// kernel has the content. The kernel reports that once and does not try again, and on ext4 not
// even a later write to the same place of a new file is there after a crash. busy is as for
// Open.
func (f *File) Renew(busy error) error {
	if runtime.GOOS == "windows" { // which replaces no open file
		return f.Sync()
	}
	path, err := filepath.EvalSymlinks(f.Name())
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	err = atomicfile.Write(path, info.Mode().Perm(), func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(f, 0, math.MaxInt64))
		return err
	})
	if err != nil {
		return fmt.Errorf("copy %s: %w", path, err)
	}
	next, err := Open(f.Name(), os.O_RDWR, busy)
	if err != nil {
		return err
	}
	old := *f
	*f = *next
	return old.Close()
}

// Close closes the file and releases its lock.
func (f *File) Close() error { return errors.Join(f.File.Close(), f.lock.Close()) }
