package httpapi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
)

// held is a request whose handler waits for the body.
type held struct {
	conn    net.Conn
	answers *bufio.Reader
	body    string
}

// hold sends the header of a request, and returns when its handler has authorized it and waits for
// the body.
func hold(t *testing.T, s *server, method, target, contentType, body string, headers ...string) *held {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Type: %s\r\nContent-Length: %d\r\n", method, target, contentType, len(body))
	for i := 0; i < len(headers); i += 2 {
		fmt.Fprintf(conn, "%s: %s\r\n", headers[i], headers[i+1])
	}
	if _, err := io.WriteString(conn, "\r\n"); err != nil {
		t.Fatal(err)
	}
	h := &held{conn, bufio.NewReader(conn), body}
	if line, err := h.answers.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%s %s: got %q, %v", method, target, line, err)
	}
	if _, err := h.answers.ReadString('\n'); err != nil { // the blank line after the status
		t.Fatal(err)
	}
	return h
}

// finish sends the body and returns the response.
func (h *held) finish(t *testing.T) (int, string) {
	t.Helper()
	if _, err := io.WriteString(h.conn, h.body); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(h.answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

var heldRequests = []struct{ method, target, contentType, body string }{
	{"POST", "/search", protocol.TypeJSON, `{"query":"kettle"}`},
	{"POST", "/ask", protocol.TypeJSON, `{"question":"Which kettle?"}`},
	{"POST", "/documents", protocol.TypeJSON, `{"content":"planted","path":"planted.md"}`},
	{"PUT", "/documents?path=planted.md", protocol.TypeBytes, "planted"},
	{"POST", "/documents/append?path=a.md", protocol.TypeBytes, "planted"},
	{"POST", "/documents/rename", protocol.TypeJSON, `{"from":"a.md","to":"planted.md"}`},
	{"POST", "/documents/batch-ops", protocol.TypeJSON, `{"ops":[{"type":"delete","path":"a.md"}]}`},
}

// TestBrainReplacedDuringRequest: a request for one brain never affects another one that was given
// its id, here another tenant's.
func TestBrainReplacedDuringRequest(t *testing.T) {
	s := startKeyed(t)
	const one = "/v1/brains/notes"
	missing := s.expect(t, 403, "GET", "/v1/brains/nobody", "", as("admin")...)
	for _, r := range heldRequests {
		s.expect(t, 201, "POST", "/v1/brains", `{"id":"notes"}`, as("admin")...)
		h := hold(t, s, r.method, one+r.target, r.contentType, r.body, as("admin")...)
		s.expect(t, 204, "DELETE", one, "", as("admin", "X-Confirm-Delete", "yes")...)
		s.expect(t, 201, "POST", "/v1/brains", `{"id":"notes"}`, as("other")...)
		s.expect(t, 204, "PUT", one+"/documents?path=a.md", "The secret kettle.", as("other", "Content-Type", protocol.TypeBytes)...)
		status, body := h.finish(t)
		if status != 403 || strings.ReplaceAll(body, "notes", "nobody") != missing {
			t.Errorf("%s %s: got %d %s", r.method, r.target, status, body)
		}
		if list := s.expect(t, 200, "GET", one+"/documents?dir=", "", as("other")...); strings.Contains(list, "planted") {
			t.Errorf("%s %s: the other brain contains %s", r.method, r.target, list)
		}
		if got := s.expect(t, 200, "GET", one+"/documents/read?path=a.md", "", as("other")...); got != "The secret kettle." {
			t.Errorf("%s %s: the other brain's document is %q", r.method, r.target, got)
		}
		s.expect(t, 204, "DELETE", one, "", as("other", "X-Confirm-Delete", "yes")...)
	}
}

// TestBrainDeletedDuringRequest: without keys the response is 404.
func TestBrainDeletedDuringRequest(t *testing.T) {
	s := startFake(t)
	for _, r := range heldRequests {
		s.expect(t, 201, "POST", "/v1/brains", `{"id":"notes"}`)
		h := hold(t, s, r.method, "/v1/brains/notes"+r.target, r.contentType, r.body)
		s.expect(t, 204, "DELETE", "/v1/brains/notes", "", "X-Confirm-Delete", "yes")
		if status, body := h.finish(t); status != 404 || !strings.Contains(body, "no such brain") {
			t.Errorf("%s %s: got %d %s", r.method, r.target, status, body)
		}
	}
}

// TestDeletedBrainEndsItsAnswers: an answer from documents that are deleted does not continue.
func TestDeletedBrainEndsItsAnswers(t *testing.T) {
	ended := make(chan error, 1)
	s := start(t, waiting{llm.NewFake(), ended}, "waiting")
	resp, events := askWaiting(t, s)
	defer resp.Body.Close()
	defer time.AfterFunc(2*time.Minute, func() { resp.Body.Close() }).Stop() // or a failure hangs
	s.expect(t, 204, "DELETE", "/v1/brains/eval", "", "X-Confirm-Delete", "yes")
	if e, err := events.Next(); err != nil || e.Name != "error" || !strings.Contains(string(e.Data), `"code":"not_found"`) {
		t.Errorf("got %q %s, %v", e.Name, e.Data, err)
	}
	if e, err := events.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the error: %q, %v", e.Name, err)
	}
	if err := awaittest.Receive(t, "ended", ended); !errors.Is(err, brain.ErrNotFound) {
		t.Errorf("the reader's context ended with %v", err)
	}
}
