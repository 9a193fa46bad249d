package store

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Skip is a file or folder among the documents that is not a document, or a document that cannot be
// read.
type Skip struct {
	Path   string // quoted, if it is not plain printable text
	Reason string // what it is, as the rest of a sentence
}

// Skips are the first skipped files and folders, ascending by path, and the number of all.
type Skips struct {
	First []Skip
	Count int
}

// Add adds one.
func (s *Skips) Add(path, reason string) {
	s.Count++
	if len(s.First) < maxSkips {
		s.First = append(s.First, Skip{quotePath(path), reason})
	}
}

// LogSkip logs a file or folder that is not a document, unless it was logged before.
func (f *Files) LogSkip(path, reason string) {
	f.skipped.mu.Lock()
	defer f.skipped.mu.Unlock()
	if f.Log != nil {
		f.skipped.log(Skip{quotePath(path), reason}, f.Log)
	}
}

// maxSkips is the most of Skips.First.
const maxSkips = 100

// skipper is implemented by backends whose documents are where other programs can put files.
type skipper interface {
	// Skipped returns the result of the last listing of all documents. Without one, it makes one.
	Skipped(ctx context.Context) (Skips, error)
	// NoteUnread records that the file of a document cannot be read.
	NoteUnread(path string, err error)
}

// Skipped returns the files and folders among the documents that are not documents, and the
// documents that could not be read. They never prevent the use of other documents. Only stores in
// files have any.
func (s *Store) Skipped(ctx context.Context) (Skips, error) {
	b, ok := s.gate.backend.(skipper)
	if !ok {
		return Skips{}, nil
	}
	found, err := within(ctx, s.gate, func() (Skips, error) { return b.Skipped(ctx) })
	return found, wrap("list", "", err)
}

// skips collects Skips. It is safe for concurrent use.
type skips struct {
	mu    sync.Mutex
	found []Skip
	count int
}

// add takes the name of a file.
func (s *skips) add(file, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	s.found = append(s.found, Skip{quotePath(file), reason})
	if len(s.found) > 2*maxSkips {
		s.trim()
	}
}

// trim requires mu.
func (s *skips) trim() {
	slices.SortFunc(s.found, func(a, b Skip) int { return strings.Compare(a.Path, b.Path) })
	s.found = s.found[:min(len(s.found), maxSkips)]
}

// skipList has the skipped files that are known, and those that were logged.
type skipList struct {
	mu     sync.Mutex
	listed bool
	found  Skips
	logged map[Skip]bool
	// bad has the reason for each document whose file cannot be used. failed is set once there was
	// one.
	bad    map[string]string
	failed atomic.Bool
}

// replace sets the files that a listing of all documents has skipped, and logs new ones.
func (l *skipList) replace(s *skips, log *slog.Logger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.trim()
	more := s.count > l.found.Count && s.count > maxSkips
	l.listed, l.found = true, Skips{s.found, s.count}
	if log == nil {
		return
	}
	for _, skip := range s.found {
		l.log(skip, log)
	}
	if more {
		log.Warn("more files are not documents", "files", s.count-maxSkips)
	}
}

// log requires mu.
func (l *skipList) log(skip Skip, log *slog.Logger) {
	if l.logged == nil {
		l.logged = map[Skip]bool{}
	}
	if !l.logged[skip] && len(l.logged) < 10*maxSkips {
		l.logged[skip] = true
		log.Warn("a file is skipped", "file", skip.Path, "because", skip.Reason)
	}
}

// NoteUnread implements an optional method of Backend.
func (f *Files) NoteUnread(path string, err error) {
	f.skipped.note(path, err, true, "cannot be read", f.Log)
}

// NoteUnwritten records whether the file of a document cannot be written for now.
func (f *Files) NoteUnwritten(path string, err error, unwritten bool) {
	f.skipped.note(path, err, unwritten, "cannot be written to its file, but is kept", f.Log)
}

// read notes whether a document could be read.
func (l *skipList) read(path string, err error, log *slog.Logger) {
	l.note(path, err, isOfOneFile(err), "cannot be read", log)
}

// note records that the file of a document is bad or, if err is nil, that it is usable again.
func (l *skipList) note(path string, err error, bad bool, what string, log *slog.Logger) {
	if !bad && (err != nil || !l.failed.Load()) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !bad {
		delete(l.bad, path)
		return
	}
	l.failed.Store(true)
	skip := Skip{quotePath(path), fmt.Sprintf("%s (%v)", what, rootCause(err))}
	if l.bad == nil {
		l.bad = map[string]string{}
	}
	if len(l.bad) < 10*maxSkips {
		l.bad[path] = skip.Reason
	}
	if log != nil {
		l.log(skip, log)
	}
}

// Skipped implements an optional method of Backend.
func (f *Files) Skipped(ctx context.Context) (Skips, error) {
	f.skipped.mu.Lock()
	listed := f.skipped.listed
	f.skipped.mu.Unlock()
	if !listed {
		if _, err := f.List(ctx, ""); err != nil {
			return Skips{}, err
		}
	}
	f.skipped.mu.Lock()
	defer f.skipped.mu.Unlock()
	all := f.skipped.found
	all.First = slices.Clone(all.First)
	for path, reason := range f.skipped.bad {
		all.First = append(all.First, Skip{quotePath(path), reason})
	}
	all.Count += len(f.skipped.bad)
	slices.SortFunc(all.First, func(a, b Skip) int { return strings.Compare(a.Path, b.Path) })
	all.First = all.First[:min(len(all.First), maxSkips)]
	return all, nil
}
