package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"evalctl/daemon/protocol"
)

// Local returns a transport whose requests go to this API in the same process. With keys, a request
// is authorized as the key of the MCP request whose context it has. Its header Authorization is
// ignored, and it is not charged to the rate of the key again.
func (a *API) Local() http.RoundTripper { return local{a} }

// actorKey is the key of a context whose requests through Local act for a caller, which may be nil.
type actorKey struct{}

// actorOf returns whom a request through Local acts for. It is nil for other requests.
func actorOf(r *http.Request) *caller {
	c, _ := r.Context().Value(actorKey{}).(*caller)
	return c
}

type local struct{ api *API }

// RoundTrip implements http.RoundTripper. An event stream arrives as it is sent, any other body at
// once.
func (l local) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Header.Get("Accept") == protocol.TypeEvents {
		return l.stream(req)
	}
	w := newLocalWriter()
	var body bytes.Buffer
	w.body = &body
	if err := l.serve(w, incoming(req.Context(), req)); err != nil {
		return nil, err
	}
	if req.Context().Err() != nil { // nobody would have received the response
		return nil, context.Cause(req.Context())
	}
	return w.response(req, io.NopCloser(&body)), nil
}

// stream returns when the response begins.
func (l local) stream(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	reader, pipe := io.Pipe()
	w := newLocalWriter()
	w.body = pipe
	// A handler must not block on a client that has gone.
	unlink := context.AfterFunc(ctx, func() { _ = pipe.CloseWithError(context.Cause(ctx)) })
	served := make(chan struct{})
	go func() {
		defer close(served)
		err := l.serve(w, incoming(ctx, req))
		if err == nil && ctx.Err() != nil { // the handler may have left out the rest
			err = context.Cause(ctx)
		}
		_ = pipe.CloseWithError(err) // nil: the end of the body
	}()
	body := &localBody{reader, func() {
		cancel()
		<-served
		unlink()
	}}
	select {
	case <-w.begun:
		if ctx.Err() != nil { // the response says only that the client has gone
			body.end()
			return nil, context.Cause(ctx)
		}
		return w.response(req, body), nil
	case <-ctx.Done():
		body.end()
		return nil, context.Cause(ctx)
	}
}

// serve handles a request. It is an error if the response cannot be completed.
func (l local) serve(w *localWriter, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil { // http.ErrAbortHandler, or a panic of the server itself
			err = fmt.Errorf("%s %s: %w: %v", r.Method, r.URL.Path, io.ErrUnexpectedEOF, p)
		}
		w.WriteHeader(http.StatusOK)
	}()
	l.api.ServeHTTP(w, r)
	return nil
}

// incoming returns a client's request as a server receives it.
func incoming(ctx context.Context, req *http.Request) *http.Request {
	r := req.Clone(ctx)
	r.Host, r.RequestURI = "localhost", r.URL.RequestURI()
	r.Header.Del("Authorization")
	if r.Body == nil {
		r.Body = http.NoBody
	}
	return r
}

// localBody is the body of an event stream.
type localBody struct {
	io.Reader
	end func()
}

// Close ends the request, and waits until its handler has returned.
func (b *localBody) Close() error {
	b.end()
	return nil
}

// localWriter is the http.ResponseWriter of a request through Local. It needs no deadlines, because
// its reader is in the same process.
type localWriter struct {
	header http.Header
	status int
	sent   http.Header   // the header when the response began
	begun  chan struct{} // closed when status and sent are set
	body   io.Writer
}

func newLocalWriter() *localWriter {
	return &localWriter{header: http.Header{}, begun: make(chan struct{})}
}

func (w *localWriter) response(req *http.Request, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Header: w.sent, Body: body,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1, Request: req,
	}
}

func (w *localWriter) Header() http.Header { return w.header }

func (w *localWriter) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status, w.sent = status, w.header.Clone()
	close(w.begun)
}

func (w *localWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush, SetReadDeadline and SetWriteDeadline are called by http.ResponseController.
func (w *localWriter) Flush()                         { w.WriteHeader(http.StatusOK) }
func (*localWriter) SetReadDeadline(time.Time) error  { return nil }
func (*localWriter) SetWriteDeadline(time.Time) error { return nil }
