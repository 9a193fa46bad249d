package gateway

import (
	"net/http"
	"strings"
	"sync"

	"evalctl/harness/ledger"
	"evalctl/harness/result"
	"evalctl/internal/printable"
)

// Limits on recorded failures, since a daemon may send anything: the number of distinct paths and
// statuses, and the length of a path in bytes.
const (
	maxRefused = 20
	maxPath    = 120
)

// requests counts the daemon's requests. It is safe for concurrent use.
type requests struct {
	mu      sync.Mutex
	sums    result.ModelRequests
	refused map[result.RefusedRequests]int // by the path and the status
}

// Requests returns the requests that have ended so far. Requests from callers without the gateway's
// key count as refused.
func (g *Gateway) Requests() result.ModelRequests {
	q := &g.requests
	q.mu.Lock()
	defer q.mu.Unlock()
	out := q.sums
	out.Refused, out.Silent = []result.RefusedRequests{}, []result.GeneratedKind{}
	for r, n := range q.refused {
		r.Requests = n
		out.Refused = append(out.Refused, r)
	}
	out.SortRefused()
	return out
}

// add counts a request to a path that ended with a status, 0 if the answer broke off.
func (q *requests) add(path string, status int, phase ledger.Phase) {
	q.mu.Lock()
	defer q.mu.Unlock()
	failed := status == 0 || status >= http.StatusBadRequest
	count := &q.sums.Embeddings
	switch {
	case path == completions && phase == ledger.Ingest:
		count = &q.sums.Ingest
	case path == completions:
		count = &q.sums.Answers
	}
	if path == completions || path == embeddings {
		count.Made++
		if failed {
			count.Failed++
		}
	}
	if !failed {
		return
	}
	kind := result.RefusedRequests{Path: path, Status: status}
	if q.refused[kind] == 0 && len(q.refused) >= maxRefused {
		kind.Path = ""
	}
	q.refused[kind]++
}

func (q *requests) withoutModel() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sums.WithoutModel++
}

// endpoint returns the path below the base URL. Daemons may repeat or omit the "/v1". For an
// unknown path, ok is false and the path is shortened for the record.
func endpoint(path string) (_ string, ok bool) {
	words := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	for len(words) > 0 && words[0] == "v1" {
		words = words[1:]
	}
	switch short := "/" + strings.Join(words, "/"); short {
	case completions, embeddings, models:
		return short, true
	}
	if len(path) <= maxPath {
		return path, false
	}
	return printable.Prefix(path, maxPath-len("…")) + "…", false
}

// statusWriter records the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController flush.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
