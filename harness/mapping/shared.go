package mapping

import "slices"

// A service may keep equal texts once, or merge similar ones. It then gives several documents the
// same id, and a passage with this id belongs to all of them.

// sharing returns the text with the documents of an earlier text with the same id.
func (t text) sharing(earlier text) text {
	t.also = slices.DeleteFunc(earlier.documents(), func(path string) bool { return path == t.path })
	return t
}

// documents returns the documents of the text, the last one written last.
func (t text) documents() []string {
	if t.path == "" {
		return nil
	}
	return append(slices.Clone(t.also), t.path)
}

// alsoOf returns the documents before that of pathOf to which the service gave an id.
func (b *brain) alsoOf(id string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept[id].also
}

// unshare takes a document from those of an id. It reports false if the document is the only one,
// so that its text can be deleted.
func (b *brain) unshare(id, path string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.kept[id]
	rest := slices.DeleteFunc(t.documents(), func(p string) bool { return p == path })
	last := len(rest) - 1
	if last < 0 {
		return false
	}
	t.path, t.also = rest[last], rest[:last]
	b.paths[id], b.kept[id] = t.path, t
	return true
}
