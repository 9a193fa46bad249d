package ingest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// contents has the names of the documents of a haystack.
type contents struct {
	haystack string
	// paths are the paths of the documents, without texts. They are nil if the documents are
	// unknown.
	paths *dataset.Paths
	dates map[string]string // of the documents that have one, by path

	sessions, messages, documents int
}

// keep keeps the names of a haystack. Haystacks in a shared brain must have different paths.
func (f *filler) keep(h source.Haystack) error {
	k := &contents{haystack: h.ID, sessions: len(h.Sessions)}
	if h.Sessions != nil || h.Docs != nil {
		k.paths, k.dates = dataset.NewPaths(), map[string]string{}
	}
	for _, d := range h.Docs {
		k.add(d.Path, d.Date())
	}
	for _, s := range h.Sessions {
		k.add(s.Path, s.Date)
		k.messages += len(messagesOf(s))
	}
	k.documents = k.paths.Len()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Shared != "" && f.Mode == Bulk {
		for path := range k.paths.All() {
			if other := f.owners[path]; other != "" && other != h.ID {
				return fmt.Errorf("the document %q occurs in the haystacks %s and %s, which cannot share "+
					"a brain; leave --shared-brain out", path, other, h.ID)
			}
			f.owners[path] = h.ID
		}
	}
	for _, s := range h.Sessions {
		f.result.sessions[strings.ToLower(s.ID)] = s.Path
	}
	f.result.haystacks[h.Brain] = k
	return nil
}

// add adds the name of a document and its date.
func (k *contents) add(path, date string) {
	k.paths.Add(path, nil)
	if date != "" {
		k.dates[path] = date
	}
}

// Documents returns the session documents (source.Session.Path) to which a chunk belongs, like
// dataset.Paths.Documents: the gold ones among its own and its duplicates, ordered by path, or its
// own if none is gold. A chunk belongs to a session if it is from the session's document, if the
// daemon says so, or if its path contains the session's id. A duplicate counts only if the session
// contains the text of the chunk. Documents is safe for concurrent use.
func (f *FilledBrains) Documents(
	q dataset.Question, c result.Chunk, gold scorer.Ranking,
) []string {
	k := f.haystacks[q.Brain]
	if k == nil || k.paths == nil {
		return (*dataset.Paths)(nil).Documents(c, gold)
	}
	own := f.names(q.Brain, c)
	var out []string
	add := func(names []string) {
		for _, g := range gold {
			if slices.Contains(names, k.paths.Gold(g.Path)) && !slices.Contains(out, g.Path) {
				out = append(out, g.Path)
			}
		}
	}
	add(own)
	if f.byText && !slices.ContainsFunc(own, k.paths.Has) {
		add(f.containing(k, gold, c.Text))
	}
	for _, d := range c.Duplicates {
		names := f.names(q.Brain, result.Chunk{Path: d})
		if isGold(k.paths, gold, names) && f.contains(k, names, c.Text) {
			add(names)
		}
	}
	if out == nil {
		return []string{cmp.Or(append(own, c.ChunkID)...)}
	}
	slices.Sort(out)
	return out
}

// Date implements harness.Documents. If the service does not name the document of a chunk, the date
// is the latest date of the documents that contain its text.
func (f *FilledBrains) Date(q dataset.Question, c result.Chunk) string {
	k := f.haystacks[q.Brain]
	if k == nil {
		return ""
	}
	own := f.names(q.Brain, c)
	if i := slices.IndexFunc(own, k.paths.Has); i >= 0 {
		return k.dates[own[i]]
	}
	last := ""
	if f.byText && scorer.WordsOf(c.Text).Identify() {
		f.whose(k, nil, c.Text, func(path string) { last = max(last, k.dates[path]) })
	}
	return last
}

// containing returns the gold documents that contain the text of a chunk. It returns none for a
// text with too few words to identify a document.
func (f *FilledBrains) containing(k *contents, gold scorer.Ranking, text string) (paths []string) {
	if !scorer.WordsOf(text).Identify() {
		return nil
	}
	for _, g := range gold {
		if path := k.paths.Gold(g.Path); f.contains(k, []string{path}, text) {
			paths = append(paths, path)
		}
	}
	if len(paths) > 0 {
		f.textMatches.Add(1)
	}
	return paths
}

// ByText returns the number of chunks that were matched by their text, because the service does not
// name their documents.
func (f *FilledBrains) ByText() int { return int(f.textMatches.Load()) }

