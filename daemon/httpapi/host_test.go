package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"evalctl/internal/llm"
)

func TestOwnHost(t *testing.T) {
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8787}
	network := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 8787}
	a := &API{host: "Memory.example"}
	for host, want := range map[string]struct{ loopback, network bool }{
		"":                       {true, true},
		"127.0.0.1":              {true, true},
		"127.0.0.1:8787":         {true, true},
		"[::1]:8787":             {true, true},
		"[::1]":                  {true, true},
		"10.1.2.3:80":            {true, true},
		"localhost":              {true, true},
		"LocalHost:1":            {true, true},
		"localhost.:1":           {true, true},
		"a.b.localhost:8787":     {true, true},
		"memory.example":         {true, true},
		"MEMORY.example.:8787":   {true, true},
		"daemon:8787":            {false, true},
		"x":                      {false, true},
		"evil.example:8787":      {false, false},
		"evil.example":           {false, false},
		"127.0.0.1.evil.example": {false, false},
		"evillocalhost":          {false, true},
		"localhost.evil.example": {false, false},
		"x.memory.example":       {false, false},
		"memory.example.evil":    {false, false},
		"evil.example:1:2":       {false, false},
		"a b.example":            {false, false},
	} {
		if got := a.ownHost(host, loopback); got != want.loopback {
			t.Errorf("%q on loopback: got %v", host, got)
		}
		if got := a.ownHost(host, network); got != want.network {
			t.Errorf("%q on the network: got %v", host, got)
		}
		if got := a.ownHost(host, nil); got != want.loopback {
			t.Errorf("%q on an unknown address: got %v", host, got)
		}
	}
	if (&API{}).ownHost("memory.example", loopback) {
		t.Error("a daemon without a configured name accepts one")
	}
}

// raw sends a request with the given Host header and returns the response.
func (s *server) raw(t *testing.T, method, target, host, headers, body string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n%s", method, target, host, headers, len(body), body)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
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

// TestReboundPages: a browser treats a page of evil.example as the daemon's own once that name
// resolves to the daemon's address.
func TestReboundPages(t *testing.T) {
	s := startFake(t)
	s.put(t, "a.md", "The secret kettle.")
	port := s.url[strings.LastIndex(s.url, ":"):]
	evil := "evil.example" + port
	for _, r := range []struct{ method, target, headers, body string }{
		{"PUT", "/v1/brains/eval/documents?path=a.md", "Content-Type: application/octet-stream\r\n", "planted"},
		{"GET", "/v1/brains/eval/documents/read?path=a.md", "", ""},
		{"GET", "/v1/brains", "", ""},
		{"GET", "/healthz", "", ""},
		{"GET", "/metrics", "", ""},
		{"GET", "/openapi.json", "", ""},
		{"GET", "/none", "", ""},
	} {
		headers := r.headers + "Origin: http://" + evil + "\r\nSec-Fetch-Site: same-origin\r\n"
		status, body := s.raw(t, r.method, r.target, evil, headers, r.body)
		if status != 403 || !strings.Contains(body, "start it with keys") || !strings.Contains(body, `"code":"forbidden"`) {
			t.Errorf("%s %s: got %d %s", r.method, r.target, status, body)
		}
	}
	for _, host := range []string{"localhost" + port, "127.0.0.1" + port, "[::1]" + port, "eval.localhost", "127.0.0.1"} {
		if status, body := s.raw(t, "GET", "/v1/brains/eval/documents/read?path=a.md", host, "", ""); status != 200 || body != "The secret kettle." {
			t.Errorf("host %s: got %d %s", host, status, body)
		}
	}
}

// TestKeysAllowAnyHost: a proxy in front of a daemon with keys may forward external host names.
func TestKeysAllowAnyHost(t *testing.T) {
	s := startWith(t, llm.NewFake(), llm.FakeModel, keysOf(t, testKeys))
	headers := "Authorization: Bearer " + tokenOf("reader") + "\r\n"
	if status, body := s.raw(t, "GET", "/v1/brains", "memory.example", headers, ""); status != 200 {
		t.Errorf("got %d %s", status, body)
	}
	if status, _ := s.raw(t, "GET", "/v1/brains", "memory.example", "", ""); status != 401 {
		t.Errorf("got %d", status)
	}
}
