package history

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"evalctl/internal/inputfile"
)

// Folder is the content of a folder of results.
type Folder struct {
	Root string `json:"root"`
	// Entries are the runs, replays, sweeps and benches, newest first.
	Entries []*Entry `json:"entries"`
	// Journals are the sorted paths of journals, which exist until their runs are finished.
	Journals []string `json:"journals"`
	// Conformance and Others are the sorted paths of JSON files that are not results.
	Conformance []string `json:"conformance"`
	Others      []string `json:"others"`
	// Unreadable are the bad result files, sorted by path.
	Unreadable []Unreadable `json:"unreadable"`
}

// Unreadable is an unreadable file. The reason names the file.
type Unreadable struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// depth is the number of folder levels below the root: days, and replays of several arms.
const depth = 2

// Reader reads a folder of results repeatedly and rereads only changed files. It is safe for
// concurrent use.
type Reader struct {
	root  string
	mu    sync.Mutex
	known map[string]fileContent // by path
}

// fileContent is the cached content of a file.
type fileContent struct {
	info fs.FileInfo
	file file
}

// NewReader returns a Reader of the folder root.
func NewReader(root string) *Reader { return &Reader{root: root, known: map[string]fileContent{}} }

// Read reads a folder once, see Reader.Read.
func Read(root string, since time.Time) (*Folder, error) { return NewReader(root).Read(since) }

// Read reads the current content of the folder. Subfolders named by a date before since, in UTC,
// are skipped, and so are hidden files, irregular files, and links to folders. It returns an error
// only if the root cannot be listed; unreadable files are part of the result.
func (r *Reader) Read(since time.Time) (*Folder, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := &Folder{
		Root: r.root, Entries: []*Entry{}, Journals: []string{}, Conformance: []string{}, Others: []string{},
		Unreadable: []Unreadable{}, // empty lists, not null, as JSON
	}
	if info, err := os.Stat(r.root); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file: name the folder of results; evalctl show prints the result in a file", r.root)
	}
	paths, err := f.list(r.root, 0, since)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	paths = distinct(paths)
	read := make([]file, len(paths))
	var reading errgroup.Group
	reading.SetLimit(min(runtime.NumCPU(), 8))
	for i, p := range paths {
		if k, ok := r.known[p.path]; ok && os.SameFile(k.info, p.info) &&
			k.info.Size() == p.info.Size() && k.info.ModTime().Equal(p.info.ModTime()) {
			read[i] = k.file
			continue
		}
		reading.Go(func() error {
			read[i] = readFile(p.path)
			return nil
		})
	}
	_ = reading.Wait() // each file has its error
	clear(r.known)
	var all []*Entry
	for i, p := range paths {
		if read[i].err == nil { // an error may have passed by the next time
			r.known[p.path] = fileContent{p.info, read[i]}
		}
		if e := f.add(p.path, read[i]); e != nil {
			e.Copies = slices.Clone(p.names)
			all = append(all, e)
		}
	}
	f.Entries = unique(all)
	return f, nil
}

// folderFile is a file in a folder. names are its other hard links.
type folderFile struct {
	path  string
	info  fs.FileInfo
	link  bool
	names []string
}

// list returns the sorted JSON files in dir and below, and collects the journals.
func (f *Folder) list(dir string, level int, since time.Time) ([]folderFile, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []folderFile
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := os.Stat(path)
		link := e.Type()&fs.ModeSymlink != 0
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // removed since, or a link to nothing
		case err != nil:
			f.unreadable(path, err)
		case info.IsDir():
			if level == depth || link || level == 0 && before(e.Name(), since) {
				continue
			}
			below, err := f.list(path, level+1, since)
			if err != nil {
				f.unreadable(path, err)
			}
			files = append(files, below...)
		case !strings.HasSuffix(path, ".journal") && !strings.HasSuffix(path, ".json"):
		case link || !info.Mode().IsRegular():
			if err := inputfile.Within(f.Root, path, inputfile.Streamed); err != nil {
				f.unreadable(path, err)
				continue
			}
			fallthrough
		default:
			if strings.HasSuffix(path, ".journal") {
				f.Journals = append(f.Journals, path)
			} else {
				files = append(files, folderFile{path: path, info: info, link: link})
			}
		}
	}
	return files, nil
}

// distinct returns each file once under its first name, in order. A symbolic link does not count as
// a name.
func distinct(files []folderFile) []folderFile {
	type stamp struct{ size, changed int64 }
	out := make([]folderFile, 0, len(files))
	like := map[stamp][]int{} // indexes of out
	slices.SortStableFunc(files, func(a, b folderFile) int {
		switch {
		case a.link == b.link:
			return 0
		case a.link:
			return 1
		}
		return -1
	})
	for _, f := range files {
		key := stamp{f.info.Size(), f.info.ModTime().UnixNano()}
		i := slices.IndexFunc(like[key], func(i int) bool { return os.SameFile(out[i].info, f.info) })
		switch {
		case i < 0:
			like[key] = append(like[key], len(out))
			out = append(out, f)
		case !f.link:
			same := &out[like[key][i]]
			same.names = append(same.names, f.path)
		}
	}
	slices.SortFunc(out, func(a, b folderFile) int { return cmp.Compare(a.path, b.path) })
	return out
}

// before reports whether a folder's name is a date before since.
func before(name string, since time.Time) bool {
	_, err := time.Parse(time.DateOnly, name)
	return err == nil && name < since.UTC().Format(time.DateOnly)
}

// Below returns a path relative to the folder's root.
func (f *Folder) Below(path string) string {
	if rel, err := filepath.Rel(f.Root, path); err == nil {
		return rel
	}
	return path
}

func (f *Folder) unreadable(path string, err error) {
	f.Unreadable = append(f.Unreadable, Unreadable{path, err.Error()})
}

// add adds the content read at path, and returns a new entry if it is a measurement.
func (f *Folder) add(path string, read file) *Entry {
	switch {
	case read.gone:
	case read.err != nil:
		f.unreadable(path, read.err)
	case read.entry != nil:
		e := *read.entry
		return &e
	case read.kind == Conformance:
		f.Conformance = append(f.Conformance, path)
	default:
		f.Others = append(f.Others, path)
	}
	return nil
}

// unique returns one entry per measurement, newest first. Among several files the latest state
// counts: the complete one, or else the one that finished last.
func unique(all []*Entry) []*Entry {
	entries := []*Entry{}
	same := map[string]*Entry{}
	for _, e := range all {
		key := e.measurement()
		first := same[key]
		switch {
		case first == nil:
			same[key] = e
			entries = append(entries, e)
		case e.supersedes(first):
			e.Copies = slices.Concat(first.Copies, []string{first.Path}, e.Copies)
			*first = *e
		default:
			first.Copies = slices.Concat(first.Copies, []string{e.Path}, e.Copies)
		}
	}
	slices.SortStableFunc(entries, func(a, b *Entry) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), b.FinishedAt.Compare(a.FinishedAt), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Path, b.Path))
	})
	return entries
}

// supersedes reports whether e is a later state of the same run as o.
func (e *Entry) supersedes(o *Entry) bool {
	if (e.Stopped == "") != (o.Stopped == "") {
		return e.Stopped == ""
	}
	return e.FinishedAt.After(o.FinishedAt)
}

// measurement identifies a measurement: files with equal values are the same run or parts of it. A
// result that another scorer or judge scored again is another measurement.
func (e *Entry) measurement() string {
	return fmt.Sprint(e.Kind, e.Name, e.StartedAt.UnixNano(), e.measure)
}
