package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// Files are documents that lie as plain files below Root, for backends to embed:
// Read, Stat and List are those of Backend, Open is Store's. There must be no empty directories,
// which would pass for directories of documents.
//
// The lock is held for writing while a commit changes files, not while it waits
// for the disk; Open, Stat and List hold it for reading. A commit MUST NOT write
// into a file that was a document before it.
type Files struct {
	sync.RWMutex
	Root *os.Root
	// Reserved refuses names that are the backend's own, wherever in a path they
	// stand, with ErrInvalidPath. Nil refuses none.
	Reserved func(name string) error
}

// Read reads a document whole.
func (f *Files) Read(ctx context.Context, path string) ([]byte, error) {
	file, size, err := f.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	_, err = io.ReadFull(file, data)
	return data, errors.Join(err, file.Close())
}

// Open is asserted by Store. It needs the lock no longer than to open the file:
// commits put other files in the place of documents, or change them while
// nobody can have opened them.
func (f *Files) Open(_ context.Context, path string) (content io.ReadCloser, size int64, err error) {
	f.RLock()
	defer f.RUnlock()
	info, err := f.Lookup(path)
	if err != nil {
		return nil, 0, err
	}
	if info.IsDir() {
		return nil, 0, ErrNotFound
	}
	file, err := f.Root.Open(path)
	if err != nil {
		return nil, 0, NoFile(err)
	}
	return file, info.Size(), nil
}

// Stat describes a document or a directory.
func (f *Files) Stat(_ context.Context, path string) (FileInfo, error) {
	f.RLock()
	defer f.RUnlock()
	info, err := f.Lookup(path)
	switch {
	case err != nil:
		return FileInfo{}, err
	case info.IsDir():
		return FileInfo{Path: path, IsDir: true}, nil
	}
	return describe(path, info), nil
}

// List walks the directory, and gives documents ascending by path.
func (f *Files) List(_ context.Context, dir string) ([]FileInfo, error) {
	f.RLock()
	defer f.RUnlock()
	if dir != "" {
		info, err := f.Lookup(dir)
		if IsNotFound(err) || err == nil && !info.IsDir() {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return walk(f, dir, func(path string, info fs.FileInfo) (FileInfo, bool) {
		return describe(path, info), info.Mode().IsRegular()
	})
}

func describe(path string, info fs.FileInfo) FileInfo {
	return FileInfo{Path: path, Size: info.Size(), ModTime: info.ModTime().UTC()}
}

// Lookup describes the regular file or directory at a path. Anything else, links
// above all, is no document: it is ErrInvalidPath, on the way there as well, for
// it could lead to what is the backend's own.
func (f *Files) Lookup(path string) (fs.FileInfo, error) {
	for segment := range strings.SplitSeq(path, "/") {
		if err := f.reserved(segment); err != nil {
			return nil, err
		}
	}
	for dir := FileDir(path); dir != "."; dir = FileDir(dir) {
		info, err := f.Root.Lstat(dir)
		if err != nil {
			return nil, NoFile(err)
		}
		if info.Mode().IsRegular() {
			return nil, ErrNotFound
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("%w: %s is not a directory", ErrInvalidPath, dir)
		}
	}
	info, err := f.Root.Lstat(path)
	if err != nil {
		return nil, NoFile(err)
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, fmt.Errorf("%w: is a link or special file, not a document", ErrInvalidPath)
	}
	return info, nil
}

func (f *Files) reserved(name string) error {
	if f.Reserved == nil {
		return nil
	}
	return f.Reserved(name)
}

// Prune removes dir and the directories above it as far as they are empty, and
// returns the first one left, "." at last. It never removes a file, and needs no
// descriptors.
func (f *Files) Prune(dir string) string {
	for ; dir != "."; dir = FileDir(dir) {
		if err := syscall.Rmdir(filepath.Join(f.Root.Name(), dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return dir
}

// PruneTree removes every empty directory, which a crash can leave.
func (f *Files) PruneTree() error {
	dirs, err := walk(f, "", func(path string, info fs.FileInfo) (string, bool) { return path, info.IsDir() })
	// Children come after their parents in a walk.
	for i := len(dirs) - 1; i >= 0; i-- {
		_ = f.Root.Remove(dirs[i]) // fails on the ones to keep
	}
	return err
}

// FileDir gives the directory of a document, "." at the root, as os.Root wants it.
func FileDir(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "."
}

// NoFile turns what a filesystem says of a path that is not there, or that lies
// below a file, into ErrNotFound.
func NoFile(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return ErrNotFound
	}
	return err
}

// EmptyDir removes the files of a directory that has no others.
func EmptyDir(root *os.Root, dir string) error {
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
