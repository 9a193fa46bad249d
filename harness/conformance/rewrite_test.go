package conformance

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"evalctl/internal/sse"
)

// wrapper breaks a handler.
type wrapper func(http.Handler) http.Handler

// route matches requests by method and the path below the brain, such as
// "GET /documents/read". A method of * is any.
func route(pattern string) func(*http.Request) bool {
	method, suffix, _ := strings.Cut(pattern, " ")
	return func(r *http.Request) bool {
		parts := strings.SplitN(r.URL.Path, "/", 5) // "", v1, brains, id, rest
		below := ""
		if len(parts) == 5 {
			below = "/" + parts[4]
		}
		return len(parts) > 3 && below == suffix && (method == "*" || method == r.Method)
	}
}

func anyRoute(patterns ...string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		for _, p := range patterns {
			if route(p)(r) {
				return true
			}
		}
		return false
	}
}

func notEventStream(r *http.Request) bool { return !route("* /events")(r) }

// answer is one that a mutant may change before it is sent.
type captured struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *captured) Header() http.Header                 { return a.header }
func (a *captured) Flush()                              {}
func (a *captured) SetWriteDeadline(time.Time) error    { return nil }
func (a *captured) SetReadDeadline(time.Time) error     { return nil }
func (a *captured) WriteHeader(status int)              { a.status = max(a.status, status) }
func (a *captured) Write(p []byte) (int, error)         { a.WriteHeader(200); return a.body.Write(p) }
func (a *captured) setText(body string)                 { a.body.Reset(); a.body.WriteString(body) }
func (a *captured) replaceWith(status int, body string) { a.status = status; a.setText(body) }
func (a *captured) replaceText(old, with string) {
	a.setText(strings.ReplaceAll(a.body.String(), old, with))
}
func (a *captured) failed() bool  { return a.status >= 400 }
func (a *captured) missing() bool { return a.status == 404 }
func (a *captured) edit(change func(o map[string]any)) {
	var o map[string]any
	if json.Unmarshal(a.body.Bytes(), &o) == nil && o != nil {
		change(o)
		a.setText(string(encode(o)))
	}
}

func capture(h http.Handler, r *http.Request) *captured {
	a := &captured{header: http.Header{}}
	h.ServeHTTP(a, r)
	a.WriteHeader(200)
	return a
}

func (a *captured) send(w http.ResponseWriter, r *http.Request) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if r.Method == http.MethodHead || a.status == 204 {
		w.Header().Del("Content-Length")
	} else {
		w.Header().Set("Content-Length", strconv.Itoa(a.body.Len()))
	}
	w.WriteHeader(a.status)
	if a.status != 204 {
		_, _ = w.Write(a.body.Bytes())
	}
}

// after changes answers.
func after(match func(*http.Request) bool, change func(*http.Request, *captured)) wrapper {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !match(r) {
				next.ServeHTTP(w, r)
				return
			}
			a := capture(next, r)
			change(r, a)
			a.send(w, r)
		})
	}
}

// before changes requests.
func before(match func(*http.Request) bool, change func(*http.Request)) wrapper {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if match(r) {
				change(r)
			}
			next.ServeHTTP(w, r)
		})
	}
}

// instead answers requests itself, unless it leaves them to the daemon.
func replace(match func(*http.Request) bool, serve func(http.ResponseWriter, *http.Request, http.Handler)) wrapper {
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

func reject(status int) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"title":"No"}`)
	}
}

func withHeader(name string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Header.Get(name) != "" }
}

// sub makes another request on behalf of r, in the same brain.
func subrequest(r *http.Request, method, path, contentType, body string, query ...string) *http.Request {
	s := r.Clone(r.Context())
	parts := strings.SplitN(r.URL.Path, "/", 5)
	s.Method = method
	s.URL = &url.URL{Path: strings.Join(parts[:4], "/") + path, RawQuery: brainRequest("", "", query...).query}
	s.Header = http.Header{"Content-Type": {contentType}, "Authorization": r.Header["Authorization"]}
	s.Body, s.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	return s
}

// bodyOf leaves alone a body that was announced and will not come.
func readBody(r *http.Request) string {
	if r.ContentLength > 1<<30 {
		return ""
	}
	data, _ := io.ReadAll(r.Body)
	setBody(r, string(data))
	return string(data)
}

func setBody(r *http.Request, body string) {
	if r.ContentLength > 1<<30 {
		return
	}
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
}

func bodyObject(r *http.Request) map[string]any {
	var o map[string]any
	_ = json.Unmarshal([]byte(readBody(r)), &o)
	return o
}

func editBody(r *http.Request, change func(map[string]any)) {
	if o := bodyObject(r); o != nil {
		change(o)
		setBody(r, string(encode(o)))
	}
}

// setQuery gives a parameter another value, or takes it away.
func setQuery(r *http.Request, name, value string) {
	q := r.URL.Query()
	q.Set(name, value)
	if value == "" {
		q.Del(name)
	}
	r.URL.RawQuery = q.Encode()
}

// frames changes a stream, frame by frame.
func rewriteStream(match func(*http.Request) bool, change func(r *http.Request) func(frame) []frame) wrapper {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !match(r) {
				next.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(&frameWriter{ResponseWriter: w, change: change(r)}, r)
		})
	}
}

// each is a change that needs no memory.
func perFrame(change func(frame) []frame) func(*http.Request) func(frame) []frame {
	return func(*http.Request) func(frame) []frame { return change }
}

// frameWriter is found through Unwrap by http.ResponseController.
type frameWriter struct {
	http.ResponseWriter
	change func(frame) []frame
	held   bytes.Buffer
}

func (w *frameWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *frameWriter) Write(p []byte) (int, error) {
	if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		return w.ResponseWriter.Write(p)
	}
	w.held.Write(p)
	for {
		end := bytes.Index(w.held.Bytes(), []byte("\n\n"))
		if end < 0 {
			return len(p), nil
		}
		e, err := sse.NewReader(bytes.NewReader(w.held.Next(end+2)), 0).Next()
		if err != nil {
			return 0, err
		}
		for _, f := range w.change(frame{e.ID, e.Name, string(e.Data)}) {
			if _, err := io.WriteString(w.ResponseWriter, f.text()); err != nil {
				return 0, err
			}
		}
	}
}

func (f frame) text() string {
	s := ""
	if f.id != "" {
		s = "id: " + f.id + "\n"
	}
	return s + "event: " + f.name + "\ndata: " + f.data + "\n\n"
}

// editing changes the payload of frames of one name.
func editPayload(name string, change func(o map[string]any)) func(*http.Request) func(frame) []frame {
	return perFrame(func(f frame) []frame {
		if o, err := f.object(); f.name == name && err == nil {
			change(o)
			f.data = string(encode(o))
		}
		return []frame{f}
	})
}
