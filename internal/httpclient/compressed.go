package httpclient

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const (
	// maxRatio is how many times as long as sent a decompressed body may be. Texts are compressed
	// by a factor of less than 20; deflate allows more than 1,000.
	maxRatio = 100
	// anyRatio is the length up to which any ratio is allowed.
	anyRatio = 1 << 20
)

// ErrRatio is the error of a compressed body that expands too much.
var ErrRatio = errors.New("the compressed response expands too much")

// Decompressing returns a transport that decompresses responses with gzip from next, and asks for
// them if ask is set. next must not decompress by itself. A body that expands more than a hundred
// times ends with ErrRatio after its first MiB.
func Decompressing(next http.RoundTripper, ask bool) http.RoundTripper {
	return &decompressing{next, ask}
}

type decompressing struct {
	next http.RoundTripper
	ask  bool
}

// RoundTrip implements http.RoundTripper.
func (d *decompressing) RoundTrip(req *http.Request) (*http.Response, error) {
	if d.ask && req.Header.Get("Accept-Encoding") == "" && req.Method != http.MethodHead {
		req = req.Clone(req.Context())
		req.Header.Set("Accept-Encoding", "gzip")
	}
	res, err := d.next.RoundTrip(req)
	if err != nil || !strings.EqualFold(res.Header.Get("Content-Encoding"), "gzip") || req.Method == http.MethodHead {
		return res, err
	}
	res.Body = &expander{sent: counter{from: res.Body}, body: res.Body}
	res.Header.Del("Content-Encoding")
	res.Header.Del("Content-Length")
	res.ContentLength, res.Uncompressed = -1, true
	return res, nil
}

// CloseIdleConnections closes the idle connections of the next transport.
func (d *decompressing) CloseIdleConnections() {
	if c, ok := d.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// expander is a compressed body.
type expander struct {
	sent counter
	body io.Closer
	zip  *gzip.Reader // nil before the first Read
	n    int64
	err  error // of the first Read
}

// counter counts the bytes that are read.
type counter struct {
	from io.Reader
	n    int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

func (e *expander) Read(p []byte) (int, error) {
	if e.zip == nil && e.err == nil {
		e.zip, e.err = gzip.NewReader(&e.sent)
	}
	if e.err != nil {
		return 0, e.err
	}
	n, err := e.zip.Read(p)
	if e.n += int64(n); e.n > anyRatio && e.n > maxRatio*e.sent.n {
		return 0, fmt.Errorf("%w: to more than %d times its length", ErrRatio, maxRatio)
	}
	return n, err
}

func (e *expander) Close() error { return e.body.Close() }
