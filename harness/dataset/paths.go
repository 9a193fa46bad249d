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

// Paths are a brain's documents by path in the corpus. They resolve the paths that a daemon
// reports, which may differ, also in Unicode normal form. Nil Paths belong to a brain with unknown
// documents.
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

// Add adds a document. data is its text, nil if unknown.
func (k *Paths) Add(path string, data []byte) {
	k.docs[path] = data
	if !isASCII(path) {
		k.forms[visible.Path(path)] = path
	}
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// PathsByBrain returns the paths of each brain by name.
func PathsByBrain(brains []Brain) map[string]*Paths {
	out := map[string]*Paths{}
	for _, b := range brains {
		out[b.Name] = PathsOf(b.Docs)
	}
	return out
}

// Has reports whether a document has this path.
func (k *Paths) Has(path string) bool {
	_, ok := k.find(path)
	return ok
}

// Len returns the number of documents, 0 if unknown.
func (k *Paths) Len() int {
	if k == nil {
		return 0
	}
	return len(k.docs)
}

// Data returns the text of a document, nil if either is unknown.
func (k *Paths) Data(path string) []byte {
	path, ok := k.find(path)
	if !ok {
		return nil
	}
	return k.docs[path]
}

// All yields the paths in the corpus in unspecified order.
func (k *Paths) All() iter.Seq[string] { return maps.Keys(k.docs) }

// find returns the path in the corpus that is equal, or else equal in another normal form.
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

// longestPath limits the length of a looked-up path, in bytes, so that a daemon cannot make the
// lookup slow.
const longestPath = 4096

// Name resolves a daemon's path to the path in the corpus. It removes SeedRoot, then leading
// folders until the rest is a path of the corpus, because daemons may put documents into their own
// folders. If nothing matches or the documents are unknown, it removes only SeedRoot, because
// another document may have the same suffix.
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

// Gold resolves an expected path to the path in the corpus.
func (k *Paths) Gold(path string) string {
	for _, p := range []string{path, strings.TrimPrefix(path, result.SeedRoot)} {
		if of, ok := k.find(p); ok {
			return of
		}
	}
	return strings.TrimPrefix(path, result.SeedRoot)
}

// meant suggests the document whose path differs from an unknown path only in slashes, case, normal
// form or hidden characters, or "".
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

// Documents returns the documents that a chunk belongs to: the gold ones among its own and its
// duplicates, sorted by path, or if none is gold, its own by its first name.
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

// among returns the gold document with one of the names.
func (k *Paths) among(gold scorer.Ranking, names ...string) (path string, ok bool) {
	for _, g := range gold {
		want := visible.Path(k.Gold(g.Path))
		if slices.ContainsFunc(names, func(name string) bool { return visible.Path(name) == want }) {
			return g.Path, true
		}
	}
	return "", false
}

// contains checks a daemon's claim that a gold document contains the text. Without this check, a
// daemon could find all gold by naming every document as a duplicate. If the documents are unknown,
// the claim is accepted.
func (k *Paths) contains(gold, text string) bool {
	if k == nil {
		return true
	}
	data := k.Data(k.Gold(gold))
	return text != "" && (bytes.Contains(data, []byte(text)) ||
		strings.Contains(visible.Text(string(data)), visible.Text(text)))
}
