package ingest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/visible"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// contents are the names of what a haystack has.
type contents struct {
	haystack string
	// paths are those of the documents, without their texts. They are nil if the documents are not
	// known.
	paths *dataset.Paths
	dates map[string]string // of the documents that have one, by path

	sessions, messages, documents int
}

// keep keeps the names of a haystack. Two haystacks in a shared brain must not have the same path.
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
		f.filled.sessions[strings.ToLower(s.ID)] = s.Path
	}
	f.filled.haystacks[h.Brain] = k
	return nil
}

// add adds the name of a document and its date.
func (k *contents) add(path, date string) {
	k.paths.Add(path, nil)
	if date != "" {
		k.dates[path] = date
	}
}

// Documents returns the session documents (source.Session.Path) to which a chunk belongs, as
// dataset.Paths.Documents does: the gold ones among its own and its duplicates, ordered by path, or
// if none is gold, its own. A chunk belongs to a session if it is from the document of the session,
// if the daemon says that it is from that session, or if the session's id is in its path. A
// duplicate counts only if the session contains the text of the chunk. Documents may be called
// concurrently.
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

// Date implements harness.Documents. It is the last one of the documents that contain the text of a
// chunk that the service does not name.
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
	if f.byText && strings.Count(words(c.Text), " ") > fewestWords {
		f.whose(k, nil, c.Text, func(path string) { last = max(last, k.dates[path]) })
	}
	return last
}

// containing returns the gold documents that contain the text of a chunk, which must have some words
// to say where it is from.
func (f *FilledBrains) containing(k *contents, gold scorer.Ranking, text string) (paths []string) {
	if strings.Count(words(text), " ") <= fewestWords {
		return nil
	}
	for _, g := range gold {
		if path := k.paths.Gold(g.Path); f.contains(k, []string{path}, text) {
			paths = append(paths, path)
		}
	}
	if len(paths) > 0 {
		f.found.Add(1)
	}
	return paths
}

// fewestWords is how many words a text needs to say by itself where it is from, with the spaces
// around them.
const fewestWords = 3

// ByText returns how many chunks were found by their text, because the service does not say which
// documents they are from.
func (f *FilledBrains) ByText() int { return int(f.found.Load()) }

func isGold(paths *dataset.Paths, gold scorer.Ranking, names []string) bool {
	return slices.ContainsFunc(gold, func(g scorer.Gold) bool {
		return slices.Contains(names, paths.Gold(g.Path))
	})
}

// Err returns the first error of reading a haystack again to check a duplicate. The duplicate did
// not count then, so that the figures of retrieval may be too low.
func (f *FilledBrains) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// names returns what the document of a chunk may be called in the haystack of a brain, by what the
// daemon says about its session, its path and its document.
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

// Names of daemons that are longer are not searched for ids, so that they cannot make it slow.
const (
	longestName    = 4096
	longestSegment = 256
)

// sessionIn returns the path of the session whose id is in a daemon's path, or "". The id is a
// segment, or a part of one between characters that are neither letters nor digits. Of several, the
// longest one in the first segment that has one is chosen.
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

// contains reports whether a document with one of the names contains the text of a chunk: as it is,
// or its words as those of the session's transcript. Without this check a daemon would find all
// gold by naming every document as a duplicate.
func (f *FilledBrains) contains(k *contents, names []string, text string) (found bool) {
	f.whose(k, names, text, func(string) { found = true })
	return found
}

// whose calls visit with the path of each document of a haystack that contains a text, or of those
// with a name. Sessions are compared by words.
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
// messages contain the words of the text one after the other. Daemons write transcripts in forms of
// their own: with roles, with names, with both or without.
func sessionContains(s source.Session, text string) bool {
	if contains(string(s.Document().Data), text) {
		return true
	}
	part := words(text)
	if part == "  " {
		return false
	}
	for _, speaker := range []func(source.Turn) string{
		func(t source.Turn) string { return t.Role + " " + t.Name },
		source.Turn.Speaker,
		func(source.Turn) string { return "" },
	} {
		var b strings.Builder
		for _, t := range s.Turns {
			b.WriteString(speaker(t) + " " + t.Text + "\n")
		}
		if strings.Contains(words(b.String()), part) {
			return true
		}
	}
	return false
}

// words returns the words of a text in lower case, each between spaces.
func words(text string) string {
	return " " + strings.Join(strings.FieldsFunc(visible.Folded(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), " ") + " "
}
