package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/internal/sse"
)

// HandleMCP sets the handler of POST /mcp. Without one, the endpoint does not exist. It must be set
// before requests are served, and h must not be called otherwise.
//
// The API authorizes requests, limits their bodies and gives plain-text errors of the handler a
// Problem body. The handler uses the API through Local, with the contexts of its requests.
func (a *API) HandleMCP(h http.Handler) { a.mcp = h }

func (a *API) serveMCP(w http.ResponseWriter, r *http.Request) error {
	if a.mcp == nil {
		return requestErrorf(errNoRoute, "no endpoint has this path")
	}
	if err := requireType(r, protocol.TypeJSON, false); err != nil {
		return err
	}
	body, err := readBody(w, r, maxRecordBody)
	if err != nil {
		return err
	}
	r = r.WithContext(context.WithValue(r.Context(), actorKey{}, requestOf(r).caller))
	r.Header = r.Header.Clone()
	r.Header.Del("Content-Encoding")
	if r.Header.Get("Accept") == "" { // means anything, but the handler wants to read it
		r.Header.Set("Accept", protocol.TypeJSON+", "+protocol.TypeEvents)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out := &mcpWriter{ResponseWriter: w, rc: http.NewResponseController(w), stopped: a.stopped}
	ended := make(chan struct{})
	var watch sync.WaitGroup
	defer watch.Wait()
	defer close(ended)
	watch.Go(func() {
		select {
		case <-a.stopping: // unblocks the sending of a message to a client that does not read
			_ = out.rc.SetWriteDeadline(time.Now().Add(lastFrameTimeout))
		case <-ended:
		}
	})
	a.mcp.ServeHTTP(out, r)
	return out.err()
}

// mcpKinds are the errors for the statuses of plain-text responses.
var mcpKinds = map[int]error{
	http.StatusBadRequest:            errInvalid,
	http.StatusForbidden:             errForbidden,
	http.StatusNotFound:              errNoRoute,
	http.StatusMethodNotAllowed:      errMethod,
	http.StatusNotAcceptable:         errInvalid,
	http.StatusRequestEntityTooLarge: errTooLarge,
	http.StatusUnsupportedMediaType:  errMediaType,
}

// mcpWriter holds back responses outside 2xx that are not JSON. A client that stops reading is
// disconnected.
type mcpWriter struct {
	http.ResponseWriter
	rc      *http.ResponseController
	stopped func() bool // the daemon is stopping
	begun   bool
	status  int // of a response that is held back
	text    bytes.Buffer
}

// Unwrap is called by http.ResponseController.
func (w *mcpWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *mcpWriter) WriteHeader(status int) {
	if w.begun {
		return
	}
	w.begun = true
	contentType := w.Header().Get("Content-Type")
	if status >= 300 && !strings.HasPrefix(contentType, protocol.TypeJSON) {
		w.status = status
		return
	}
	if contentType == protocol.TypeEvents {
		w.Header().Set("Cache-Control", "no-cache")
		sse.Unbuffered(w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *mcpWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.status != 0 {
		return w.text.Write(p)
	}
	limit := frameTimeout
	if w.stopped() {
		limit = lastFrameTimeout
	}
	_ = w.rc.SetWriteDeadline(time.Now().Add(limit)) // fails without a connection, as in tests
	return w.ResponseWriter.Write(p)
}

// err returns the response that was held back.
func (w *mcpWriter) err() error {
	if w.status == 0 {
		return nil
	}
	text := strings.TrimSpace(w.text.String())
	if kind := mcpKinds[w.status]; kind != nil {
		return requestErrorf(kind, "%s", text)
	}
	return errors.New(text)
}
