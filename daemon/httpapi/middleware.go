package httpapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"evalctl/daemon/protocol"
)

const requestIDHeader = "X-Request-Id"

// recorder remembers what was answered. It is found through Unwrap by
// http.ResponseController.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
	err    error // what the answer failed with, for the log
	caller *caller

	// openStreams counts this answer from its begin if it is an event stream.
	openStreams *atomic.Int64
	streaming   bool
}

func (rec *recorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

// begin notes the status of the answer, unless it has begun already.
func (rec *recorder) begin(status int) {
	if rec.status != 0 {
		return
	}
	rec.status = status
	if rec.Header().Get("Content-Type") == protocol.TypeEvents {
		rec.streaming = true
		rec.openStreams.Add(1)
	}
}

func (rec *recorder) WriteHeader(status int) {
	rec.begin(status)
	rec.ResponseWriter.WriteHeader(status)
}

func (rec *recorder) Write(p []byte) (int, error) {
	rec.begin(http.StatusOK)
	n, err := rec.ResponseWriter.Write(p)
	rec.bytes += int64(n)
	return n, err
}

// answered is the status that the server sends when no handler said one.
func (rec *recorder) answered() int {
	return cmp.Or(rec.status, http.StatusOK)
}

// fail answers with a Problem when nothing was answered yet, and leaves the
// error for the request's log line. Every handler's w is a recorder.
func fail(w http.ResponseWriter, err error) {
	rec := w.(*recorder)
	rec.err = err
	if rec.status != 0 {
		return
	}
	if outcomeOf(err).status == statusClientGone {
		rec.status = statusClientGone
		return
	}
	writeProblem(w, err)
}

// ServeHTTP gives the request an id, serves it, and logs one line about it:
// never bodies, headers, queries or paths, which hold what users remember.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	id := rand.Text()
	w.Header().Set(requestIDHeader, id)
	rec := &recorder{ResponseWriter: w, openStreams: &a.metrics.openStreams}
	defer func() {
		abort := a.recovered(rec, recover(), id)
		a.finish(r, rec, id, time.Since(start))
		if abort {
			panic(http.ErrAbortHandler) // the server cuts the connection
		}
	}()
	a.route(rec, r)
}

// recovered turns a panic into a Problem. It reports whether the answer had
// begun, so that only cutting it tells the client.
func (a *API) recovered(rec *recorder, p any, id string) (abort bool) {
	if p == nil {
		return false
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return true
	}
	a.logger.Error("panic", "request_id", id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	begun := rec.status != 0
	fail(rec, fmt.Errorf("panic: %v", p))
	return begun
}

// finish counts and logs a request.
func (a *API) finish(r *http.Request, rec *recorder, id string, took time.Duration) {
	if rec.streaming {
		a.metrics.openStreams.Add(-1)
	}
	a.metrics.observe(r, rec.answered(), took)
	a.log(r, rec, id, took)
}

func (a *API) log(r *http.Request, rec *recorder, id string, took time.Duration) {
	status := rec.answered()
	attrs := []slog.Attr{
		slog.String("request_id", id),
		slog.String("method", r.Method),
		slog.String("route", r.Pattern),
		slog.Int("status", status),
		slog.Int64("bytes", rec.bytes),
		slog.Duration("took", took),
	}
	if rec.caller != nil {
		attrs = append(attrs, slog.String("key", rec.caller.Name), slog.String("tenant", rec.caller.Tenant))
	}
	level := slog.LevelInfo
	if rec.err != nil && (status >= 500 || status < 300) {
		level = slog.LevelError
		attrs = append(attrs, slog.String("error", withoutPaths(rec.err)))
	}
	a.logger.LogAttrs(context.WithoutCancel(r.Context()), level, "request", attrs...)
}
