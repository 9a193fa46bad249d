// Package conformancetest makes misbehaving daemons out of a correct one. Each has exactly one
// defect, of the kinds that daemons in the field have. The tests of the conformance checks require
// that the report names this defect and nothing else.
package conformancetest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Wrapper returns a handler that behaves like another one, except for a defect.
type Wrapper func(http.Handler) http.Handler

// Match selects requests.
type Match func(*http.Request) bool

// Route matches requests by method and by the path below the brain, such as "GET /documents/read".
// The method * matches any method. "DELETE " is the deletion of a brain.
func Route(pattern string) Match {
	method, suffix, _ := strings.Cut(pattern, " ")
	return func(r *http.Request) bool {
		_, below, ok := brainPath(r)
		return ok && below == suffix && (method == "*" || method == r.Method)
	}
}

// brainPath splits the path of a request to /v1/brains/{id}/... into the id and the path below it.
func brainPath(r *http.Request) (id, below string, ok bool) {
	rest, ok := strings.CutPrefix(r.URL.Path, "/v1/brains/")
	if !ok {
		return "", "", false
	}
	id, below, _ = strings.Cut(rest, "/")
	if below != "" {
		below = "/" + below
	}
	return id, below, true
}

func isCreation(r *http.Request) bool {
	return r.URL.Path == "/v1/brains" && r.Method == http.MethodPost
}

// isListing matches listings of paths. Without a query GET /documents lists records.
func isListing(r *http.Request) bool { return Route("GET /documents")(r) && r.URL.RawQuery != "" }

// Instead returns a wrapper that serves matching requests itself. serve may call next.
func Instead(match Match, serve func(w http.ResponseWriter, r *http.Request, next http.Handler)) Wrapper {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if match(r) {
				serve(w, r, next)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// answer is a response that can be changed before it is sent.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header              { return a.header }
func (a *answer) Flush()                           {}
func (a *answer) SetWriteDeadline(time.Time) error { return nil }
func (a *answer) SetReadDeadline(time.Time) error  { return nil }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// serve returns the response of a handler.
func serve(h http.Handler, r *http.Request) *answer {
	a := &answer{header: http.Header{}}
	h.ServeHTTP(a, r)
	a.WriteHeader(http.StatusOK)
	return a
}

func (a *answer) send(w http.ResponseWriter, r *http.Request) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if r.Method == http.MethodHead || a.status == http.StatusNoContent {
		w.Header().Del("Content-Length")
		w.WriteHeader(a.status)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(a.body.Len()))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // a client that is gone reads nothing
}

// setJSON replaces the body.
func (a *answer) setJSON(v any) {
	a.body.Reset()
	_ = json.NewEncoder(&a.body).Encode(v) // cannot fail: decoded from JSON before
}

// edit changes the body if it is a JSON object.
func (a *answer) edit(change func(o map[string]any)) {
	var o map[string]any
	if json.Unmarshal(a.body.Bytes(), &o) == nil && o != nil {
		change(o)
		a.setJSON(o)
	}
}

// after changes the responses to matching requests.
func after(match Match, change func(r *http.Request, a *answer)) Wrapper {
	return Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		a := serve(next, r)
		change(r, a)
		a.send(w, r)
	})
}

// bodyObject returns the body of a request as a JSON object. The body can be read again.
func bodyObject(r *http.Request) map[string]any {
	data, _ := io.ReadAll(r.Body)
	setBody(r, data)
	var o map[string]any
	_ = json.Unmarshal(data, &o)
	return o
}

func setBody(r *http.Request, body []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}

// problem writes an error with a Problem.
func problem(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"title":"`+http.StatusText(status)+`"}`)
}
