package conformance

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	ct "evalctl/harness/conformance/conformancetest"
	"evalctl/internal/sse"
)

// What the mutants and the daemons of conformancetest are made of.
type (
	wrapper  = ct.Wrapper
	captured = ct.Answer
)

var (
	route    = ct.Route
	anyRoute = ct.AnyRoute
	replace  = ct.Instead
	after    = ct.After
	capture  = ct.Serve
)

func anyRequest(*http.Request) bool { return true }

func notEventStream(r *http.Request) bool { return !route("* /events")(r) }

func withHeader(name string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Header.Get(name) != "" }
}

// before changes matching requests.
func before(match func(*http.Request) bool, change func(*http.Request)) wrapper {
	return replace(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		change(r)
		next.ServeHTTP(w, r)
	})
}

// replayFirst repeats the first response to requests with the same key, if keep accepts it.
func replayFirst(match func(*http.Request) bool, key func(*http.Request) string, keep func(*captured) bool) wrapper {
	var mu sync.Mutex
	first := map[string]*captured{}
	return replace(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		defer mu.Unlock()
		k := key(r)
		a := first[k]
		if a == nil {
			if a = capture(next, r); keep(a) {
				first[k] = a
			}
		}
		a.Send(w, r)
	})
}

// object is a JSON object.
type object = map[string]any

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // what a mutant returns is JSON
	}
	return data
}

// newName returns a name that nothing else has.
func newName() string { return "conformance-" + strings.ToLower(rand.Text()) }

func anyResponse(*captured) bool { return true }

// reject returns an error with a Problem.
func reject(status int) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"title":"No"}`)
	}
}

// subrequest returns another request in the brain of r, with its token.
func subrequest(r *http.Request, method, path, contentType, body string, query ...string) *http.Request {
	s := r.Clone(r.Context())
	parts := strings.SplitN(r.URL.Path, "/", 5)
	q := url.Values{}
	for pair := range slices.Chunk(query, 2) {
		q.Set(pair[0], pair[1])
	}
	s.Method = method
	s.URL = &url.URL{Path: strings.Join(parts[:4], "/") + path, RawQuery: q.Encode()}
	s.Header = http.Header{"Content-Type": {contentType}, "Authorization": r.Header["Authorization"]}
	s.Body, s.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	return s
}

// neverSent reports whether the body of a request is announced but will not be sent.
func neverSent(r *http.Request) bool { return r.ContentLength > 1<<30 }

// readBody returns the body, which can be read again.
func readBody(r *http.Request) string {
	if neverSent(r) {
		return ""
	}
	data, _ := io.ReadAll(r.Body)
	setBody(r, string(data))
	return string(data)
}

func setBody(r *http.Request, body string) {
	if neverSent(r) {
		return
	}
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
}

func bodyObject(r *http.Request) map[string]any {
	var o map[string]any
	_ = json.Unmarshal([]byte(readBody(r)), &o)
	return o
}

// editBody changes the body of a request if it is a JSON object.
func editBody(r *http.Request, change func(map[string]any)) {
	if o := bodyObject(r); o != nil {
		change(o)
		setBody(r, string(encode(o)))
	}
}

// setQuery sets a query parameter, or removes it if value is "".
func setQuery(r *http.Request, name, value string) {
	q := r.URL.Query()
	q.Set(name, value)
	if value == "" {
		q.Del(name)
	}
	r.URL.RawQuery = q.Encode()
}

// rewriteStream changes the frames of a stream. change is called once per stream.
func rewriteStream(match func(*http.Request) bool, change func(r *http.Request) func(frame) []frame) wrapper {
	return replace(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&frameWriter{ResponseWriter: w, change: change(r)}, r)
	})
}

// perFrame adapts a change that does not depend on earlier frames.
func perFrame(change func(frame) []frame) func(*http.Request) func(frame) []frame {
	return func(*http.Request) func(frame) []frame { return change }
}

// editPayload changes the payloads of frames with a name.
func editPayload(name string, change func(o map[string]any)) func(*http.Request) func(frame) []frame {
	return perFrame(func(f frame) []frame {
		if o, err := f.object(); f.name == name && err == nil {
			change(o)
			f.data = string(encode(o))
		}
		return []frame{f}
	})
}

// frameWriter passes complete frames to change and writes the frames that it returns.
type frameWriter struct {
	http.ResponseWriter
	change func(frame) []frame
	held   bytes.Buffer
}

// Unwrap is for http.ResponseController.
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

// frame is one event of a stream.
type frame struct{ id, name, data string }

func (f frame) object() (o object, err error) {
	if err = json.Unmarshal([]byte(f.data), &o); err == nil && o == nil {
		err = errors.New("null is no object")
	}
	return o, err
}

func (f frame) text() string {
	s := ""
	if f.id != "" {
		s = "id: " + f.id + "\n"
	}
	return s + "event: " + f.name + "\ndata: " + f.data + "\n\n"
}
