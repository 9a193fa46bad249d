package httpapi

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"evalctl/daemon/protocol"
)

const (
	// maxJSONBytes is more than the longest question needs, given in both spellings with every
	// character escaped.
	maxJSONBytes = 1 << 20
	// maxBatchBody is enough for MaxBatchBytes in base64 and 1,024 long paths.
	maxBatchBody = 2 * protocol.MaxBatchBytes
	// bodyTimeout is how long a client may take to send a body.
	bodyTimeout = 30 * time.Second
)

// requireType rejects a body of another media type. If optional, the header may be missing.
func requireType(r *http.Request, want string, optional bool) error {
	header := r.Header.Get("Content-Type")
	if header == "" && optional {
		return nil
	}
	got, _, err := mime.ParseMediaType(header)
	if err != nil || got != want {
		return requestErrorf(errMediaType, "Content-Type is %q, this endpoint accepts %s", header, want)
	}
	return nil
}

// readBody reads a body of at most limit bytes, counted after decompression (spec 8).
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	state := requestOf(r)
	if state.body != nil {
		return state.body, nil
	}
	src, err := openBody(w, r, limit)
	if err != nil {
		return nil, err
	}
	// The Content-Length reserves no memory: a client that promises a body need not send it.
	var all bytes.Buffer
	if _, err := all.ReadFrom(src); err != nil {
		return nil, err
	}
	if state.repeatable {
		state.body = all.Bytes()
	}
	return all.Bytes(), state.begin(r.Context())
}

// openBody is readBody for callers that stream the body, and call request.begin when they have read
// it. Errors of Read may be shown to the client. The caller must read to the end unless it rejects
// the request.
func openBody(w http.ResponseWriter, r *http.Request, limit int64) (io.Reader, error) {
	compressed := false
	switch encoding := r.Header.Get("Content-Encoding"); strings.ToLower(encoding) {
	case "", "identity":
	case "gzip":
		compressed = true
	default:
		w.Header().Set("Accept-Encoding", "gzip")
		return nil, requestErrorf(errMediaType,
			"Content-Encoding is %q, this daemon accepts gzip or none", encoding)
	}
	// Data that cannot be compressed grows by a few bytes per block.
	raw := limit
	if compressed {
		raw += limit/1024 + 1024
	}
	if r.ContentLength > raw {
		return nil, tooLarge(limit)
	}
	rc := http.NewResponseController(w)
	// Errors mean a connection without deadlines, as in tests: no harm.
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout))
	b := &body{src: http.MaxBytesReader(w, r.Body, raw), rc: rc, limit: limit, left: limit}
	if compressed {
		if err := b.decompress(); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// body is a request body of at most limit bytes.
type body struct {
	src         io.Reader
	rc          *http.ResponseController
	limit, left int64
	err         error // of every further Read
}

// decompress reads the compressed body to its end before it decompresses a byte. Otherwise a client
// that stops sending would occupy a thousand times the memory that it has sent.
func (b *body) decompress() error {
	var all bytes.Buffer
	if _, err := all.ReadFrom(b.src); err != nil {
		return bodyError(err, b.limit)
	}
	z, err := gzip.NewReader(&all)
	if err != nil {
		return bodyError(err, b.limit)
	}
	b.src = z
	return nil
}

func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.src.Read(p)
	b.left -= int64(n)
	switch {
	case b.left < 0:
		n, b.err = 0, tooLarge(b.limit)
	case errors.Is(err, io.EOF):
		// Not earlier: before net/http sends a response, it reads the rest of the body, and would
		// wait for it without a limit.
		_ = b.rc.SetReadDeadline(time.Time{})
		b.err = io.EOF
	case err != nil:
		b.err = bodyError(err, b.limit)
	}
	return n, b.err
}

func bodyError(err error, limit int64) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return requestErrorf(errDeadline, "the body did not arrive within %v", bodyTimeout)
	}
	return requestErrorf(errInvalid, "the body cannot be read: %v", err)
}

func tooLarge(limit int64) error {
	return requestErrorf(errBodyTooLarge, "the body exceeds %d bytes", limit)
}
