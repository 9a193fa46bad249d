package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// hurried shortens the deadline of a body.
type hurried struct{ http.ResponseWriter }

func (h hurried) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func (h hurried) SetReadDeadline(at time.Time) error {
	if !at.IsZero() {
		at = time.Now().Add(100 * time.Millisecond)
	}
	return http.NewResponseController(h.ResponseWriter).SetReadDeadline(at)
}

// TestSlowBodies: a body that does not arrive in time is rejected with the status and the code of
// spec 7.1 on every endpoint, and changes nothing.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	s := startFake(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.api.ServeHTTP(hurried{w}, r)
	}))
	defer srv.Close()
	const docs = "/v1/brains/eval/documents"
	for request, body := range map[string]string{
		"PUT " + docs + "?path=a.md HTTP/1.1\r\nContent-Type: application/octet-stream":                           "a",
		"PUT " + docs + "?path=a.md HTTP/1.1\r\nContent-Type: application/octet-stream\r\nContent-Encoding: gzip": zip(t, []byte("otter"))[:12],
		"POST " + docs + "/batch-ops HTTP/1.1\r\nContent-Type: application/json":                                  `{"reason":"r","ops":[{"type":"write","path":"a.md",`,
		"POST " + docs + " HTTP/1.1\r\nContent-Type: application/json":                                            `{"path":"a.md",`,
		"POST " + docs + "/ingest/file HTTP/1.1\r\nContent-Type: application/json":                                `{"path":"a.md",`,
		"POST " + docs + "/ingest/file HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=b":                 "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx",
		"POST /mcp HTTP/1.1\r\nContent-Type: application/json":                                                    `{"jsonrpc":`,
		"POST /v1/brains/eval/search HTTP/1.1\r\nContent-Type: application/json":                                  `{"query":`,
	} {
		c, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "%s\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n%s", request, body)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusGatewayTimeout || !strings.Contains(string(got), `"code":"timeout"`) || !strings.Contains(string(got), "did not arrive within 30s") {
			t.Errorf("%s: got %s %s, %v", request, res.Status, got, err)
		}
		res.Body.Close()
	}
	s.expect(t, 404, "GET", docs+"/read?path=a.md", "")
}
