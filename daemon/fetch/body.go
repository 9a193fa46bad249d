package fetch

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// readBody reads a body of at most MaxBytes after decompression.
func readBody(res *http.Response) ([]byte, error) {
	// Data that cannot be compressed grows by a few bytes per block.
	const maxSent = MaxBytes + MaxBytes/1024 + 1024
	if res.ContentLength > maxSent {
		return nil, tooLarge()
	}
	// The length of the result is checked against the limit too, so nothing is cut off silently.
	src := io.LimitReader(res.Body, maxSent+1)
	switch encoding := strings.ToLower(res.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(src)
		if err != nil {
			return nil, bodyError(err)
		}
		src = z
	default:
		return nil, fmt.Errorf("%w: Content-Encoding %.100q is not gzip", ErrUnsupported, encoding)
	}
	body, err := io.ReadAll(io.LimitReader(src, MaxBytes+1))
	if len(body) > MaxBytes {
		return nil, tooLarge()
	}
	if err != nil {
		return nil, bodyError(err)
	}
	return body, nil
}

func tooLarge() error { return fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, MaxBytes) }

func bodyError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the body ends too early", ErrUpstream)
	}
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return fmt.Errorf("%w: the body is not gzip", ErrUpstream)
	}
	return networkError(err)
}
