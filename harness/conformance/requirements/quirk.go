package requirements

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

// quirks are deviations that appear in the responses to many requests. One check judges each of
// them. They are removed from the responses to all other checks, so that one defect is one finding.
// A probe looks for files and folders before the checks; files that the daemon adds later, and
// envelopes, are detected when they appear. It is safe for concurrent use.
type quirks struct {
	folders bool // recursive listings have rows for folders; only the probe sets it

	mu        sync.Mutex
	own       []string            // paths that the daemon created by itself
	sent      map[string][]string // what each brain was sent, for the paths in it
	envelopes map[string]envelope // by route
	seen      []sighting
	begun     bool // the probe is over
}

// sighting is the first response that showed a quirk, and the check that judges it.
type sighting struct {
	check, text string
	err         error // a contradiction
}

// The causes of the checks about quirks.
const (
	ownFileCause   = "files that the daemon adds are shown as documents"
	folderRowCause = "recursive listings have rows for folders"
)

// probeEntries looks for the daemon's own files and for folders in the listing of a brain with one
// document.
func (q *quirks) probeEntries(listing *response, written string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range entriesOf(listing) {
		p, _ := e["path"].(string)
		switch {
		case strings.TrimSuffix(p, "/") == path.Dir(written):
			q.folders = true
			q.sight("listing-recursive-no-folders", "rows for folders are removed from recursive listings",
				listing.seen.about(against(folderRowError(p))))
		case p != written && p != "" && !isGenerated(p):
			q.add(p, listing.seen)
		}
	}
}

// entriesOf returns the items of a listing that are objects.
func entriesOf(r *response) []object {
	o, _ := r.object()
	items, _ := o["items"].([]any)
	var entries []object
	for _, item := range items {
		if e, ok := item.(object); ok {
			entries = append(entries, e)
		}
	}
	return entries
}

// sight remembers a quirk.
func (q *quirks) sight(check, text string, err error) {
	q.seen = append(q.seen, sighting{check, text, err})
}

// add adds a path that the daemon created by itself, as shown by seen.
func (q *quirks) add(p string, seen *exchange) {
	q.own = append(q.own, p)
	check := "listing-only-documents"
	switch {
	case strings.HasSuffix(seen.route, "/events"):
		check = "events-only-documents"
	case strings.HasSuffix(seen.route, "/search"):
		check = "search-only-documents"
	}
	q.sight(check, "files that the daemon adds are removed from listings, searches and events: "+p,
		seen.about(against(ownFileError([]string{p}))))
}

func ownFileError(paths []string) error {
	return asCause(ownFileCause, "want only documents that were written, got %q", paths)
}

// noOwnFiles requires all paths to belong to written documents.
func noOwnFiles(paths []string, written func(string) bool) error {
	if own := slices.DeleteFunc(paths, written); len(own) > 0 {
		return ownFileError(own)
	}
	return nil
}

func folderRowError(p string) error {
	return asCause(folderRowCause, "want no rows for folders, got %q", p)
}

// note records the text of requests to a brain.
func (q *quirks) note(r request, brain string) {
	const most = 1 << 16 // larger bodies contain no paths that the daemon could have created
	if r.atRoot || r.path == "" {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sent[brain] = append(q.sent[brain], r.query)
	if r.body != nil && len(*r.body) <= most {
		q.sent[brain] = append(q.sent[brain], *r.body)
	}
}

// forget discards the record of a brain's requests.
func (q *quirks) forget(brain string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.sent, brain)
}

// isGenerated reports whether a daemon may have a file at a path by itself, which plain listings do
// not show.
func isGenerated(p string) bool { return strings.HasPrefix(path.Base(p), "_") }

