package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Files implements the reading half of a Backend for documents that are plain files below Root.
// Backends embed it. There must be no empty directories, because they would be reported as
// directories of documents.
//
// A commit holds the lock for writing while it changes files, but not while it waits for the
// disk. Open, Stat and List hold it for reading. A commit MUST NOT write into a file that was a
// document before it.
type Files struct {
	sync.RWMutex
	Root *os.Root
	// Reserved returns ErrInvalidPath for a name that the backend uses itself. It is checked for
	// every segment of a path. Nil: no name is reserved.
	Reserved func(name string) error
}

// Read implements Backend.
func (f *Files) Read(ctx context.Context, path string) ([]byte, error) {
	return ReadOpened(f.Open(ctx, path))
}

// ReadOpened reads and closes what an Open returned.
func ReadOpened(content io.ReadCloser, size int64, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	_, err = io.ReadFull(content, data)
	return data, errors.Join(err, content.Close())
}

// Open implements Store.Open. It holds the lock only until the file is open: a commit replaces
// files instead of writing into them, so an open file keeps its content.
func (f *Files) Open(_ context.Context, path string) (content io.ReadCloser, size int64, err error) {
	f.RLock()
	defer f.RUnlock()
	return f.OpenLocked(path)
}

// OpenLocked is Open for a caller that holds the lock.
func (f *Files) OpenLocked(path string) (content io.ReadCloser, size int64, err error) {
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

// Stat implements Backend. It leaves the time of a directory to the store.
func (f *Files) Stat(_ context.Context, path string) (FileInfo, error) {
	f.RLock()
	defer f.RUnlock()
	return f.StatLocked(path)
}

// StatLocked is Stat for a caller that holds the lock.
func (f *Files) StatLocked(path string) (FileInfo, error) {
	info, err := f.Lookup(path)
	switch {
	case err != nil:
		return FileInfo{}, err
	case info.IsDir():
		return FileInfo{Path: path, IsDir: true}, nil
	}
	return describe(path, info), nil
}

// List implements Backend. Documents are in ascending order of their paths.
func (f *Files) List(_ context.Context, dir string) ([]FileInfo, error) {
	f.RLock()
	defer f.RUnlock()
	return f.ListLocked(dir)
}

// ListLocked is List for a caller that holds the lock.
func (f *Files) ListLocked(dir string) ([]FileInfo, error) {
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

// Lookup describes the regular file or directory at a path. Anything else, such as a link, is
// ErrInvalidPath, also as a parent of path: a link could lead to the backend's own files.
func (f *Files) Lookup(path string) (fs.FileInfo, error) {
	for segment := range strings.SplitSeq(path, "/") {
		if err := f.checkName(segment); err != nil {
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

func (f *Files) checkName(name string) error {
	if f.Reserved == nil {
		return nil
	}
	return f.Reserved(name)
}

// Prune removes dir and its parents as long as they are empty. It returns the first one that it
// does not remove, at most ".". It never removes a file, and needs no file descriptors.
func (f *Files) Prune(dir string) string {
	for ; dir != "."; dir = FileDir(dir) {
		if err := syscall.Rmdir(filepath.Join(f.Root.Name(), dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return dir
}

// PruneTree removes all empty directories, which a crash can leave behind.
func (f *Files) PruneTree() error {
	dirs, err := walk(f, "", func(path string, info fs.FileInfo) (string, bool) { return path, info.IsDir() })
	// Children first; they come after their parents in a walk.
	for _, dir := range slices.Backward(dirs) {
		_ = f.Root.Remove(dir) // fails unless the directory is empty
	}
	return err
}

// FileDir returns the directory of a document as a name for os.Root: "." at the root.
func FileDir(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "."
}

// NoFile converts the filesystem's error for a path that does not exist, or that is below a file,
// into ErrNotFound. Other errors are returned as they are.
func NoFile(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return ErrNotFound
	}
	return err
}
