package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// documents are the documents below a journal's own changes.
type documents interface {
	read(ctx context.Context, path string) ([]byte, error)
	stat(ctx context.Context, path string) (FileInfo, error)
	list(ctx context.Context, dir string) ([]FileInfo, error)
	// readMany is Store.ReadMany for at least one file, all with valid paths.
	readMany(ctx context.Context, files []FileInfo) ([]Document, error)
}

// journal holds pending mutations on top of a backend and answers reads as if they had been made
// (spec 4.3, batch merging rules). Appends and renames are converted into writes and deletes at
// once, so each path is left with one write or delete to commit. A journal that is only read may
// have the zero value of changes.
type journal struct {
	base    documents
	now     func() time.Time
	changes Overlay[pending]
	steps   int // mutations so far
}

// pending is the document, or the deletion, at a path that the journal has changed.
type pending struct {
	path    string
	data    []byte
	deleted bool
	stored  bool   // the backend has a document at this path
	expect  string // Op.Expect
	when    time.Time
	step    int // number of the path's last mutation
}

// Now implements Change.
func (p pending) Now() (info FileInfo, deleted bool) {
	return FileInfo{Path: p.path, Size: int64(len(p.data)), ModTime: p.when}, p.deleted
}

func newJournal(base documents, now func() time.Time) *journal {
	return &journal{base: base, now: now, changes: NewOverlay[pending]()}
}

// read returns the content of a document, which the caller must not change.
func (j *journal) read(ctx context.Context, path string) ([]byte, error) {
	p, ok := j.changes.Docs[path]
	switch {
	case !ok:
		return j.base.read(ctx, path)
	case p.deleted:
		return nil, ErrNotFound
	}
	return p.data, nil
}

// statEntry describes the document or directory at path. The time of a directory may be zero,
// because finding it needs a listing.
func (j *journal) statEntry(ctx context.Context, path string) (FileInfo, error) {
	return j.changes.Stat(path,
		func(path string) (FileInfo, error) { return j.base.stat(ctx, path) },
		func(dir string) ([]FileInfo, error) { return j.base.list(ctx, dir) })
}

// stat is statEntry with the time of a directory filled in.
func (j *journal) stat(ctx context.Context, path string) (FileInfo, error) {
	info, err := j.statEntry(ctx, path)
	if err != nil || !info.IsDir || !info.ModTime.IsZero() {
		return info, err
	}
	files, err := j.files(ctx, path)
	if err != nil {
		return FileInfo{}, err
	}
	if len(files) == 0 {
		return FileInfo{}, ErrNotFound
	}
	info = FileInfo{Path: path, IsDir: true}
	for _, f := range files {
		info.ModTime = latest(info.ModTime, f.ModTime)
	}
	return info, nil
}

// files returns every document below dir, with the pending changes applied.
func (j *journal) files(ctx context.Context, dir string) ([]FileInfo, error) {
	return j.changes.List(dir, func(dir string) ([]FileInfo, error) { return j.base.list(ctx, dir) })
}

// apply makes one mutation and returns the event for it.
func (j *journal) apply(ctx context.Context, op Op) (ChangeEvent, error) {
	if err := op.check(); err != nil {
		return ChangeEvent{}, err
	}
	if err := j.checkVersion(ctx, op); err != nil {
		return ChangeEvent{}, err
	}
	ev := ChangeEvent{Kind: Updated, Path: op.Path}
	created := false
	var err error
	switch op.Kind {
	case OpWrite:
		created, err = j.write(ctx, op.Path, op.Data)
	case OpAppend:
		created, err = j.append(ctx, op.Path, op.Data)
	case OpDelete:
		ev.Kind = Deleted
		err = j.delete(ctx, op.Path)
	case OpRename:
		ev = ChangeEvent{Kind: Renamed, Path: op.To, OldPath: op.Path}
		err = j.rename(ctx, op.Path, op.To)
	}
	if created {
		ev.Kind = Created
	}
	if err == nil && op.Expect != "" {
		p := j.changes.Docs[op.Path]
		p.expect = op.Expect
		j.changes.Put(op.Path, p)
	}
	return ev, err
}

