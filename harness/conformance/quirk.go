package conformance

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"evalctl/daemon/protocol"
)

// quirks are deviations that show in the responses to many requests. One check is about each of
// them. For all other checks they are removed from responses, so that one defect is one finding.
// A probe before the checks looks for files and folders. Files that the daemon adds later, and
// envelopes, are found when they appear. It is safe for concurrent use.
type quirks struct {
	folders bool // recursive listings have rows for folders; only the probe sets it

	mu        sync.Mutex
	own       []string            // paths that the daemon created by itself
	sent      map[string][]string // what each brain was sent, for the paths in it
	envelopes map[string]envelope // by route
	seen      []sighting
	begun     bool // the probe is over
}

// sighting is the first response in which a quirk was seen, and the check that is about it.
type sighting struct {
	check, text string
	err         error // a contradiction
}

// The causes of the checks about quirks.
const (
	ownFileCause   = "files that the daemon adds are shown as documents"
	folderRowCause = "recursive listings have rows for folders"
)

// probeLimit bounds a request that looks for quirks of a fast daemon. If one takes longer, there
// are no known ones.
const probeLimit = 5 * time.Second

// probeQuirks writes a document to an empty brain, searches it and lists it. Some daemons create
// the files of an index at the first search. Requests to the route deadly are left out.
func (d *target) probeQuirks(ctx context.Context, brain, deadly string) {
	c := &client{target: d, brain: brain}
	once := func(r request) (*response, error) {
		limited, cancel := context.WithTimeoutCause(ctx, d.patience(probeLimit), errCheckTimeout)
		defer cancel()
		return c.do(limited, r)
	}
	do := func(r request) *response {
		if d.exchange(r, brain).route == deadly {
			return nil
		}
		res, err := once(r)
		if err == nil && res.status >= 500 {
			failed := res.seen
			if res, err = once(r); err == nil && res.status/100 == 2 {
				d.strayed([]*exchange{failed})
			}
		}
		if err != nil || res.status/100 != 2 {
			return nil
		}
		return res
	}
	do(putOf(probeDocument, "probe"))
	do(searchOf(object{"query": "probe"}))
	if listing := do(listOf("recursive", "true", "include_generated", "true")); listing != nil {
		d.quirks.probeEntries(listing, probeDocument)
	}
	d.quirks.mu.Lock()
	defer d.quirks.mu.Unlock()
	d.quirks.begun = true
}

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
		case p != written && p != "":
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

// add adds a path that the daemon created by itself, which seen shows.
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

// noOwnFiles requires all paths to be those of documents that were written.
func noOwnFiles(paths []string, written func(string) bool) error {
	if own := slices.DeleteFunc(paths, written); len(own) > 0 {
		return ownFileError(own)
	}
	return nil
}

func folderRowError(p string) error {
	return asCause(folderRowCause, "want no rows for folders, got %q", p)
}

// texts says what is removed from responses.
func (q *quirks) texts() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []string
	for _, s := range q.seen {
		all = append(all, s.text)
	}
	return all
}

// accuse makes the check about each quirk broken, if it ran and did not see the quirk itself: a
// file may appear late.
func (q *quirks) accuse(d *target, results []Result) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range q.seen {
		i := slices.IndexFunc(results, func(r Result) bool { return r.ID == s.check })
		if i < 0 || results[i].Verdict == Broken {
			continue
		}
		results[i].Verdict, results[i].Reason = Broken, ""
		d.explain(&results[i], s.err, nil)
	}
}

// note remembers what a brain was sent.
func (q *quirks) note(r request, brain string) {
	const most = 1 << 16 // larger bodies have no paths that could be the daemon's
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

// forget forgets what a brain was sent.
func (q *quirks) forget(brain string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.sent, brain)
}

// isOwn reports whether the daemon created a path by itself. A hidden file whose name no request to
// the brain had is the daemon's, also if the probe did not see it.
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
	q.add(p, seen)
	return true
}

// isUnsent reports whether a path has a hidden segment that no request to the brain had.
func (q *quirks) isUnsent(p, brain string) bool {
	for segment := range strings.SplitSeq(p, "/") {
		if strings.HasPrefix(segment, ".") && !slices.ContainsFunc(q.sent[brain], func(text string) bool {
			return strings.Contains(text, segment)
		}) {
			return true
		}
	}
	return false
}

// sameFile reports whether a path is a known own file, one of the files that a database keeps next
// to it, or in the same hidden folder.
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
	case searchShape, recallShape:
		q.filter(res, "chunks", func(e object, _ []any) bool {
			p, _ := e["path"].(string)
			return q.isOwn(p, brain, res.seen)
		})
	}
}

// filter removes the elements of an array in a response that are quirks. A response without any
// keeps its bytes.
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

// isFolderRow reports whether an entry of a recursive listing is a folder, however it says so.
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

// isOwnEvent reports whether a frame reports a change of a file that the daemon added.
func (q *quirks) isOwnEvent(f frame, brain string, seen *exchange) bool {
	if f.name != protocol.EventChange {
		return false
	}
	o, err := f.object()
	if err != nil {
		return false
	}
	p, _ := o["path"].(string)
	withFrame := seen.answered(&response{status: http.StatusOK, body: []byte(f.data)})
	return q.isOwn(p, brain, withFrame)
}
