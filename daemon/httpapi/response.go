package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/internal/llm"
)

// encode returns v as one line of JSON. It does not escape <, > and &: bodies are never embedded in
// HTML. It panics on values that JSON cannot represent, which is a bug.
func encode(v any) []byte {
	var b bytes.Buffer
	encodeTo(&b, v)
	return b.Bytes()
}

func encodeTo(b *bytes.Buffer, v any) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
}

// bodies are buffers of responses of at most maxReused bytes.
var bodies = sync.Pool{New: func() any { return &bytes.Buffer{} }}

const maxReused = 64 << 10

func writeJSON(w http.ResponseWriter, status int, v any) error {
	b := bodies.Get().(*bytes.Buffer)
	defer func() {
		if b.Cap() <= maxReused {
			bodies.Put(b)
		}
	}()
	b.Reset()
	encodeTo(b, v)
	return writeBody(w, status, protocol.TypeJSON, b.Bytes())
}

// replyJSON is writeJSON for a handler whose last step may have failed.
func replyJSON(w http.ResponseWriter, status int, v any, err error) error {
	if err != nil {
		return err
	}
	return writeJSON(w, status, v)
}

// replyEmpty is replyJSON without a body.
func replyEmpty(w http.ResponseWriter, status int, err error) error {
	if err == nil {
		w.WriteHeader(status)
	}
	return err
}

func writeBody(w http.ResponseWriter, status int, contentType string, body []byte) error {
	return writeFrom(w, status, contentType, int64(len(body)), bytes.NewReader(body))
}

// writeError responds with a Problem if the response has not begun, and keeps the error for the
// log. A client that has disconnected gets an empty response: it may still read, and without one
// net/http would send it a 200.
func writeError(r *http.Request, err error) {
	state := requestOf(r)
	state.err = err
	w := &state.response
	if w.status != 0 {
		return
	}
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		w.WriteHeader(statusClientGone)
		return
	}
	o := outcomeOf(err)
	if o.status == http.StatusServiceUnavailable && o.retryable {
		askToWait(w.Header(), time.Second)
	}
	if e, ok := errors.AsType[*llm.Error](err); ok && o.status == http.StatusTooManyRequests {
		askToWait(w.Header(), max(e.RetryAfter, time.Second))
	}
	problem := protocol.Problem{Status: o.status, Title: o.title, Code: o.code, Detail: o.detail(err, state.id)}
	if e, ok := errors.AsType[*brain.UnfinishedError](err); ok {
		problem.Pending = e.Missing
	}
	if e, ok := errors.AsType[*brain.UnreadyError](err); ok {
		askToWait(w.Header(), e.Retry)
		if e.Indexing != nil {
			problem.Indexing = e.Indexing
			problem.Pending = e.Indexing.DocumentsTotal - e.Indexing.DocumentsDone
		}
	}
	body := encode(problem)
	_ = writeBody(w, o.status, protocol.TypeProblem, body) // fails when the client is gone
}

// askToWait says when a request may be repeated, in whole seconds.
func askToWait(h http.Header, wait time.Duration) {
	h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}

// clearWriteDeadline removes the deadline that an earlier response left on the connection.
func clearWriteDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
}

// writeFrom sends size bytes of src without holding them in memory. A client that stops reading is
// disconnected.
func writeFrom(
	w http.ResponseWriter, status int, contentType string, size int64, src io.Reader,
) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	sent, err := io.Copy(deadlineWriter{w, http.NewResponseController(w)}, src)
	if err == nil && sent < size {
		err = fmt.Errorf("the response ends after %d of %d bytes: %w",
			sent, size, io.ErrUnexpectedEOF)
	}
	return err
}

// partBytes is how much a client has to read within frameTimeout.
const partBytes = 64 << 10

// deadlineWriter writes in parts, each with its own deadline. The last deadline also covers the
// bytes that net/http sends only after the handler returns; the connection's next request removes
// it.
type deadlineWriter struct {
	w  io.Writer
	rc *http.ResponseController
}

func (d deadlineWriter) Write(data []byte) (n int, err error) {
	for part := range slices.Chunk(data, partBytes) {
		// An error means a connection without deadlines, as in tests: no harm.
		_ = d.rc.SetWriteDeadline(time.Now().Add(frameTimeout))
		m, err := d.w.Write(part)
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
