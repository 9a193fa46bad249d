package mcpserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/daemon/protocol"
	"evalctl/internal/verbatim"
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
)

// Handler serves any number of clients over streamable HTTP: GET and DELETE are 405. The caller
// must authenticate requests, limit their bodies, and check their Host and Origin. Values of a
// request's context reach the requests of Config.Client.
//
// A call ends when its HTTP request ends, or when it is cancelled. The session id that initialize
// returns is only used to match cancellations to calls: a session has no other state and no end,
// and requests without one are served. The client is not the user of this process, so
// memory_ingest_file is rejected.
func (s *Server) Handler() http.Handler {
	server := sync.OnceValue(func() *mcp.Server { return s.mcpServer(false, inOrder) }) // takes a while
	h := &handler{
		Server:  s,
		running: runningCalls{calls: map[callKey]*func(){}},
		streamable: mcp.NewStreamableHTTPHandler(
			func(*http.Request) *mcp.Server { return server() },
			&mcp.StreamableHTTPOptions{
				Stateless: true, MaxRequestBodyBytes: -1, DisableLocalhostProtection: true,
			},
		),
	}
	return h
}

// inOrder is the settle of a transport whose clients pass on each message before they read the
// next.
func inOrder(context.Context) {}

type handler struct {
	*Server
	streamable http.Handler // for the messages that parse passes
	running    runningCalls
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the body cannot be read: "+err.Error(), http.StatusBadRequest)
		return
	}
	i := parse(bytes.TrimSpace(body))
	if i.reject != nil {
		reject(w, r, i.reject)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	session := r.Header.Get(sessionHeader)
	gate := &gate{ResponseWriter: w}
	if req, ok := i.message.(*jsonrpc.Request); ok {
		switch {
		case req.Method == methodInitialize:
			w.Header().Set(sessionHeader, rand.Text())
		case req.Method == methodCancelled:
			h.running.cancel(session, req)
		case req.IsCall():
			defer h.running.add(session, req.ID, func() {
				gate.close()
				cancel()
			})()
		}
	}
	r = r.WithContext(context.WithValue(ctx, requestKey{}, ctx))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(i.data)), int64(len(i.data))
	h.streamable.ServeHTTP(gate, r)
}

// reject writes the response to a message that the server does not answer. Before the protocol was
// stateless, the error of a request was a response like any other, with status 200.
func reject(w http.ResponseWriter, r *http.Request, response *jsonrpc.Response) {
	status := http.StatusBadRequest
	switch e, _ := errors.AsType[*jsonrpc.Error](response.Error); {
	case e.Code == jsonrpc.CodeParseError, e.Code == jsonrpc.CodeInvalidRequest:
	case r.Header.Get(versionHeader) < stateless:
		status = http.StatusOK
	case e.Code == jsonrpc.CodeMethodNotFound:
		status = http.StatusNotFound
	}
	data, err := jsonrpc.EncodeMessage(response)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", protocol.TypeJSON)
	w.WriteHeader(status)
	_, _ = w.Write(verbatim.Outgoing(data)) // fails when the client is gone
}

// requestKey is the key of an HTTP request's context in the context of a call. The call's context
// keeps the request's values but not its end.
type requestKey struct{}

// withRequest returns a context that also ends when the HTTP request of a call does.
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
