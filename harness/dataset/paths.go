package dataset

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/scorer"
)

// Paths are the documents of a brain by their path in the corpus. They translate the paths that a
// daemon reports, which may differ. Paths are nil if the documents of a brain are not known.
type Paths map[string][]byte

// PathsOf returns the paths of docs, nil if docs is nil.
func PathsOf(docs []Doc) Paths {
	if docs == nil {
		return nil
	}
	paths := Paths{}
	for _, d := range docs {
		paths[d.Path] = d.Data
	}
	return paths
}

// PathsByBrain returns the paths of each brain by its name.
func PathsByBrain(brains []Brain) map[string]Paths {
	out := map[string]Paths{}
	for _, b := range brains {
		out[b.Name] = PathsOf(b.Docs)
	}
	return out
}

// Has reports whether path is the path of a document.
func (k Paths) Has(path string) bool {
	_, ok := k[path]
	return ok
}

// longestPath is the longest path that is looked up, in bytes, so that a daemon cannot make the
// lookup slow.
const longestPath = 4096

// Name converts a daemon's path to the path in the corpus. It removes SeedRoot, and then leading
// folders until the rest is a path of the corpus, because daemons may put documents into folders of
// their own. If no rest is one, or the documents are not known, it removes only SeedRoot, because
// another document may have the same end.
func (k Paths) Name(got string) string {
	got = strings.TrimPrefix(got, result.SeedRoot)
	if len(got) > longestPath {
		return got
	}
	for end, more := got, true; more; _, end, more = strings.Cut(end, "/") {
		if k.Has(end) {
			return end
		}
	}
	return got
}

// Gold converts an expected path to the path in the corpus.
func (k Paths) Gold(path string) string {
	if k.Has(path) {
		return path
	}
	return strings.TrimPrefix(path, result.SeedRoot)
}

// Documents returns the documents to which a chunk belongs: the gold ones among its own and its
// duplicates, ordered by path, or if none is gold, its own by the first name that it has.
func (k Paths) Documents(c result.Chunk, gold scorer.Ranking) []string {
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
func (k Paths) among(gold scorer.Ranking, names ...string) (path string, ok bool) {
	for _, g := range gold {
		if slices.Contains(names, k.Gold(g.Path)) {
			return g.Path, true
		}
	}
	return "", false
}

// contains reports whether a gold document contains the text that a daemon says it does. Without
// this check a daemon would find all gold by naming every document as a duplicate. If the documents
// are not known, the daemon is believed.
func (k Paths) contains(gold, text string) bool {
	return k == nil || text != "" && bytes.Contains(k[k.Gold(gold)], []byte(text))
}
