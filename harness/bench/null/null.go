// Package null implements a daemon that answers every request at once with a fixed reply. A
// measurement of it shows the limit of the load generator.
package null

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"evalctl/daemon/protocol"
)

// Name is the name of the target.
const Name = "null"

// Daemon is a null daemon on a loopback port of this process.
type Daemon struct {
	server *http.Server
	url    string
	done   chan error
}

// Start starts a null daemon. The caller must call Close.
func Start() (*Daemon, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
	if err != nil {
		return nil, fmt.Errorf("start the null daemon: %w", err)
	}
	d := &Daemon{server: &http.Server{Handler: Handler()}, url: "http://" + l.Addr().String(), done: make(chan error, 1)}
	go func() { d.done <- d.server.Serve(l) }()
	return d, nil
}

// URL returns the daemon's base URL.
func (d *Daemon) URL() string { return d.url }

// Close stops the daemon and cancels its requests.
func (d *Daemon) Close() error {
	err := d.server.Close()
	if served := <-d.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// passages is the number of passages in a reply. They are as long as a real daemon's, so that
// reading them takes as long.
const (
	passages = 10
	letters  = 400
)

// Handler returns the handler of the daemon.
func Handler() http.Handler {
	chunks := make([]map[string]any, passages)
	for i := range chunks {
		chunks[i] = map[string]any{
			"chunk_id": fmt.Sprint("c", i), "document_id": fmt.Sprint("d", i), "path": fmt.Sprintf("null/%d.md", i),
			"text": strings.Repeat("nothing ", letters/8), "score": 1 / float64(i+1), "rank": i + 1,
		}
	}
	found := encode(map[string]any{"query": "", "mode": protocol.ModeAuto, "effective_mode": "bm25", "chunks": chunks, "took_ms": 0})
	stream := answer(chunks)
	mux := http.NewServeMux()
	reply := func(pattern string, status int, body []byte) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if body != nil {
				w.Header().Set("Content-Type", protocol.TypeJSON)
			}
			w.WriteHeader(status)
			_, _ = w.Write(body)
		})
	}
	reply("GET /healthz", http.StatusOK, []byte(`{"ok":true,"version":"null"}`))
	reply("POST /v1/brains", http.StatusCreated, []byte(`{}`))
	reply("DELETE /v1/brains/{id}", http.StatusNoContent, nil)
	reply("POST /v1/brains/{id}/search", http.StatusOK, found)
	reply("PUT /v1/brains/{id}/documents", http.StatusNoContent, nil)
	reply("POST /v1/brains/{id}/documents/ingest/file", http.StatusCreated, []byte(`{}`))
	reply("POST /v1/brains/{id}/sessions/{session}/messages", http.StatusCreated, []byte(`{}`))
	reply("POST /v1/brains/{id}/sessions/{session}/recall", http.StatusOK, found)
	mux.HandleFunc("POST /v1/brains/{id}/documents/batch-ops", committed)
	mux.HandleFunc("POST /v1/brains/{id}/ask", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", protocol.TypeEvents)
		_, _ = w.Write(stream)
	})
	return mux
}

// committed replies that all operations of a batch were committed.
func committed(w http.ResponseWriter, r *http.Request) {
	var batch struct{ Ops []json.RawMessage }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, protocol.MaxBatchBytes)).Decode(&batch); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", protocol.TypeJSON)
	_, _ = w.Write(encode(map[string]any{"committed": len(batch.Ops)}))
}

// deltas is the number of parts in which an answer is streamed.
const deltas = 20

// answer returns the stream of an answer.
func answer(chunks []map[string]any) []byte {
	var b strings.Builder
	event := func(name string, data any) { fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, encode(data)) }
	event(protocol.EventRetrieve, map[string]any{"chunks": chunks, "mode": protocol.ModeAuto, "effective_mode": "bm25"})
	for range deltas {
		event(protocol.EventDelta, map[string]any{"delta": "nothing "})
	}
	event(protocol.EventDone, map[string]any{"ok": true, "answer": strings.Repeat("nothing ", deltas), "model": "null"})
	return []byte(b.String())
}

func encode(v any) []byte {
	data, _ := json.Marshal(v) // these values can always be encoded
	return data
}
