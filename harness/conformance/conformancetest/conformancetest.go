// Package conformancetest derives misbehaving daemons from a correct one. Each has exactly one
// defect, of a kind found in real daemons. The tests of the conformance checks require that the
// report names this defect and nothing else.
package conformancetest

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Wrapper returns a handler that behaves like another one, except for a defect.
type Wrapper func(http.Handler) http.Handler

// Match selects requests.
type Match func(*http.Request) bool

// Route matches requests by method and by the path below the brain, such as "GET /documents/read".
// The method * matches any method. "DELETE " matches the deletion of a brain.
func Route(pattern string) Match {
	method, suffix, _ := strings.Cut(pattern, " ")
	return func(r *http.Request) bool {
		_, below, ok := brainPath(r)
		return ok && below == suffix && (method == "*" || method == r.Method)
	}
}

// AnyRoute matches requests that match one of several routes.
func AnyRoute(patterns ...string) Match {
	return func(r *http.Request) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return Route(p)(r) })
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

// Answer is a response that can be changed before it is sent. It implements http.ResponseWriter.
// The zero value is ready for use.
type Answer struct {
	header http.Header
	Status int
	Body   bytes.Buffer
}

// Flush does nothing: Send sends the whole response.
func (a *Answer) Flush() {}

// SetWriteDeadline does nothing, for http.ResponseController.
func (a *Answer) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing, for http.ResponseController.
func (a *Answer) SetReadDeadline(time.Time) error { return nil }

// Header returns the headers, which can be changed.
func (a *Answer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

// WriteHeader sets the status. Only the first call counts.
func (a *Answer) WriteHeader(status int) {
	if a.Status == 0 {
		a.Status = status
	}
}

func (a *Answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.Body.Write(p)
}

// Serve returns the response of a handler.
func Serve(h http.Handler, r *http.Request) *Answer {
	a := &Answer{}
	h.ServeHTTP(a, r)
	a.WriteHeader(http.StatusOK)
	return a
}

// Send sends the response to r.
func (a *Answer) Send(w http.ResponseWriter, r *http.Request) {
	maps.Copy(w.Header(), a.header)
	if r.Method == http.MethodHead || a.Status == http.StatusNoContent {
		w.Header().Del("Content-Length")
		w.WriteHeader(a.Status)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(a.Body.Len()))
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body.Bytes()) // a client that is gone reads nothing
}

// SetText replaces the body.
func (a *Answer) SetText(body string) { a.Body.Reset(); a.Body.WriteString(body) }

// SetJSON replaces the body.
func (a *Answer) SetJSON(v any) {
	body, _ := json.Marshal(v) // cannot fail: decoded from JSON before
	a.SetText(string(body))
}

// ReplaceWith replaces the status and the body.
func (a *Answer) ReplaceWith(status int, body string) { a.Status = status; a.SetText(body) }

// ReplaceText replaces all occurrences of a text in the body.
func (a *Answer) ReplaceText(old, with string) {
	a.SetText(strings.ReplaceAll(a.Body.String(), old, with))
}

// Failed reports whether the status is an error.
func (a *Answer) Failed() bool { return a.Status >= 400 }

// Missing reports whether the status is 404.
func (a *Answer) Missing() bool { return a.Status == http.StatusNotFound }

// Edit changes the body if it is a JSON object.
func (a *Answer) Edit(change func(o map[string]any)) {
	var o map[string]any
	if json.Unmarshal(a.Body.Bytes(), &o) == nil && o != nil {
		change(o)
		a.SetJSON(o)
	}
}

// After changes the responses to matching requests.
func After(match Match, change func(r *http.Request, a *Answer)) Wrapper {
	return Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		a := Serve(next, r)
		change(r, a)
		a.Send(w, r)
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
