package httpapi

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
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

// TestSlowBodies: a body that does not arrive in time is rejected with 408.
func TestSlowBodies(t *testing.T) {
	s := startFake(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.api.ServeHTTP(hurried{w}, r)
	}))
	defer srv.Close()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(c, "PUT /v1/brains/eval/documents?path=a.md HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\nContent-Length: 10\r\n\r\na")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusRequestTimeout {
		t.Errorf("got %s", res.Status)
	}
	s.expect(t, 404, "GET", "/v1/brains/eval/documents/read?path=a.md", "")
}
