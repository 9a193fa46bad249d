package gateway

import (
	"net/http"
	"strings"

	"evalctl/harness/result"
)

// Embeddings returns how many requests for embeddings have come and how many of them failed.
// Requests in progress are not included.
func (g *Gateway) Embeddings() result.EmbeddingCalls {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.embedded
}

// answer answers a request, and counts it if it is for embeddings, at whatever path: a daemon that
// misses the gateway's path retrieves without them.
func (g *Gateway) answer(w http.ResponseWriter, r *http.Request) error {
	if !strings.HasSuffix(r.URL.Path, embeddings) {
		return g.route(w, r)
	}
	seen, answered := &statusWriter{ResponseWriter: w, status: http.StatusOK}, false
	defer func() { // also if send panics to break a connection
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.embedded.Calls++; !answered {
			g.embedded.Failed++
		}
	}()
	err := g.route(seen, r)
	answered = err == nil && seen.status/100 == 2
	return err
}

// statusWriter remembers the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the writer below, for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
