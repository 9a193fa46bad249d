package dataset

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/scorer"
)

// catalogue holds a brain's documents by path. It tells which of them a daemon
// means, and is nil when it is not known what a brain holds.
type Paths map[string][]byte

func PathsOf(docs []Doc) Paths {
	if docs == nil {
		return nil
	}
	known := Paths{}
	for _, d := range docs {
		known[d.Path] = d.Data
	}
	return known
}

// cataloguesOf gives the catalogue of each brain by name.
func PathsByBrain(brains []Brain) map[string]Paths {
	out := map[string]Paths{}
	for _, b := range brains {
		out[b.Name] = PathsOf(b.Docs)
	}
	return out
}

func (k Paths) Has(path string) bool {
	_, ok := k[path]
	return ok
}

// longestPath is the longest path that is looked for in a catalogue, in bytes: what
// a daemon sends must not make the search long.
const longestPath = 4096

// name gives a daemon's path as the corpus has it: without SeedRoot, or else the
// longest end of it, after a slash, that is a path of the corpus, since daemons
// may put documents below folders of their own. Of a brain whose documents are
// not known only SeedRoot is taken off: the end of a path is no proof when another
// document may have it.
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

// gold gives an expected path as the corpus has it.
func (k Paths) Gold(path string) string {
	if k.Has(path) {
		return path
	}
	return strings.TrimPrefix(path, result.SeedRoot)
}

// documents names the documents of a chunk: the gold ones among its own and its
// duplicates, by path, or else its own by the first name it has.
func (k Paths) Documents(c result.Chunk, gold scorer.Ranking) []string {
	var out []string
	path, id := k.Name(c.Path), k.Name(c.DocumentID)
	if g, ok := k.among(gold, path, id); ok {
		out = append(out, g)
	}
	for _, d := range c.Duplicates {
		if g, ok := k.among(gold, k.Name(d)); ok && k.holds(g, c.Text) {
			out = append(out, g)
		}
	}
	if out == nil {
		return []string{cmp.Or(path, id, c.ChunkID)}
	}
	slices.Sort(out)
	return out
}

// among gives the gold document that has one of the names.
func (k Paths) among(gold scorer.Ranking, names ...string) (path string, ok bool) {
	for _, g := range gold {
		if slices.Contains(names, k.Gold(g.Path)) {
			return g.Path, true
		}
	}
	return "", false
}

// holds tells whether a gold document has a text that a daemon says it has: if it
// could name any as a duplicate, it would find all gold by naming every document.
// Of a brain whose documents are not known its word is taken.
func (k Paths) holds(gold, text string) bool {
	return k == nil || text != "" && bytes.Contains(k[k.Gold(gold)], []byte(text))
}
