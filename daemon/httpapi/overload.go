package httpapi

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/internal/admission"
)

// Refusing a request at a gate costs as little as possible, so that the daemon has its time for the
// others: the body is not used, the response is always the same, and the log has no line for it.
// But most of the cost is in net/http and the kernel, so refusals must also be rare: pace spreads
// them, and lobby has the connections meanwhile.

var refusalBody = encode(protocol.Problem{
	Status: http.StatusServiceUnavailable, Title: "Overloaded", Code: protocol.CodeOverloaded,
	Detail: admission.ErrOverloaded.Error(),
})

// retryAfter is how long a client that has waited for its refusal is asked to wait.
const retryAfter = time.Second

// maxSpread is how much longer other clients are asked to wait, so that not all return at once.
const maxSpread = 2 * time.Second

// refuse rejects a request that the gate refuses. It waits first if the client has returned on this
// connection earlier than it was asked to.
func (a *API) refuse(r *http.Request, gate *admission.Gate) error {
	state := requestOf(r)
	state.refused = true
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok {
		state.writeRefusal(r, retryAfter)
		return admission.ErrOverloaded
	}
	now := time.Now()
	turn := a.pace.turn(now)
	hold, after := time.Duration(0), retryAfter+min(turn, maxSpread).Truncate(time.Second)
	if now.UnixNano() < c.patient.Load() {
		hold, after = a.pace.hold(turn), retryAfter
	}
	c.patient.Store(now.Add(hold + after).UnixNano())
	if a.lobby.enter(r, c, gate, hold, after) {
		return admission.ErrOverloaded
	}
	select {
	case <-time.After(min(hold, minHold)):
	case <-r.Context().Done():
	}
	state.writeRefusal(r, after)
	return admission.ErrOverloaded
}

// setRefusal sets the header of the response that writeError writes for admission.ErrOverloaded.
func setRefusal(h http.Header, after time.Duration) {
	h.Set("Content-Type", protocol.TypeProblem)
	h.Set("Content-Length", strconv.Itoa(len(refusalBody)))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Retry-After", strconv.Itoa(int(after/time.Second)))
}

// writeRefusal writes the same response as writeError for admission.ErrOverloaded.
func (state *request) writeRefusal(r *http.Request, after time.Duration) {
	w := &state.response
	setRefusal(w.Header(), after)
	// An error means a connection without deadlines, as in tests: no harm.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(frameTimeout))
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write(refusalBody) // fails when the client is gone
}

// refusal returns a response as writeRefusal sends it, but for its beginning.
func refusal(r *http.Request, h http.Header, after time.Duration) []byte {
	setRefusal(h, after)
	var b bytes.Buffer
	b.Grow(1 << 9)
	_ = h.Write(&b) // never fails
	b.WriteString("\r\n")
	if r.Method != http.MethodHead {
		b.Write(refusalBody)
	}
	return b.Bytes()
}

// refusalLog counts refused requests, and logs one line for all refusals within a second.
type refusalLog struct {
	logger *slog.Logger

	mu    sync.Mutex
	count int
	later *time.Timer // will write the line; nil: none is due
	since time.Time   // the last line
}

func (l *refusalLog) add(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	switch wait := time.Second - now.Sub(l.since); {
	case l.later != nil:
	case wait > 0:
		l.later = time.AfterFunc(wait, l.flush)
	default:
		l.write(now)
	}
}

// flush writes the line of requests that have none yet.
func (l *refusalLog) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.later != nil {
		l.later.Stop()
		l.write(time.Now())
	}
}

// write is called with mu held.
func (l *refusalLog) write(now time.Time) {
	l.logger.LogAttrs(context.Background(), slog.LevelError,
		"requests are rejected with 503: more work waits than can be done soon", slog.Int("requests", l.count))
	l.count, l.later, l.since = 0, nil, now
}
