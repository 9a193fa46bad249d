package store

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Walk calls visit for every file below dir in ascending order of paths, links and special files
// included, but skips reserved names. The root is "". Links are not followed. All files are found
// and described before the first call.
func (f *Files) Walk(dir string, visit func(path string, info fs.FileInfo) error) error {
	found, err := walk(f, dir, func(path string, info fs.FileInfo) (entry, bool) {
		return entry{path: path, info: info}, !info.IsDir()
	})
	for _, e := range found {
		if err == nil {
			err = visit(e.path, e.info)
		}
	}
	return err
}

// walk calls pick for every file and directory below dir, except reserved names, and returns the
// values that it picks: in ascending order of paths, a directory before its contents. Calls of
// pick can be concurrent.
func walk[T any](f *Files, dir string, pick func(path string, info fs.FileInfo) (T, bool)) ([]T, error) {
	if dir != "" {
		dir += "/"
	}
	w := walker[T]{files: f, pick: pick, spare: make(chan struct{}, runtime.GOMAXPROCS(0)-1)}
	return w.subtree(f.Root, cmp.Or(strings.TrimSuffix(dir, "/"), "."), dir)
}

type walker[T any] struct {
	files *Files
	pick  func(path string, info fs.FileInfo) (T, bool)
	spare chan struct{} // holds a token for each goroutine that was started
}

// entry is a file or a directory in a directory.
type entry struct {
	path string // ends with a slash for a directory, so that it sorts like its contents
	info fs.FileInfo
}

// subtree is walk for a dir that is empty or ends with a slash. It is called name in parent: opening it
// from there takes as long at any depth.
func (w *walker[T]) subtree(parent *os.Root, name, dir string) ([]T, error) {
	root, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := w.files.readDir(root, dir)
	if err != nil {
		return nil, err
	}
	// Indexed like entries; only directories have a subtree.
	subtrees, errs := make([][]T, len(entries)), make([]error, len(entries))
	var wg sync.WaitGroup
	for i, e := range entries {
		if !e.info.IsDir() {
			continue
		}
		select {
		case w.spare <- struct{}{}:
			wg.Go(func() {
				subtrees[i], errs[i] = w.subtree(root, e.info.Name(), e.path)
				<-w.spare
			})
		default:
			subtrees[i], errs[i] = w.subtree(root, e.info.Name(), e.path)
		}
	}
	wg.Wait()
	size := len(entries)
	for _, s := range subtrees {
		size += len(s)
	}
	found := make([]T, 0, size)
	for i, e := range entries {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if picked, ok := w.pick(strings.TrimSuffix(e.path, "/"), e.info); ok {
			found = append(found, picked)
		}
		found = append(found, subtrees[i]...)
	}
	return found, nil
}

// readDir returns the entries of a directory, which is open as root, in ascending order of paths,
// without reserved names.
func (f *Files) readDir(root *os.Root, dir string) ([]entry, error) {
	// Readdir on a file from a Root describes entries through its descriptor, so it cannot be led
	// out of the Root by a path that changes in the meantime.
	opened, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	infos, err := opened.Readdir(-1)
	if err = errors.Join(err, opened.Close()); err != nil {
		return nil, err
	}
	entries := make([]entry, 0, len(infos))
	for _, info := range infos {
		if f.checkName(info.Name()) != nil {
			continue
		}
		path := dir + info.Name()
		if info.IsDir() {
			path += "/"
		}
		entries = append(entries, entry{path, info})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return entries, nil
}