func isGold(paths *dataset.Paths, gold scorer.Ranking, names []string) bool {
	return slices.ContainsFunc(gold, func(g scorer.Gold) bool {
		return slices.Contains(names, paths.Gold(g.Path))
	})
}

// Err returns the first error of rereading a haystack to check a duplicate. Such a duplicate does
// not count, so that the retrieval figures may be too low.
func (f *FilledBrains) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// names returns the possible names of a chunk's document in the haystack of a brain, from the
// chunk's session, path and document.
func (f *FilledBrains) names(brain string, c result.Chunk) []string {
	if path := f.sessions[strings.ToLower(c.SessionID)]; path != "" {
		return []string{path}
	}
	var paths *dataset.Paths
	if k := f.haystacks[brain]; k != nil {
		paths = k.paths
	}
	var names []string
	for _, name := range []string{c.Path, c.DocumentID} {
		if name == "" {
			continue
		}
		if n := paths.Name(name); paths.Has(n) {
			return []string{n}
		} else if path := f.sessionIn(name); path != "" {
			return []string{path}
		} else {
			names = append(names, n)
		}
	}
	return names
}

// Limits of names in which ids are searched for, so that a daemon cannot slow down the search.
const (
	longestName    = 4096
	longestSegment = 256
)

// sessionIn returns the path of the session whose id is in a daemon's path, or "". The id is a
// segment, or a part of one delimited by characters that are neither letters nor digits. The first
// segment with an id counts, and in it the longest id.
func (f *FilledBrains) sessionIn(name string) string {
	if len(name) > longestName {
		return ""
	}
	for segment := range strings.SplitSeq(strings.ToLower(name), "/") {
		if len(segment) > longestSegment {
			continue
		}
		found, length := "", 0
		starts, ends := edges(segment)
		for _, start := range starts {
			for _, end := range ends {
				if path := f.sessions[segment[start:max(start, end)]]; path != "" && end-start > length {
					found, length = path, end-start
				}
			}
		}
		if found != "" {
			return found
		}
	}
	return ""
}

// edges returns where words of letters and digits begin and end.
func edges(s string) (starts, ends []int) {
	inside := false
	for i, r := range s {
		word := unicode.IsLetter(r) || unicode.IsDigit(r)
		switch {
		case word && !inside:
			starts = append(starts, i)
		case !word && inside:
			ends = append(ends, i)
		}
		inside = word
	}
	if inside {
		ends = append(ends, len(s))
	}
	return starts, ends
}

// contains reports whether a document with one of the names contains the text of a chunk, verbatim
// or, for a session, by the words of its transcript. Without this check a daemon could find all
// gold by naming every document as a duplicate.
func (f *FilledBrains) contains(k *contents, names []string, text string) (found bool) {
	f.whose(k, names, text, func(string) { found = true })
	return found
}

// whose calls visit with the path of each document of a haystack that contains a text. With names,
// only documents with these names are checked. Sessions are compared by words.
func (f *FilledBrains) whose(k *contents, names []string, text string, visit func(path string)) {
	h, err := f.bench.Haystack(k.haystack)
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.err = cmp.Or(f.err, err)
		return
	}
	named := func(path string) bool { return names == nil || slices.Contains(names, path) }
	for _, d := range h.Docs {
		if named(d.Path) && contains(string(d.Data), text) {
			visit(d.Path)
		}
	}
	for _, s := range h.Sessions {
		if named(s.Path) && sessionContains(s, text) {
			visit(s.Path)
		}
	}
}

func contains(document, text string) bool {
	return text != "" && strings.Contains(document, text)
}

// sessionContains reports whether the document of a session contains a text, or whether its
// messages contain the words of the text in sequence. Daemons format transcripts in various ways:
// with roles, with names, with both or without.
func sessionContains(s source.Session, text string) bool {
	if contains(string(s.Document().Data), text) {
		return true
	}
	part := scorer.WordsOf(text)
	for _, speaker := range []func(source.Turn) string{
		func(t source.Turn) string { return t.Role + " " + t.Name },
		source.Turn.Speaker,
		func(source.Turn) string { return "" },
	} {
		var b strings.Builder
		for _, t := range s.Turns {
			b.WriteString(speaker(t) + " " + t.Text + "\n")
		}
		if scorer.WordsOf(b.String()).Quote(part) {
			return true
		}
	}
	return false
}
