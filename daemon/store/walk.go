package store

import (
	"cmp"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Walk calls visit for everything below dir, "" being the root, but directories
// and reserved names, ascending by path. What is there is described without
// following links, and all of it before the first call.
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

// walk gives what pick makes of everything below dir, directories included, but
// of no reserved names: ascending by path, a directory before what lies below it.
// Pick runs on all processors.
func walk[T any](f *Files, dir string, pick func(path string, info fs.FileInfo) (T, bool)) ([]T, error) {
	if dir != "" {
		dir += "/"
	}
	w := walker[T]{files: f, pick: pick, spare: make(chan struct{}, runtime.GOMAXPROCS(0)-1)}
	return w.below(dir)
}

type walker[T any] struct {
	files *Files
	pick  func(path string, info fs.FileInfo) (T, bool)
	spare chan struct{} // holds a token for each goroutine that was started
}

// entry is a name in a directory.
type entry struct {
	path string // of a directory with a slash at its end, so that it sorts as what lies below it
	info fs.FileInfo
}

// below is walk for a path that is empty or ends with a slash.
func (w *walker[T]) below(dir string) ([]T, error) {
	entries, err := w.files.entries(dir)
	if err != nil {
		return nil, err
	}
	// By entry, empty for those that are no directory.
	subtrees, errs := make([][]T, len(entries)), make([]error, len(entries))
	var wg sync.WaitGroup
	for i, e := range entries {
		if !e.info.IsDir() {
			continue
		}
		select {
		case w.spare <- struct{}{}:
			wg.Go(func() {
				subtrees[i], errs[i] = w.below(e.path)
				<-w.spare
			})
		default:
			subtrees[i], errs[i] = w.below(e.path)
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

// entries gives what lies in a directory, ascending by path, without reserved
// names.
func (f *Files) entries(dir string) ([]entry, error) {
	// Entries of a directory that a Root opened are described by its
	// descriptor, not by their path.
	opened, err := f.Root.Open(cmp.Or(strings.TrimSuffix(dir, "/"), "."))
	if err != nil {
		return nil, err
	}
	infos, err := opened.Readdir(-1)
	if err = errors.Join(err, opened.Close()); err != nil {
		return nil, err
	}
	entries := make([]entry, 0, len(infos))
	for _, info := range infos {
		if f.reserved(info.Name()) != nil {
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
