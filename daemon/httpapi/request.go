package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"sync/atomic"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/internal/admission"
)

// request is the state of one HTTP request. The context of every handled request carries one. Only
// the goroutine that serves the request changes it.
type request struct {
	// id is sent in the header X-Request-Id and logged.
	id string
	// caller is nil without keys, and until authorize has found the key.
	caller *caller
	// brain is the brain that the path names, once its caller is known to be allowed to use it. It
	// is not looked up again: its id could be another tenant's if this brain is deleted while the
	// body is still arriving.
	brain brain.Handle
	// repeatable means that the handler may be called again. body is the result of readBody.
	repeatable bool
	body       []byte
	// gate is the gate that the work has still to pass before it begins, with leave; nil: none.
	gate  *admission.Gate
	leave func()
	// coming tells the gate that a retrieval will pass it later; nil: the gate was told, or there
	// is none.
	coming func()
	// response records the response so far. err is why the request failed, for the log.
	response recorder
	err      error
	// refused means that the request was rejected before anything was done for it.
	refused bool
	// elsewhere means that the response is sent and counted by the lobby.
	elsewhere bool
}

type requestKey struct{}

// withState returns r with a context that carries the state.
func withState(r *http.Request, state *request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), requestKey{}, state))
}

// requestOf returns the state of a request that ServeHTTP received.
func requestOf(r *http.Request) *request {
	return r.Context().Value(requestKey{}).(*request)
}

// brainOf returns the brain that the path of a request names.
func brainOf(r *http.Request) brain.Handle { return requestOf(r).brain }

// recorder records the status and size of a response. http.ResponseController looks through it.
type recorder struct {
	http.ResponseWriter
	status int // 0 until the response begins
	bytes  int64

	// openStreams counts this response from its beginning if it is an event stream.
	openStreams *atomic.Int64
	streaming   bool
}

// Unwrap is called by http.ResponseController.
func (rec *recorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

// begin records the status, unless the response has begun already.
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

// sentStatus is the recorded status, or the one that the server sends for a handler that sets none.
func (rec *recorder) sentStatus() int { return cmp.Or(rec.status, http.StatusOK) }
