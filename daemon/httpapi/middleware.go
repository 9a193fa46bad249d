package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"time"
)

const requestIDHeader = "X-Request-Id"

// ServeHTTP gives the request an id, serves it, and logs one line about it. The log never has
// bodies, headers, queries or paths, because they contain users' memories.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	state := &request{
		id:       rand.Text(),
		response: recorder{ResponseWriter: w, openStreams: &a.metrics.openStreams},
	}
	r = withState(r, state)
	w.Header().Set(requestIDHeader, state.id)
	defer func() {
		abort := a.recovered(r, recover())
		a.finish(r, time.Since(start))
		if abort {
			panic(http.ErrAbortHandler) // the server closes the connection
		}
	}()
	a.dispatch(&state.response, r)
}

// dispatch passes a request on to its route. The mux itself rejects requests in plain text, and its
// redirects invite a client to repeat a PUT elsewhere: both become Problems.
func (a *API) dispatch(w http.ResponseWriter, r *http.Request) {
	if err := a.checkHost(r); err != nil {
		writeError(r, err)
		return
	}
	if a.answerOrigin(w, r) {
		return
	}
	if err := a.crossOrigin.Check(r); err != nil {
		writeError(r, requestErrorf(errCrossOrigin,
			"%v: this daemon does not serve web pages of other origins", err))
		return
	}
	escaped := r.URL.EscapedPath()
	if path.Clean(escaped) != escaped {
		writeError(r, requestErrorf(errNoRoute,
			"the path is not canonical: remove empty, . and .. segments and a trailing slash"))
		return
	}
	rejection, pattern := a.mux.Handler(r)
	if pattern != "" {
		a.mux.ServeHTTP(w, r)
		return
	}
	probe := &headerWriter{header: http.Header{}}
	rejection.ServeHTTP(probe, r)
	if allow := probe.header.Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
		writeError(r, requestErrorf(errMethod, "use one of %s", allow))
		return
	}
	writeError(r, requestErrorf(errNoRoute, "no endpoint has this path"))
}

// headerWriter keeps the header of a response and drops the rest.
type headerWriter struct{ header http.Header }

func (h *headerWriter) Header() http.Header         { return h.header }
func (h *headerWriter) Write(p []byte) (int, error) { return len(p), nil }
func (h *headerWriter) WriteHeader(int)             {}

// recovered turns a panic into a Problem. It reports whether the response has begun: then only
// closing the connection shows the client the failure.
func (a *API) recovered(r *http.Request, p any) (abort bool) {
	if p == nil {
		return false
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return true
	}
	state := requestOf(r)
	a.logger.Error("panic",
		"request_id", state.id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	begun := state.response.status != 0
	writeError(r, fmt.Errorf("panic: %v", p))
	return begun
}

// finish counts and logs a request.
func (a *API) finish(r *http.Request, took time.Duration) {
	response := &requestOf(r).response
	if response.streaming {
		a.metrics.openStreams.Add(-1)
	}
	if state := requestOf(r); !state.elsewhere {
		route, method := labelsOf(r)
		a.metrics.observe(route, method, response.sentStatus(), took)
	}
	if requestOf(r).refused {
		a.refusals.add(time.Now())
		return
	}
	a.log(r, took)
}

func (a *API) log(r *http.Request, took time.Duration) {
	state := requestOf(r)
	status := state.response.sentStatus()
	attrs := []slog.Attr{
		slog.String("request_id", state.id),
		slog.String("method", r.Method),
		slog.String("route", r.Pattern),
		slog.Int("status", status),
		slog.Int64("bytes", state.response.bytes),
		slog.Duration("took", took),
	}
	if c := state.caller; c != nil {
		attrs = append(attrs, slog.String("key", c.Name), slog.String("tenant", c.Tenant))
	}
	level := slog.LevelInfo
	if state.err != nil && (status >= 500 || status < 300) {
		level = slog.LevelError
		attrs = append(attrs, slog.String("error", withoutPaths(state.err)))
	}
	a.logger.LogAttrs(context.WithoutCancel(r.Context()), level, "request", attrs...)
}
