package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// encode gives v as one line of JSON with <, > and & as they are: bodies are
// never embedded in HTML. It panics on what JSON cannot hold, which is a bug.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	return writeBody(w, status, "application/json", encode(v))
}

func writeBody(w http.ResponseWriter, status int, contentType string, body []byte) error {
	return writeFrom(w, status, contentType, int64(len(body)), bytes.NewReader(body))
}

// noDeadline lifts what the answer before left to the connection.
func noDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
}

// writeFrom answers with the size bytes of src, which need not be in memory.
// A client that stops reading is cut.
func writeFrom(w http.ResponseWriter, status int, contentType string, size int64, src io.Reader) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	sent, err := io.Copy(patient{w, http.NewResponseController(w)}, src)
	if err == nil && sent < size {
		err = fmt.Errorf("the answer ends after %d of %d bytes: %w", sent, size, io.ErrUnexpectedEOF)
	}
	return err
}

// partBytes is what a client has to take within frameTimeout.
const partBytes = 64 << 10

// patient writes part by part, each under a deadline of its own. The last one
// also holds for what net/http sends only after the handler, so it is left to
// the connection's next request to lift it.
type patient struct {
	w  io.Writer
	rc *http.ResponseController
}

func (p patient) Write(data []byte) (n int, err error) {
	for part := range slices.Chunk(data, partBytes) {
		// An error means a connection without deadlines, as in tests: no harm.
		_ = p.rc.SetWriteDeadline(time.Now().Add(frameTimeout))
		m, err := p.w.Write(part)
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
