package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// Walk calls visit for every file below dir in ascending order of names, including links and
// special files, but not reserved names. The root is "". It does not follow links, and treats
// unreadable directories as empty. It finds and describes all files before the first call.
func (f *Files) Walk(dir string, visit func(file string, info fs.FileInfo) error) error {
	w := walker[entry]{files: f, pick: func(e entry) (entry, bool) { return e, !e.info.IsDir() }}
	found, err := w.walk(dir, dir)
	for _, e := range found {
		if err == nil {
			err = visit(e.file, e.info)
		}
	}
	return err
}

// walker calls pick for every file and directory below a directory, except reserved names, and
// returns the values that pick selects. They are in ascending order of paths, if no name is
// encoded, with a directory before its contents. pick may be called concurrently.
type walker[T any] struct {
	files *Files
	pick  func(entry) (T, bool)
	// documents leaves out everything except documents, and directories that can contain some.
	documents bool
	judge     func(path string) (ok bool, reason string) // see Files.Judge; may be nil
	skips     skips                                      // files that were left out
	encoded   atomic.Bool                                // whether there was an encoded name

	spare chan struct{} // holds a token for each goroutine that was started
}

// entry is a file or a directory in a directory.
type entry struct {
	path string // of the document
	file string // relative to the root
	sort string // path, with a slash at the end for a directory, so that it sorts like its contents
	part string // of the encoded name that the directory is a part of, or ""
	info fs.FileInfo
}

// walk walks the directory file, which has the documents below the path dir.
func (w *walker[T]) walk(file, dir string) ([]T, error) {
	w.spare = make(chan struct{}, runtime.GOMAXPROCS(0)-1)
	name := file
	if name == "" {
		name = "."
	}
	return w.subtree(w.files.Root, name, entry{path: dir, file: file})
}

// subtree walks the directory at, which is called name in parent. Opening it from there takes as
// long at any depth.
func (w *walker[T]) subtree(parent *os.Root, name string, at entry) ([]T, error) {
	root, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := w.readDir(root, at)
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
				subtrees[i], errs[i] = w.subtree(root, e.info.Name(), e)
				<-w.spare
			})
		default:
			subtrees[i], errs[i] = w.subtree(root, e.info.Name(), e)
		}
	}
	wg.Wait()
	size := len(entries)
	for _, s := range subtrees {
		size += len(s)
	}
	found := make([]T, 0, size)
	for i, e := range entries {
		switch err := errs[i]; {
		case err == nil:
		case errors.Is(err, fs.ErrNotExist):
			continue // removed in the meantime
		case isOfOneFile(err):
			w.skips.add(e.file, fmt.Sprintf("is a folder that cannot be read (%v)", rootCause(err)))
			continue
		default:
			return nil, err
		}
		if picked, ok := w.pick(e); ok {
			found = append(found, picked)
		}
		found = append(found, subtrees[i]...)
	}
	return found, nil
}

// readDir returns the entries of a directory, which is open as root, in ascending order of paths,
// without reserved names.
func (w *walker[T]) readDir(root *os.Root, at entry) ([]entry, error) {
	// Readdir on a file from a Root describes entries through its descriptor, so a path that
	// changes in the meantime cannot lead it out of the Root.
	opened, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	infos, err := opened.Readdir(-1)
	if err = errors.Join(err, opened.Close()); err != nil {
		return nil, err
	}
	path, file := at.path, at.file
	if path != "" && at.part == "" {
		path += "/"
	}
	if file != "" {
		file += "/"
	}
	entries := make([]entry, 0, len(infos))
	for _, info := range infos {
		if w.files.checkName(info.Name()) != nil {
			continue
		}
		e := entry{path: path + info.Name(), file: file + info.Name(), info: info}
		if w.documents {
			ok, reason := true, ""
			if w.judge != nil && !info.IsDir() {
				ok, reason = w.judge(e.path)
			}
			if ok {
				ok, reason = w.files.name(&e, path, at.part)
			}
			if !ok {
				if reason != "" {
					w.skips.add(e.file, reason)
				}
				continue
			}
			if e.part != "" || e.path != path+info.Name() {
				w.encoded.Store(true)
			}
		}
		if e.sort = e.path; info.IsDir() {
			e.sort += "/"
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.sort, b.sort) })
	if w.encoded.Load() {
		entries = w.withoutSecond(entries)
	}
	return entries, nil
}

// name sets the path of an entry, or its part. path is the path of the directory, with a slash.
// part is the directory's part of an encoded name. ok is false for anything except documents, and
// directories that can contain some. The package's own files get no reason.
func (f *Files) name(e *entry, path, part string) (ok bool, reason string) {
	segment, folder := e.info.Name(), e.info.IsDir()
	if !folder && !e.info.Mode().IsRegular() {
		return false, "is a link or special file"
	}
	if f.Names != nil {
		switch encoded := part + segment; {
		case folder && strings.HasPrefix(segment, partMark):
			e.path, e.part = path, encoded+"/"
			return true, ""
		case isMarked(segment):
			if encoded == probeName {
				return false, ""
			}
			if segment, ok = decodeName(encoded); !ok {
				return false, "its name begins like an encoded name, but is not one"
			}
		case part != "":
			return false, "is in a folder of encoded names, but its name is not encoded"
		case isLeftover(segment, folder):
			return false, "its name is a kind that other programs leave behind"
		}
		e.path = path + segment
	}
	// The directory has a valid path, so most names need no more than this.
	if len(e.path) <= MaxPathChars && len(segment) <= MaxSegmentBytes && utf8.ValidString(segment) &&
		!strings.ContainsAny(segment, "\\\x00/") && segment != "." && segment != ".." && strings.Count(path, "/") < MaxFolders {
		return true, ""
	}
	whole := e.path
	if folder {
		whole += "/x"
	}
	if err := ValidPath(whole); err != nil {
		return false, "it cannot be a path of documents: " + strings.TrimPrefix(err.Error(), ErrInvalidPath.Error()+": ")
	}
	return true, ""
}

// withoutSecond removes second files of a path, which have encoded names, from entries sorted by
// path.
func (w *walker[T]) withoutSecond(entries []entry) []entry {
	plain := map[string]bool{}
	for _, e := range entries {
		if !isMarked(e.info.Name()) {
			plain[e.path] = true
		}
	}
	return slices.DeleteFunc(entries, func(e entry) bool {
		second := e.part == "" && isMarked(e.info.Name()) && plain[e.path]
		if second {
			w.skips.add(e.file, "is a second file of "+quotePath(e.path))
		}
		return second
	})
}
