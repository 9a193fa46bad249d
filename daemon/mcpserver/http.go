package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/daemon/protocol"
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "MCP-Protocol-Version"

	// assumedVersion is the version of the protocol of a request that names none, as its
	// specification says.
	assumedVersion = "2025-03-26"
)

// Handler serves any number of clients over streamable HTTP: GET and DELETE are 405. The caller
// must authenticate requests, limit their bodies, and check their Host and Origin. Values of a
// request's context reach the requests of Config.Client.
//
// A call ends when its HTTP request does, or is cancelled. The id of a session that initialize
// returns only tells whose calls a notification cancels: nothing else is kept of a session, none
// has an end, and requests without one are served. The client is not the user of this process, so
// memory_ingest_file is rejected.
func (s *Server) Handler() http.Handler {
	server := s.mcpServer(false, inOrder)
	h := &handler{
		Server:  s,
		running: running{calls: map[callKey]*func(){}},
		streamable: mcp.NewStreamableHTTPHandler(
			func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{
				Stateless: true, MaxRequestBodyBytes: -1, DisableLocalhostProtection: true,
			},
		),
	}
	return h
}

// inOrder is the settle of a transport whose clients pass on each message before they read the next.
func inOrder(context.Context) {}

type handler struct {
	*Server
	streamable http.Handler // for everything but batches, which it treats in another way than lines
	running    running
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the body cannot be read: "+err.Error(), http.StatusBadRequest)
		return
	}
	if data := bytes.TrimSpace(body); len(data) > 0 && data[0] == '[' && mayBatch(r) {
		h.serveBatch(w, r, data)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	session := r.Header.Get(sessionHeader)
	if msg, err := jsonrpc.DecodeMessage(body); err == nil { // else the SDK says what is wrong
		req, _ := msg.(*jsonrpc.Request)
		switch {
		case req == nil:
		case req.Method == methodInitialize:
			w.Header().Set(sessionHeader, rand.Text())
		case req.Method == methodCancelled:
			h.running.cancel(session, req)
		case req.IsCall():
			gate := &gate{ResponseWriter: w}
			w = gate
			defer h.running.add(session, req.ID, func() {
				gate.close()
				cancel()
			})()
		}
	}
	body = keepTokenOf(body)
	r = r.WithContext(context.WithValue(ctx, requestKey{}, ctx))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	h.streamable.ServeHTTP(w, r)
}

// mayBatch reports whether the SDK would read the body of a request. It rejects the others.
func mayBatch(r *http.Request) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	streams := strings.Contains(accept, protocol.TypeEvents) || strings.Contains(accept, "text/*") ||
		strings.Contains(accept, "*/*")
	return r.Method == http.MethodPost && kind == protocol.TypeJSON && streams
}

// serveBatch serves a batch as a client on stdio that sends one line. What is rejected as a whole
// has the status 400, and what needs no response 202. Each response is an event.
func (h *handler) serveBatch(w http.ResponseWriter, r *http.Request, data []byte) {
	version := cmp.Or(r.Header.Get(versionHeader), assumedVersion)
	items, isBatch := parse(data, version)
	if !isBatch {
		w.Header().Set("Content-Type", protocol.TypeJSON)
		w.WriteHeader(http.StatusBadRequest)
		reply, _ := jsonrpc.EncodeMessage(items[0].reject) // a code and a text: cannot fail
		_, _ = w.Write(reply)                              // the client has gone
		return
	}
	var text bytes.Buffer
	_ = json.Compact(&text, data) // the JSON is valid: without line breaks
	out := &events{w: w}
	l := newLines(&text, out, version)
	defer l.close()
	session := r.Header.Get(sessionHeader)
	for _, i := range items { // cancellations of calls of the batch itself are those of l
		if req, ok := i.message.(*jsonrpc.Request); ok && req.Method == methodCancelled {
			h.running.cancel(session, req)
		}
	}
	for _, i := range items {
		if req, ok := i.message.(*jsonrpc.Request); ok && req.IsCall() {
			defer h.running.add(session, req.ID, func() {
				data, _ := jsonrpc.EncodeMessage(cancellation(req.ID)) // an id: cannot fail
				l.insert(line{data: data})
			})()
		}
	}
	ctx := context.WithValue(r.Context(), requestKey{}, r.Context())
	err := h.serveLines(ctx, l, h.mcpServer(false, inOrder), &mcp.ServerSessionState{
		InitializeParams:  &mcp.InitializeParams{ProtocolVersion: version},
		InitializedParams: &mcp.InitializedParams{},
	})
	if err == nil && !out.begun {
		w.WriteHeader(http.StatusAccepted)
	}
}

// events writes lines as events of a stream, with each response of a batch by itself, because
// clients expect one message in an event.
type events struct {
	w     http.ResponseWriter
	begun bool
}

// Write writes one line.
func (e *events) Write(line []byte) (int, error) {
	if !e.begun {
		e.begun = true
		e.w.Header().Set("Content-Type", protocol.TypeEvents)
		e.w.Header().Set("Cache-Control", "no-cache, no-transform")
	}
	messages := []json.RawMessage{bytes.TrimSpace(line)}
	if line[0] == '[' {
		if err := json.Unmarshal(line, &messages); err != nil {
			return 0, err
		}
	}
	for _, m := range messages {
		event := append(append([]byte("event: message\ndata: "), m...), "\n\n"...)
		if _, err := e.w.Write(event); err != nil {
			return 0, err
		}
	}
	_ = http.NewResponseController(e.w).Flush() // fails without a connection, as in tests
	return len(line), nil
}

// gate is a response that can be closed, after which nothing is written.
type gate struct {
	http.ResponseWriter
	mu     sync.Mutex
	closed bool
}

// Unwrap is called by http.ResponseController.
func (g *gate) Unwrap() http.ResponseWriter { return g.ResponseWriter }

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return len(p), nil
	}
	return g.ResponseWriter.Write(p)
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// running are the calls of sessions that are under way, with what cancels them. It is safe for
// concurrent use.
type running struct {
	mu    sync.Mutex
	calls map[callKey]*func()
}

type callKey struct {
	session string
	id      jsonrpc.ID
}

// add adds a call and returns a function that removes it. A call without a session cannot be
// cancelled: nobody knows whose it is.
func (r *running) add(session string, id jsonrpc.ID, cancel func()) (remove func()) {
	if session == "" {
		return func() {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := callKey{session, id}
	r.calls[key] = &cancel
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.calls[key] == &cancel { // else a later call has the same id
			delete(r.calls, key)
		}
	}
}

// cancel cancels the call that a notification names, if it is under way.
func (r *running) cancel(session string, notification *jsonrpc.Request) {
	id, ok := cancelled(notification)
	if !ok || session == "" {
		return
	}
	r.mu.Lock()
	cancel := r.calls[callKey{session, id}]
	r.mu.Unlock()
	if cancel != nil {
		(*cancel)()
	}
}

// requestKey is the key of an HTTP request's context in the context of a call, which keeps the
// values of the former but not its end.
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
