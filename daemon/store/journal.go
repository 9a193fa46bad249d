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

// journal holds pending mutations over a backend and answers reads as if they
// had happened (spec 4.3, batch merging rules). Appends and renames are turned
// into writes and deletes when they are made, so what is left to commit is one
// write or delete a path. The zero maps of a journal that only reads are fine.
type journal struct {
	base *gate
	now  func() time.Time
	docs map[string]pending
	// How many pending documents, and how many pending deletions of documents
	// of the backend, lie below each directory.
	present map[string]int
	holes   map[string]int
	steps   int
}

type pending struct {
	data    []byte
	deleted bool
	stored  bool   // the backend holds a document here
	expect  string // Op.Expect
	when    time.Time
	step    int // order of the last mutation
}

func newJournal(base *gate, now func() time.Time) *journal {
	return &journal{
		base: base, now: now,
		docs: map[string]pending{}, present: map[string]int{}, holes: map[string]int{},
	}
}

// read returns content that the caller must not change.
func (j *journal) read(ctx context.Context, path string) ([]byte, error) {
	p, ok := j.docs[path]
	switch {
	case !ok:
		return j.base.read(ctx, path)
	case p.deleted:
		return nil, ErrNotFound
	}
	return p.data, nil
}

// look says what stands at path. It may leave the time of a directory open,
// which would cost a walk.
func (j *journal) look(ctx context.Context, path string) (FileInfo, error) {
	directory := FileInfo{Path: path, IsDir: true}
	p, ok := j.docs[path]
	switch {
	case ok && !p.deleted:
		return FileInfo{Path: path, Size: int64(len(p.data)), ModTime: p.when}, nil
	case j.present[path] > 0:
		return directory, nil
	case ok:
		return FileInfo{}, ErrNotFound
	}
	info, err := j.base.stat(ctx, path)
	if err != nil || !info.IsDir || j.holes[path] == 0 {
		return info, err
	}
	left, err := j.files(ctx, path)
	if err == nil && len(left) == 0 {
		err = ErrNotFound
	}
	return directory, err
}

// stat is look with the time of a directory.
func (j *journal) stat(ctx context.Context, path string) (FileInfo, error) {
	info, err := j.look(ctx, path)
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
		info.ModTime = later(info.ModTime, f.ModTime)
	}
	return info, nil
}

// files returns every document below dir: the backend's with the pending
// changes laid over them.
func (j *journal) files(ctx context.Context, dir string) ([]FileInfo, error) {
	files, err := j.base.list(ctx, dir)
	if err != nil || len(j.docs) == 0 {
		return files, err
	}
	files = slices.DeleteFunc(files, func(f FileInfo) bool {
		_, changed := j.docs[f.Path]
		return changed
	})
	for path, p := range j.docs {
		if !p.deleted && below(path, dir) {
			files = append(files, FileInfo{Path: path, Size: int64(len(p.data)), ModTime: p.when})
		}
	}
	return files, nil
}

// apply makes one mutation and returns the event it amounts to.
func (j *journal) apply(ctx context.Context, op Op) (ChangeEvent, error) {
	if err := op.check(); err != nil {
		return ChangeEvent{}, err
	}
	if err := j.expect(ctx, op); err != nil {
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
		p := j.docs[op.Path]
		p.expect = op.Expect
		j.docs[op.Path] = p
	}
	return ev, err
}

// expect compares with the version before the commit, whatever is pending.
func (j *journal) expect(ctx context.Context, op Op) error {
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
	exists, err := j.room(ctx, path)
	if err != nil {
		return false, err
	}
	// Clipped, so that a later append cannot write into the caller's array.
	j.put(path, pending{data: slices.Clip(data)}, exists)
	return !exists, nil
}

func (j *journal) append(ctx context.Context, path string, data []byte) (created bool, err error) {
	exists, err := j.room(ctx, path)
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
	info, err := j.look(ctx, path)
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
		return fmt.Errorf("to %s: %w", printable(to), err)
	}
	if from == to {
		return nil
	}
	return j.delete(ctx, from)
}

// room checks that path can hold a document and says whether it holds one.
func (j *journal) room(ctx context.Context, path string) (exists bool, err error) {
	info, err := j.look(ctx, path)
	switch {
	case err == nil && info.IsDir:
		return false, invalid("is a directory")
	case err == nil:
		return true, nil
	case !errors.Is(err, ErrNotFound):
		return false, err
	}
	for dir := parent(path); dir != ""; dir = parent(dir) {
		info, err := j.look(ctx, dir)
		switch {
		case errors.Is(err, ErrNotFound):
			continue
		case err != nil:
			return false, err
		case !info.IsDir:
			return false, invalid("lies below the document " + printable(dir))
		}
		break // whatever contains a directory is a directory
	}
	return false, nil
}

// put records the last word on path. exists says whether there was a document.
func (j *journal) put(path string, p pending, exists bool) {
	old, touched := j.docs[path]
	if touched {
		j.count(path, old, -1)
		p.stored, p.expect = old.stored, old.expect
	} else {
		p.stored = exists
	}
	j.steps++
	p.step = j.steps
	p.when = stamp(j.now)
	j.docs[path] = p
	j.count(path, p, +1)
}

func (j *journal) count(path string, p pending, n int) {
	counts := j.present
	if p.deleted {
		counts = j.holes
	}
	for dir := parent(path); dir != ""; dir = parent(dir) {
		counts[dir] += n
	}
}

// merged returns what is left to do: one operation a path, in the order of
// each path's last mutation, and the events they amount to when nobody asked
// for the single steps. A document that came and went is not mentioned.
func (j *journal) merged() ([]Op, []ChangeEvent) {
	paths := slices.SortedFunc(maps.Keys(j.docs), func(a, b string) int {
		return cmp.Compare(j.docs[a].step, j.docs[b].step)
	})
	var ops []Op
	var events []ChangeEvent
	for _, path := range paths {
		p := j.docs[path]
		op := Op{Kind: OpWrite, Path: path, Data: p.data, Expect: p.expect}
		ev := ChangeEvent{Kind: Created, Path: path}
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

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
