package daemon_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"evalctl/daemon"
	"evalctl/daemon/protocol"
	"evalctl/internal/llm"
)

// TestRejectionsOfTheServer: requests that net/http rejects before a handler sees them have a
// Problem body and a request id, as all others.
func TestRejectionsOfTheServer(t *testing.T) {
	t.Parallel()
	d := serve(t, daemon.Config{Reader: llm.NewFake(), ReaderModel: llm.FakeModel})
	const (
		host   = "\r\nHost: localhost\r\n"
		health = "GET /healthz HTTP/1.1" + host + "\r\n"
	)
	for _, tt := range []struct {
		name, request string
		status        int
		code, detail  string
	}{
		{"no request", "hello\r\n\r\n", 400, "validation_error", "not valid HTTP"},
		{"bad escape", "GET /v1/brains/%zz HTTP/1.1" + host + "\r\n", 400, "validation_error", "escapes"},
		{"no host", "GET /healthz HTTP/1.1\r\n\r\n", 400, "validation_error", "missing required Host header"},
		{"bad header name", "GET /healthz HTTP/1.1" + host + "a b: c\r\n\r\n", 400, "validation_error", "invalid"},
		{"bad length", "PUT /healthz HTTP/1.1" + host + "Content-Length: x\r\n\r\n", 400, "validation_error", "not valid HTTP"},
		{"huge header", "GET /healthz HTTP/1.1" + host + "X: " + strings.Repeat("x", 100<<10) + "\r\n\r\n", 431, "request_header_fields_too_large", "too large"},
		{"expectation", "PUT /healthz HTTP/1.1" + host + "Expect: tea\r\nContent-Length: 1\r\n\r\n", 417, "expectation_failed", "100-continue"},
		{"transfer encoding", "PUT /healthz HTTP/1.1" + host + "Transfer-Encoding: gzip\r\n\r\n", 501, "not_implemented", "Unsupported transfer encoding"},
		{"version", "GET /healthz HTTP/3.7" + host + "\r\n", 505, "http_version_not_supported", "unsupported protocol version"},
		{"after a response", health + health + "GET /%zz HTTP/1.1" + host + "\r\n", 400, "validation_error", "escapes"},

		// These reach the handler.
		{"options of the server", "OPTIONS * HTTP/1.1" + host + "\r\n", 404, "not_found", "no endpoint"},
		{"proxy", "CONNECT localhost:443 HTTP/1.1" + host + "\r\n", 404, "not_found", "canonical"},
		{"method", "BREW /healthz HTTP/1.1" + host + "\r\n", 405, "method_not_allowed", "GET"},
		{"no host in 1.0", "GET /nothing HTTP/1.0\r\n\r\n", 404, "not_found", "no endpoint"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn := d.dial(t, tt.request)
			defer conn.Close()
			r := bufio.NewReader(conn)
			for range strings.Count(tt.request, health) {
				res, err := http.ReadResponse(r, nil)
				if err != nil || res.StatusCode != 200 {
					t.Fatalf("got %v, %v", res, err)
				}
				if got, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(got), `"ok":true`) {
					t.Fatalf("got %s, %v", got, err)
				}
			}
			res, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			var p protocol.Problem
			if err := json.NewDecoder(res.Body).Decode(&p); err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != tt.status || p.Status != tt.status || p.Code != tt.code || p.Title == "" || !strings.Contains(p.Detail, tt.detail) {
				t.Errorf("got %s and %+v, want %d %s", res.Status, p, tt.status, tt.code)
			}
			if got := res.Header.Get("Content-Type"); got != protocol.TypeProblem {
				t.Errorf("Content-Type is %s", got)
			}
			if res.Header.Get("X-Request-Id") == "" {
				t.Error("no request id")
			}
		})
	}
}

// TestContentThatLooksLikeARejection: the content of documents is never taken for a response of
// net/http, wherever a packet begins.
func TestContentThatLooksLikeARejection(t *testing.T) {
	d := serve(t, daemon.Config{Reader: llm.NewFake(), ReaderModel: llm.FakeModel})
	d.expect(t, 201, "POST", "/v1/brains", js, `{"id":"ana"}`)
	one := "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
	text := strings.Repeat(one+strings.Repeat(" ", 128-len(one)), 2000)
	d.expect(t, 204, "PUT", "/v1/brains/ana/documents?path=a.md", octets, text)
	if got := d.expect(t, 200, "GET", "/v1/brains/ana/documents/read?path=a.md", "", ""); got != text {
		t.Errorf("%d of %d bytes, or others", len(got), len(text))
	}
}
