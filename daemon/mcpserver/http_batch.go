package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/daemon/protocol"
)

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
	switch {
	case out.begun:
	case err != nil:
		http.Error(w, "the batch cannot be served: "+err.Error(), http.StatusInternalServerError)
	default:
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
