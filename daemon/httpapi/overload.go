package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/internal/admission"
)

// A request that a gate refuses at once costs next to nothing, so that the daemon has its time for the
// others: its body is not read, its response is always the same, and it has no line in the log.

var (
	refusalBody = encode(protocol.Problem{
		Status: http.StatusServiceUnavailable, Title: "Overloaded", Code: protocol.CodeOverloaded,
		Detail: admission.ErrOverloaded.Error(),
	})
	refusalHeader = map[string][]string{
		"Content-Type": {protocol.TypeProblem}, "Content-Length": {strconv.Itoa(len(refusalBody))},
		"X-Content-Type-Options": {"nosniff"}, "Retry-After": {"1"},
	}
)

const (
	// retryAfter is how long a client is asked to wait.
	retryAfter = time.Second
	// slowdown is how long a refusal is delayed on a connection that has had one within retryAfter.
	slowdown = retryAfter / 10
)

// refuse rejects a request that a gate refuses. Clients that do not wait before they repeat a
// request would otherwise send thousands a second, and the daemon would do little else than reject
// them.
func refuse(r *http.Request) error {
	requestOf(r).refused = true
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		if time.Since(time.Unix(0, c.overloaded.Load())) < retryAfter {
			select {
			case <-time.After(slowdown):
			case <-r.Context().Done():
			}
		}
		c.overloaded.Store(time.Now().UnixNano())
	}
	return admission.ErrOverloaded
}

// writeRefusal responds with what writeError writes for admission.ErrOverloaded.
func writeRefusal(w *recorder) {
	h := w.Header()
	for name, value := range refusalHeader {
		h[name] = value
	}
	// An error means a connection without deadlines, as in tests: no harm.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(frameTimeout))
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write(refusalBody) // fails when the client is gone
}

// refusalLog counts refused requests, and has one line for those of a second.
type refusalLog struct {
	mu    sync.Mutex
	count int
	since time.Time
}

func (l *refusalLog) add(ctx context.Context, logger *slog.Logger, now time.Time) {
	l.mu.Lock()
	l.count++
	n, due := l.count, now.Sub(l.since) >= time.Second
	if due {
		l.count, l.since = 0, now
	}
	l.mu.Unlock()
	if due {
		logger.LogAttrs(ctx, slog.LevelError, "requests are rejected with 503: more work waits than can be done soon", slog.Int("requests", n))
	}
}
