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
	// maxJSONBytes is above the longest question in both spellings with every
	// character escaped.
	maxJSONBytes = 1 << 20
	// maxBatchBody leaves room for base64 and for 1,024 long paths.
	maxBatchBody = 2 * protocol.MaxBatchBytes
	// bodyTimeout is how long a client may take to send a body.
	bodyTimeout = 30 * time.Second
)

// requireType refuses a body of another media type. optional lets a request
// without any Content-Type pass.
func requireType(r *http.Request, want string, optional bool) error {
	header := r.Header.Get("Content-Type")
	if header == "" && optional {
		return nil
	}
	got, _, err := mime.ParseMediaType(header)
	if err != nil || got != want {
		return refuse(errMediaType, "Content-Type is %q, this endpoint takes %s", header, want)
	}
	return nil
}

// readBody reads a body of at most limit bytes, counted after decompression
// (spec 8).
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	compressed := false
	switch encoding := r.Header.Get("Content-Encoding"); strings.ToLower(encoding) {
	case "", "identity":
	case "gzip":
		compressed = true
	default:
		w.Header().Set("Accept-Encoding", "gzip")
		return nil, refuse(errMediaType, "Content-Encoding is %q, this daemon takes gzip or none", encoding)
	}
	// What does not compress grows by a few bytes a block.
	raw := limit
	if compressed {
		raw += limit/1024 + 1024
	}
	if r.ContentLength > raw {
		return nil, tooLarge(limit)
	}
	// Errors mean a connection without deadlines, as in tests: no harm.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout))

	var src io.Reader = http.MaxBytesReader(w, r.Body, raw)
	if compressed {
		z, err := gzip.NewReader(src)
		if err != nil {
			return nil, bodyError(err, limit)
		}
		src = z
	}
	var body bytes.Buffer
	if !compressed && r.ContentLength > 0 {
		// ReadFrom wants free space to see the end.
		body.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	n, err := body.ReadFrom(io.LimitReader(src, limit+1))
	if err != nil {
		return nil, bodyError(err, limit)
	}
	if n > limit {
		return nil, tooLarge(limit)
	}
	// Only now: before it answers, net/http reads what is left of a body, and
	// would wait for it without end.
	_ = rc.SetReadDeadline(time.Time{})
	return body.Bytes(), nil
}

func bodyError(err error, limit int64) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return refuse(errInvalid, "the body cannot be read: %v", err)
}

func tooLarge(limit int64) error {
	return refuse(errTooLarge, "the body exceeds %d bytes", limit)
}
