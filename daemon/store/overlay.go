package store

import "slices"

// Change is a document that was written, or deleted, on top of stored ones.
type Change interface {
	// Now describes the document, unless it was deleted.
	Now() (info FileInfo, deleted bool)
}

// Overlay combines stored documents with changes on top of them. Only a value of NewOverlay can be
// changed; the zero value has no changes.
type Overlay[C Change] struct {
	Docs map[string]C // by path; changed by Put and Remove only
	// For each directory, the numbers of documents and of deletions in Docs below it.
	written, deleted map[string]int
}

// NewOverlay returns an overlay without changes.
func NewOverlay[C Change]() Overlay[C] {
	return Overlay[C]{Docs: map[string]C{}, written: map[string]int{}, deleted: map[string]int{}}
}

// Put replaces the change of a document.
func (o *Overlay[C]) Put(path string, c C) {
	o.Remove(path)
	o.Docs[path] = c
	o.count(path, c, +1)
}

// Remove forgets the change of a document, if there is one.
func (o *Overlay[C]) Remove(path string) {
	if old, ok := o.Docs[path]; ok {
		delete(o.Docs, path)
		o.count(path, old, -1)
	}
}

func (o *Overlay[C]) count(path string, c C, n int) {
	counts := o.written
	if _, deleted := c.Now(); deleted {
		counts = o.deleted
	}
	for dir := parent(path); dir != ""; dir = parent(dir) {
		if counts[dir] += n; counts[dir] == 0 {
			delete(counts, dir)
		}
	}
}

// Find describes the document or directory at path if the changes determine it. ok is false if the
// stored documents decide.
func (o *Overlay[C]) Find(path string) (info FileInfo, ok bool, err error) {
	c, changed := o.Docs[path]
	if changed {
		if info, deleted := c.Now(); !deleted {
			return info, true, nil
		}
	}
	switch {
	case o.written[path] > 0:
		return FileInfo{Path: path, IsDir: true}, true, nil
	case changed:
		return FileInfo{}, true, ErrNotFound
	}
	return FileInfo{}, false, nil
}

// Stat describes the document or directory at path. stat and list describe the stored documents, as
// in Backend. The time of a directory can be zero.
func (o *Overlay[C]) Stat(path string, stat func(string) (FileInfo, error), list func(string) ([]FileInfo, error)) (FileInfo, error) {
	if info, ok, err := o.Find(path); ok {
		return info, err
	}
	info, err := stat(path)
	if err != nil || !info.IsDir || o.deleted[path] == 0 {
		return info, err
	}
	left, err := o.List(path, list)
	if err == nil && len(left) == 0 {
		err = ErrNotFound
	}
	return FileInfo{Path: path, IsDir: true}, err
}

// List returns every document below dir, in any order. list returns the stored ones, as in Backend.
func (o *Overlay[C]) List(dir string, list func(string) ([]FileInfo, error)) ([]FileInfo, error) {
	files, err := list(dir)
	if err != nil || len(o.Docs) == 0 {
		return files, err
	}
	files = slices.DeleteFunc(files, func(f FileInfo) bool {
		_, changed := o.Docs[f.Path]
		return changed
	})
	for path, c := range o.Docs {
		if info, deleted := c.Now(); !deleted && isBelow(path, dir) {
			files = append(files, info)
		}
	}
	return files, nil
}
