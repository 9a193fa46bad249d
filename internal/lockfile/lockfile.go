// Package lockfile opens files that one process at a time may own.
package lockfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gofrs/flock"

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

// Close closes the file and releases its lock.
func (f *File) Close() error { return errors.Join(f.File.Close(), f.lock.Close()) }
