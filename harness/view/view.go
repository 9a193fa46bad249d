// Package view serves the results in a folder as web pages to the local user: a list, a page for
// each result, comparisons, trends, and the progress of runs.
//
// The pages are read-only. They work without scripts and without network, and escape all text of
// datasets, daemons and models. Requests name ids of the list, never files.
package view

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"evalctl/harness/history"
	"evalctl/harness/journal"
)

// maxNights limits a trend.
const maxNights = 60

// server serves one folder.
type server struct {
	results *history.Reader
	now     func() time.Time

	mu   sync.Mutex
	runs map[string]*journal.Follower // of the journals that were seen, by path
}

// New returns the handler for the folder root. It accepts only requests to names of this machine,
// such as localhost, as a protection against DNS rebinding; the caller must listen on a loopback
// address.
func New(root string) http.Handler {
	s := &server{results: history.NewReader(root), now: time.Now, runs: map[string]*journal.Follower{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.serve(s.list))
	mux.HandleFunc("GET /result/{id}", s.serve(s.result))
	mux.HandleFunc("GET /compare", s.serve(s.compare))
	mux.HandleFunc("GET /trend/{id}", s.serve(s.trend))
	mux.HandleFunc("GET /progress/{id}", s.serve(s.progress))
	return guarded(mux)
}

// guarded rejects requests that no link of the pages makes.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "frame-ancestors 'none'")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		switch {
		case !local(r.Host):
			http.Error(w, "evalctl show --serve answers only under names of this machine, such as localhost", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "evalctl show --serve only shows results", http.StatusMethodNotAllowed)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// local reports whether a Host header names this machine.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// reply is a page with its status, 0 for 200. location is the target of a redirect, empty for a
// page.
type reply struct {
	status   int
	policy   string // its content security policy, empty if the page has its own
	location string
	page     bytes.Buffer
}

// failure is an error that is shown as a page.
type failure struct {
	status int
	title  string
	text   string
	// links lead on from the failure.
	links []link
}

func (f *failure) Error() string { return f.text }

// notFound is the failure for an id that is not or no longer in the folder.
func notFound(what string) error {
	return &failure{status: http.StatusNotFound, title: "Not found", text: "There is no such " + what + " in the folder, or not any more."}
}

// serve returns the handler of a page. It sends the page once it is complete.
func (s *server) serve(page func(*http.Request, *history.Folder, *reply) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var rep reply
		folder, err := s.results.Read(time.Time{})
		if err == nil {
			err = page(r, folder, &rep)
		}
		if err != nil {
			rep = reply{}
			var f *failure
			if !errors.As(err, &f) {
				f = &failure{status: http.StatusInternalServerError, title: "The page cannot be shown", text: err.Error()}
			}
			rep.status = f.status
			if err := rep.write("failure", failurePage{frame{Title: f.title}, f.text, f.links}); err != nil {
				http.Error(w, "the page of an error cannot be written", http.StatusInternalServerError)
				return
			}
		}
		rep.send(w, r)
	}
}

// send sends the page, or 304 if the client has it already.
func (rep *reply) send(w http.ResponseWriter, r *http.Request) {
	if rep.location != "" {
		http.Redirect(w, r, rep.location, http.StatusSeeOther)
		return
	}
	sum := sha256.Sum256(rep.page.Bytes())
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-cache") // the folder may have changed
	h.Set("ETag", tag)
	if rep.policy != "" {
		h.Set("Content-Security-Policy", rep.policy)
	}
	if rep.status == 0 && r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if rep.status != 0 {
		w.WriteHeader(rep.status)
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(rep.page.Bytes()) // the client may have gone
	}
}

// idOf returns an id for use in URLs. It does not reveal the key.
func idOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}

// entryOf returns the result with an id.
func entryOf(f *history.Folder, id string) (*history.Entry, error) {
	i := slices.IndexFunc(f.Entries, func(e *history.Entry) bool { return e.Result != nil && idOf(e.Path) == id })
	if i < 0 {
		return nil, notFound("result")
	}
	return f.Entries[i], nil
}

// lineID returns the id of a line.
func lineID(l *history.Line) string { return idOf(l.Key()) }

// follow returns the progress of a journal's run.
func (s *server) follow(path string) (journal.Progress, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.runs[path]
	if f == nil {
		f = journal.NewFollower(path)
		s.runs[path] = f
	}
	return f.Read()
}

// journalOf returns the path of a present or former journal with an id.
func (s *server) journalOf(f *history.Folder, id string) (path string, ok bool) {
	for _, path := range f.Journals {
		if idOf(path) == id {
			return path, true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for path := range s.runs {
		if idOf(path) == id {
			return path, true
		}
	}
	return "", false
}

// gone reports whether a file is missing.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