// checkVersion compares Op.Expect with the version in the backend, regardless of pending changes.
func (j *journal) checkVersion(ctx context.Context, op Op) error {
	if op.Expect == "" {
		return nil
	}
	info, err := j.base.stat(ctx, op.Path)
	if err != nil && !IsNotFound(err) {
		return err
	}
	if info.Version != op.Expect {
		return ErrConflict
	}
	return nil
}

func (j *journal) write(ctx context.Context, path string, data []byte) (created bool, err error) {
	exists, err := j.checkTarget(ctx, path)
	if err != nil {
		return false, err
	}
	// Clipped so that a later append cannot write into the caller's array.
	j.put(path, pending{data: slices.Clip(data)}, exists)
	return !exists, nil
}

func (j *journal) append(ctx context.Context, path string, data []byte) (created bool, err error) {
	exists, err := j.checkTarget(ctx, path)
	if err != nil {
		return false, err
	}
	var base []byte
	if exists {
		if base, err = j.read(ctx, path); err != nil {
			return false, err
		}
	}
	j.put(path, pending{data: append(base, data...)}, exists)
	return !exists, nil
}

func (j *journal) delete(ctx context.Context, path string) error {
	info, err := j.statEntry(ctx, path)
	if err != nil {
		return err
	}
	if info.IsDir {
		return ErrNotFound
	}
	j.put(path, pending{deleted: true}, true)
	return nil
}

func (j *journal) rename(ctx context.Context, from, to string) error {
	data, err := j.read(ctx, from)
	if err != nil {
		return err
	}
	if _, err := j.write(ctx, to, data); err != nil {
		return fmt.Errorf("to %s: %w", quotePath(to), err)
	}
	if from != to {
		j.put(from, pending{deleted: true}, true)
	}
	return nil
}

// checkTarget checks that there can be a document at path, and reports whether there is one.
func (j *journal) checkTarget(ctx context.Context, path string) (exists bool, err error) {
	info, err := j.statEntry(ctx, path)
	switch {
	case err == nil && info.IsDir:
		return false, invalid("is a directory")
	case err == nil:
		return true, nil
	case !errors.Is(err, ErrNotFound):
		return false, err
	}
	for dir := parent(path); dir != ""; dir = parent(dir) {
		info, err := j.statEntry(ctx, dir)
		switch {
		case errors.Is(err, ErrNotFound):
			continue
		case err != nil:
			return false, err
		case !info.IsDir:
			return false, invalid("is below the document " + quotePath(dir))
		}
		break // all parents of a directory are directories
	}
	return false, nil
}

// put sets the pending state of path. exists reports whether there was a document before.
func (j *journal) put(path string, p pending, exists bool) {
	p.stored = exists
	if old, changed := j.changes.Docs[path]; changed {
		p.stored, p.expect = old.stored, old.expect
	}
	j.steps++
	p.path, p.step, p.when = path, j.steps, timestamp(j.now)
	j.changes.Put(path, p)
}

// merged returns the operations to commit, at most one for each path, in the order of each path's
// last mutation, and an event for each. A document that was created and deleted again has neither.
func (j *journal) merged() ([]Op, []ChangeEvent) {
	var ops []Op
	var events []ChangeEvent
	for _, p := range slices.SortedFunc(maps.Values(j.changes.Docs), func(a, b pending) int { return cmp.Compare(a.step, b.step) }) {
		op := Op{Kind: OpWrite, Path: p.path, Data: p.data, Expect: p.expect, New: !p.stored}
		ev := ChangeEvent{Kind: Created, Path: p.path}
		switch {
		case p.deleted && !p.stored:
			continue
		case p.deleted:
			op.Kind, ev.Kind = OpDelete, Deleted
		case p.stored:
			ev.Kind = Updated
		}
		ops = append(ops, op)
		events = append(events, ev)
	}
	return ops, events
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