// isOwn reports whether the daemon created a path by itself. A hidden or generated file that no
// request to the brain named is the daemon's, even if the probe did not see it.
func (q *quirks) isOwn(p, brain string, seen *exchange) bool {
	if p == "" {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if slices.ContainsFunc(q.own, func(own string) bool { return sameFile(p, own) }) {
		return true
	}
	if !q.begun || !q.isUnsent(p, brain) {
		return false
	}
	isPlain := strings.HasSuffix(seen.route, "/documents") && !strings.Contains(seen.line, "include_generated=true")
	if !isGenerated(p) || isPlain {
		q.add(p, seen)
	}
	return true
}

// isUnsent reports whether a path has a segment, hidden or of a generated file, that no request to
// the brain contained.
func (q *quirks) isUnsent(p, brain string) bool {
	for segment := range strings.SplitSeq(p, "/") {
		named := func(text string) bool { return strings.Contains(text, segment) }
		if segment != "" && strings.Contains("._", segment[:1]) && !slices.ContainsFunc(q.sent[brain], named) {
			return true
		}
	}
	return false
}

// sameFile reports whether a path is a known own file, a file that a database keeps beside it, or
// in the same hidden folder.
func sameFile(p, own string) bool {
	hidden, _, _ := strings.Cut(own, "/")
	return trimmed(p) == trimmed(own) ||
		strings.HasPrefix(own, ".") && strings.Contains(own, "/") && strings.HasPrefix(p, hidden+"/")
}

func trimmed(p string) string {
	for _, suffix := range []string{"-wal", "-shm", "-journal", ".lock", ".tmp"} {
		p = strings.TrimSuffix(p, suffix)
	}
	return p
}

// removeFrom removes the quirks from a response.
func (q *quirks) removeFrom(r request, brain string, res *response) {
	if r.verbatim || r.atRoot || res.status/100 != 2 {
		return
	}
	q.unwrap(r, res)
	if r.unfiltered {
		return
	}
	switch s, _ := shapeOf(r); s {
	case listingShape:
		q.filter(res, "items", func(e object, all []any) bool {
			p, _ := e["path"].(string)
			return q.isOwn(p, brain, res.seen) ||
				q.folders && strings.Contains(r.query, "recursive=true") && isFolderRow(e, all)
		})
	case searchShape:
		q.filter(res, "chunks", func(e object, _ []any) bool {
			p, _ := e["path"].(string)
			return q.isOwn(p, brain, res.seen)
		})
	}
}

// filter removes quirks from an array in a response. A response without quirks keeps its bytes.
func (q *quirks) filter(res *response, key string, isQuirk func(e object, all []any) bool) {
	o, err := res.object()
	list, ok := o[key].([]any)
	if err != nil || !ok {
		return
	}
	kept := make([]any, 0, len(list))
	for _, item := range list {
		if e, ok := item.(object); !ok || !isQuirk(e, list) {
			kept = append(kept, item)
		}
	}
	if len(kept) < len(list) {
		o[key] = kept
		res.body = encode(o)
	}
}

// isFolderRow reports whether an entry of a recursive listing is a folder, in any notation.
func isFolderRow(e object, all []any) bool {
	for _, name := range []string{"is_dir", "isDir", "is_directory", "isDirectory", "dir", "directory", "folder"} {
		if e[name] == true {
			return true
		}
	}
	for _, name := range []string{"type", "kind"} {
		if s, _ := e[name].(string); slices.Contains([]string{"dir", "directory", "folder", "tree"}, strings.ToLower(s)) {
			return true
		}
	}
	p, _ := e["path"].(string)
	if strings.HasSuffix(p, "/") {
		return true
	}
	return p != "" && slices.ContainsFunc(all, func(other any) bool {
		o, _ := other.(object)
		below, _ := o["path"].(string)
		return strings.HasPrefix(below, p+"/")
	})
}

// envelope returns how the responses of a route deviate from their shape. The first deviating
// response decides.
func (q *quirks) envelope(s shape, res *response) (envelope, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	route := res.route()
	if e, ok := q.envelopes[route]; ok {
		return e, true
	}
	e, ok := envelopeOf(s, res.body)
	if !ok {
		return envelope{}, false
	}
	q.envelopes[route] = e
	want := wanted[s]
	q.sight(want.check, fmt.Sprintf(`%s: %s is read as {"%s": …}`, route, e, want.key),
		res.seen.about(against(envelopeError(s, e.String()))))
	return e, true
}

// unwrap converts a response to the expected shape.
func (q *quirks) unwrap(r request, res *response) {
	s, ok := shapeOf(r)
	if !ok {
		return
	}
	e, ok := q.envelope(s, res)
	if !ok {
		return
	}
	var v any
	if json.Unmarshal(res.body, &v) != nil {
		return
	}
	key := wanted[s].key
	if list, isList := v.([]any); isList && e.bare {
		res.body = encode(object{key: list})
		return
	}
	o, _ := v.(object)
	if e.wrap != "" {
		if o, _ = o[e.wrap].(object); o == nil {
			return
		}
	}
	if value, ok := o[e.key]; ok && e.key != "" {
		delete(o, e.key)
		o[key] = value
	}
	if _, ok := o[key]; ok {
		res.body = encode(o)
	}
}
