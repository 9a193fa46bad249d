package mcpserver

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Handler serves any number of clients over streamable HTTP, without sessions: GET and DELETE are
// 405. The caller must authenticate requests, limit their bodies, and check their Host and Origin.
// Values of a request's context reach the requests of Config.Client.
//
// A call ends when its HTTP request does. The client is not the user of this process, so
// memory_ingest_file is rejected.
func (s *Server) Handler() http.Handler {
	server := s.mcpServer(false)
	streamable := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{
			Stateless: true, MaxRequestBodyBytes: -1, DisableLocalhostProtection: true,
		},
	)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "the body cannot be read: "+err.Error(), http.StatusBadRequest)
			return
		}
		body = keepTokenOf(body)
		r = r.WithContext(context.WithValue(r.Context(), requestKey{}, r.Context()))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		streamable.ServeHTTP(w, r)
	})
}

// requestKey is the key of an HTTP request's context in the context of a call, which keeps the
// values of the former but not its end.
type requestKey struct{}

// withRequest returns a context that also ends when the HTTP request of a call does. Without
// sessions there is no other way to cancel the call.
func withRequest(ctx context.Context) (context.Context, func()) {
	request, ok := ctx.Value(requestKey{}).(context.Context)
	if !ok {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(request, func() { cancel(context.Cause(request)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}
