package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
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
// A commit holds the lock for writing while it changes files, but not while it waits for the disk.
// Open, Stat and List hold it for reading. A commit MUST NOT write into a file that was a document
// before it.
type Files struct {
	sync.RWMutex
	Root *os.Root
	// Reserved returns ErrInvalidPath for a name that the backend uses itself. It is called for
	// every segment of a path. Nil: no name is reserved.
	Reserved func(name string) error
	// Names finds the files of documents. Nil: files have the names of their documents, and
	// leftovers are documents too.
	Names *Names
	// Judge is called for each listing. It returns a function that is called for each file and
	// special file: ok is false if the file is not a document, and the reason is empty if that need
	// not be reported. The function may be called concurrently. It may be nil.
	Judge func() func(path string) (ok bool, reason string)
	// Log gets a line for each file that is not a document. Nil: nothing is logged.
	Log *slog.Logger

	skipped skipList
}

// Read implements Backend.
func (f *Files) Read(ctx context.Context, path string) ([]byte, error) {
	return ReadOpened(f.Open(ctx, path))
}

// ReadOpened reads and closes the result of an Open.
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
	name, info, err := f.Lookup(path)
	if err != nil {
		return nil, 0, err
	}
	if info.IsDir() {
		return nil, 0, ErrNotFound
	}
	file, err := f.Root.Open(name)
	f.skipped.read(path, err, f.Log)
	if err != nil {
		return nil, 0, unreadable(path, NoFile(err))
	}
	return file, info.Size(), nil
}

// unreadable is the error of a document that exists but cannot be read. Others may be readable.
func unreadable(path string, err error) error {
	if !isOfOneFile(err) {
		return err
	}
	return Damaged(err, "the file of %s cannot be read (%v): repair it, or give the daemon access to it",
		quotePath(path), rootCause(err))
}

// isOfOneFile reports whether an error concerns one file or folder, so that others may be usable.
func isOfOneFile(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ELOOP)
}

// rootCause returns the error of the system, without the names of files.
func rootCause(err error) error {
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e
	}
	return err
}

// Stat implements Backend. It leaves the time of a directory to the store.
func (f *Files) Stat(_ context.Context, path string) (FileInfo, error) {
	f.RLock()
	defer f.RUnlock()
	return f.StatLocked(path)
}

// StatLocked is Stat for a caller that holds the lock.
func (f *Files) StatLocked(path string) (FileInfo, error) {
	_, info, err := f.Lookup(path)
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

// ListLocked is List for a caller that holds the lock. It leaves out files that are not documents;
// see Skipped.
func (f *Files) ListLocked(dir string) ([]FileInfo, error) {
	name := ""
	if dir != "" {
		file, info, err := f.Lookup(dir)
		if IsNotFound(err) || err == nil && !info.IsDir() {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		name = file
	}
	w := walker[FileInfo]{files: f, documents: true, pick: func(e entry) (FileInfo, bool) {
		return describe(e.path, e.info), !e.info.IsDir()
	}}
	if f.Judge != nil {
		w.judge = f.Judge()
	}
	found, err := w.walk(name, dir)
	if dir != "" && err != nil && (IsNotFound(NoFile(err)) || isOfOneFile(err)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if w.encoded.Load() {
		slices.SortFunc(found, func(a, b FileInfo) int { return strings.Compare(a.Path, b.Path) })
	}
	if dir == "" {
		f.skipped.replace(&w.skips, f.Log)
	}
	return found, nil
}

func describe(path string, info fs.FileInfo) FileInfo {
	return FileInfo{Path: path, Size: info.Size(), ModTime: info.ModTime().UTC()}
}

// Lookup finds the regular file or directory of a path, and describes it. Anything else, such as a
// link, is ErrInvalidPath, also as a parent of path: a link could lead to the backend's own files.
func (f *Files) Lookup(path string) (file string, info fs.FileInfo, err error) {
	for segment := range strings.SplitSeq(path, "/") {
		if err := f.checkName(segment); err != nil {
			return "", nil, err
		}
	}
	for rest := path; ; {
		segment, below, deeper := strings.Cut(rest, "/")
		if file, info, err = f.look(file, segment, deeper); err != nil {
			return "", nil, err
		}
		switch regular := info.Mode().IsRegular(); {
		case !regular && !info.IsDir() && deeper:
			return "", nil, fmt.Errorf("%w: %s is not a directory", ErrInvalidPath, quotePath(path[:len(path)-len(below)-1]))
		case !regular && !info.IsDir():
			return "", nil, fmt.Errorf("%w: is a link or special file, not a document", ErrInvalidPath)
		case !deeper:
			return file, info, nil
		case regular:
			return "", nil, ErrNotFound
		}
		file, rest = file+"/", below
	}
}

// look finds the file of a segment in a directory, which is "" or ends with a slash.
func (f *Files) look(dir, segment string, folder bool) (file string, info fs.FileInfo, err error) {
	if f.Names == nil {
		info, err = f.Root.Lstat(dir + segment)
		return dir + segment, info, NoFile(err)
	}
	if !mustEncode(segment, folder) {
		if file, info, err = f.lookFor(dir, segment); !IsNotFound(err) {
			return file, info, err
		}
	}
	return f.lookFor(dir, EncodeName(segment))
}

// lookFor describes a file in a directory.
func (f *Files) lookFor(dir, name string) (file string, info fs.FileInfo, err error) {
	info, err = f.Names.Lstat(dir + name)
	switch {
	case err == nil:
		is, err := f.Names.has(dir, name)
		if err == nil && !is {
			err = ErrNotFound
		}
		return dir + name, info, err
	case IsNameError(err):
		return "", nil, ErrNotFound
	}
	return "", nil, unreadable(dir+name, NoFile(err))
}

// IsNameError reports whether the file system has rejected a name.
func IsNameError(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENAMETOOLONG) || errors.Is(err, syscall.EILSEQ)
}

// Place returns the file that a document has, or the one that it gets. plain permits names that are
// not encoded.
func (f *Files) Place(path string, plain bool) (file string, err error) {
	exists := true
	for rest := path; ; {
		segment, below, deeper := strings.Cut(rest, "/")
		name := ""
		if exists {
			name, _, err = f.look(file, segment, deeper)
			if exists = err == nil; err != nil && !IsNotFound(err) {
				return "", err
			}
		}
		if !exists {
			name = file + f.Names.choose(file, segment, deeper, plain)
		}
		if !deeper {
			return name, nil
		}
		file, rest = name+"/", below
	}
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
		err := syscall.Rmdir(filepath.Join(f.Root.Name(), dir))
		if errors.Is(err, syscall.ENAMETOOLONG) { // of all names together
			err = f.Root.Remove(dir)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return dir
}

// PruneTree removes all empty directories, which a crash can leave behind.
func (f *Files) PruneTree() error {
	w := walker[string]{files: f, documents: true, pick: func(e entry) (string, bool) { return e.file, e.info.IsDir() }}
	dirs, err := w.walk("", "")
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
