package mcpserver

import (
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"evalctl/internal/verbatim"
)

// gate is a response that can be closed, after which nothing is written. Each write is a whole
// message of the SDK, in which the gate restores the id.
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
	if _, err := g.ResponseWriter.Write(verbatim.Outgoing(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// runningCalls are the running calls of sessions, with the functions that cancel them. It is safe
// for concurrent use.
type runningCalls struct {
	mu    sync.Mutex
	calls map[callKey]*func()
}

type callKey struct {
	session string
	id      jsonrpc.ID
}

// add adds a call and returns a function that removes it. A call without a session cannot be
// cancelled, because its client is unknown.
func (r *runningCalls) add(session string, id jsonrpc.ID, cancel func()) (remove func()) {
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
func (r *runningCalls) cancel(session string, notification *jsonrpc.Request) {
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
