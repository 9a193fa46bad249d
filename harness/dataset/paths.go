package dataset

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"maps"
	gopath "path"
	"slices"
	"strings"
	"unicode/utf8"

	"evalctl/harness/result"
	"evalctl/internal/visible"
	"evalctl/scorer"
)

// Paths are the documents of a brain by their path in the corpus. They translate the paths that a
// daemon reports, which may differ, in their Unicode normal form too. Nil Paths are of a brain
// whose documents are not known.
type Paths struct {
	docs  map[string][]byte
	forms map[string]string // the path in the corpus by its visible.Path, of paths that are not ASCII
}

// PathsOf returns the paths of docs, nil if docs is nil.
func PathsOf(docs []Doc) *Paths {
	if docs == nil {
		return nil
	}
	paths := NewPaths()
	for _, d := range docs {
		paths.Add(d.Path, d.Data)
	}
	return paths
}

// NewPaths returns the paths of a brain without documents.
func NewPaths() *Paths { return &Paths{docs: map[string][]byte{}, forms: map[string]string{}} }

// Add adds a document, of which data is the text if it is known.
func (k *Paths) Add(path string, data []byte) {
	k.docs[path] = data
	if !isASCII(path) {
		k.forms[visible.Path(path)] = path
	}
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// PathsByBrain returns the paths of each brain by its name.
func PathsByBrain(brains []Brain) map[string]*Paths {
	out := map[string]*Paths{}
	for _, b := range brains {
		out[b.Name] = PathsOf(b.Docs)
	}
	return out
}

// Has reports whether path is the path of a document.
func (k *Paths) Has(path string) bool {
	_, ok := k.find(path)
	return ok
}

// Len returns how many documents there are, 0 if they are not known.
func (k *Paths) Len() int {
	if k == nil {
		return 0
	}
	return len(k.docs)
}

// Data returns the text of a document, nil if it or the document is not known.
func (k *Paths) Data(path string) []byte {
	path, ok := k.find(path)
	if !ok {
		return nil
	}
	return k.docs[path]
}

// All yields the paths in the corpus, in any order.
func (k *Paths) All() iter.Seq[string] { return maps.Keys(k.docs) }

// find returns the path in the corpus: the same, or else one of another normal form.
func (k *Paths) find(path string) (string, bool) {
	if k == nil {
		return "", false
	}
	if _, ok := k.docs[path]; ok || len(k.forms) == 0 || isASCII(path) {
		return path, ok
	}
	of, ok := k.forms[visible.Path(path)]
	return of, ok
}

// longestPath is the longest path that is looked up, in bytes, so that a daemon cannot make the
// lookup slow.
const longestPath = 4096

// Name converts a daemon's path to the path in the corpus. It removes SeedRoot, and then leading
// folders until the rest is a path of the corpus, because daemons may put documents into folders of
// their own. If no rest is one, or the documents are not known, it removes only SeedRoot, because
// another document may have the same end.
func (k *Paths) Name(got string) string {
	got = strings.TrimPrefix(got, result.SeedRoot)
	if len(got) > longestPath {
		return got
	}
	for end, more := got, true; more; _, end, more = strings.Cut(end, "/") {
		if path, ok := k.find(end); ok {
			return path
		}
	}
	return got
}

// Gold converts an expected path to the path in the corpus.
func (k *Paths) Gold(path string) string {
	for _, p := range []string{path, strings.TrimPrefix(path, result.SeedRoot)} {
		if of, ok := k.find(p); ok {
			return of
		}
	}
	return strings.TrimPrefix(path, result.SeedRoot)
}

// meant asks whether an unknown path means the document whose path differs from it only in slashes,
// case, normal form or hidden characters. It is empty if there is none.
func (k *Paths) meant(path string) string {
	loose := func(p string) string {
		p = strings.ReplaceAll(visible.Folded(p), `\`, "/")
		return strings.Trim(gopath.Clean("/"+strings.TrimSpace(strings.TrimPrefix(p, result.SeedRoot))), "/")
	}
	want, best := loose(path), ""
	for p := range k.docs {
		if loose(p) == want && (best == "" || p < best) {
			best = p
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", best)
}

// Documents returns the documents to which a chunk belongs: the gold ones among its own and its
// duplicates, ordered by path, or if none is gold, its own by the first name that it has.
func (k *Paths) Documents(c result.Chunk, gold scorer.Ranking) []string {
	var out []string
	path, id := k.Name(c.Path), k.Name(c.DocumentID)
	if g, ok := k.among(gold, path, id); ok {
		out = append(out, g)
	}
	for _, d := range c.Duplicates {
		if g, ok := k.among(gold, k.Name(d)); ok && k.contains(g, c.Text) {
			out = append(out, g)
		}
	}
	if out == nil {
		return []string{cmp.Or(path, id, c.ChunkID)}
	}
	slices.Sort(out)
	return out
}

// among returns the gold document that has one of the names.
func (k *Paths) among(gold scorer.Ranking, names ...string) (path string, ok bool) {
	for _, g := range gold {
		want := visible.Path(k.Gold(g.Path))
		if slices.ContainsFunc(names, func(name string) bool { return visible.Path(name) == want }) {
			return g.Path, true
		}
	}
	return "", false
}

// contains reports whether a gold document contains the text that a daemon says it does. Without
// this check a daemon would find all gold by naming every document as a duplicate. If the documents
// are not known, the daemon is believed.
func (k *Paths) contains(gold, text string) bool {
	if k == nil {
		return true
	}
	data := k.Data(k.Gold(gold))
	return text != "" && (bytes.Contains(data, []byte(text)) ||
		strings.Contains(visible.Text(string(data)), visible.Text(text)))
}
