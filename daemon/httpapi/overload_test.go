package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/memory"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
	"evalctl/internal/admission"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
)

// pipes is a listener of connections in memory, which work in fake time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func newPipes() *pipes {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.close(); return nil }
func (*pipes) Addr() net.Addr { return &net.TCPAddr{} }

// scene is an API that serves connections in memory, and whose searches have one slot.
type scene struct {
	api    *API
	gate   *admission.Gate
	log    *awaittest.Log
	ln     *pipes
	server *http.Server
	served chan error
}

// newScene must be called in a bubble of synctest. Brain notes has no documents.
func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{
		gate: admission.New(admission.Config{Slots: 1}), log: &awaittest.Log{}, ln: newPipes(),
		server: &http.Server{IdleTimeout: time.Minute, ReadHeaderTimeout: 10 * time.Second}, served: make(chan error, 1),
	}
	brains, err := brain.Open(t.Context(), brain.Config{
		Catalog:   new(brain.MemoryCatalog),
		OpenStore: func(context.Context, brain.Record) (*store.Store, error) { return memstore.Open(nil), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	memories, err := memory.New(memory.Config{Reader: llm.NewFake(), Model: llm.FakeModel})
	if err != nil {
		t.Fatal(err)
	}
	s.api = New(Config{Brains: brains, Memory: memories, Logger: slog.New(slog.NewTextHandler(s.log, nil))})
	for k := range s.api.gates {
		s.api.gates[k] = s.gate
	}
	go func() { s.served <- s.api.Serve(s.server, s.ln) }()
	t.Cleanup(func() {
		s.shutdown(t)
		memories.Close()
		if err := brains.Close(); err != nil {
			t.Error(err)
		}
	})
	c := s.dial()
	c.send("POST /v1/brains HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{\"id\":\"notes\"}")
	c.expect(t, 201)
	c.Close()
	synctest.Wait()
	return s
}

func (s *scene) shutdown(t *testing.T) {
	t.Helper()
	s.api.Stop()
	if err := s.server.Shutdown(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	if err := <-s.served; !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve: %v", err)
	}
	s.served <- http.ErrServerClosed
}

// occupy takes the slot.
func (s *scene) occupy(t *testing.T) (leave func()) {
	t.Helper()
	leave, err := s.gate.Enter(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return leave
}

// metric returns the value of a metric.
func (s *scene) metric(t *testing.T, name string) string {
	t.Helper()
	resp, err := (&http.Client{Transport: s.api.Local()}).Get("http://localhost/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\n"+name+" ")
	value, _, _ := strings.Cut(after, "\n")
	return value
}

// wired is a client.
type wired struct {
	net.Conn
	r *bufio.Reader
}

func (s *scene) dial() *wired {
	ours, theirs := net.Pipe()
	s.ln.conns <- theirs
	return &wired{ours, bufio.NewReader(ours)}
}

// send sends a request, also while the daemon does not read.
func (c *wired) send(request string) {
	go func() { _, _ = io.WriteString(c.Conn, request) }() // what follows from an error is a missing response
}

func (c *wired) search() {
	c.send("GET /v1/brains/notes/search?q=kettle HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

// response reads a response.
func (c *wired) response(method string) (*http.Response, string, error) {
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	return resp, string(body), err
}

func (c *wired) expect(t *testing.T, status int) *http.Response {
	t.Helper()
	resp, body, err := c.response("GET")
	if err != nil || resp.StatusCode != status {
		t.Fatalf("got %+v %s, %v, want status %d", resp, body, err, status)
	}
	return resp
}

// TestRefusedRequests: every refused request has the same response, and its connection can be used
// further where HTTP allows it.
func TestRefusedRequests(t *testing.T) {
	const (
		host   = " HTTP/1.1\r\nHost: localhost\r\n"
		search = "POST /v1/brains/notes/search" + host + "Content-Type: application/json\r\n"
		health = "GET /healthz" + host + "\r\n"
	)
	for _, tc := range []struct {
		name, request string
		rest          string // of the request; is sent later
		ends          bool   // the connection
		closes        bool   // the client, once it has the response
	}{
		{name: "with a body", request: search + "Content-Length: 13\r\n\r\n{\"query\":\"x\"}"},
		{name: "without a body", request: "GET /v1/brains/notes/search?q=x" + host + "\r\n"},
		{name: "cached by nobody", request: "GET /v1/brains/notes" + host + "\r\n"},
		{name: "without a body in the response", request: "HEAD /v1/brains/notes/documents?path=a.md" + host + "\r\n"},
		{name: "a write", request: "PUT /v1/brains/notes/documents?path=a.md" + host + "Content-Type: application/octet-stream\r\nContent-Length: 1\r\n\r\nx"},
		{name: "followed by another", request: search + "Content-Length: 13\r\n\r\n{\"query\":\"x\"}" + search + "Content-Length: 2\r\n\r\n{}"},
		{name: "with a body that arrives later", request: search + "Content-Length: 13\r\n\r\n{\"query", rest: "\":\"x\"}"},
		{name: "with a large body", request: search + "Content-Length: 300000\r\n\r\n" + strings.Repeat(" ", 300000), ends: true},
		{name: "with chunks", request: search + "Transfer-Encoding: chunked\r\n\r\nd\r\n{\"query\":\"x\"}\r\n0\r\n\r\n"},
		{name: "before its body", request: search + "Content-Length: 13\r\nExpect: 100-continue\r\n\r\n", closes: true},
		{name: "the last one", request: search + "Connection: close\r\nContent-Length: 13\r\n\r\n{\"query\":\"x\"}", ends: true},
		{name: "of HTTP/1.0", request: "GET /v1/brains/notes/search?q=x HTTP/1.0\r\n\r\n", ends: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				defer s.occupy(t)()
				c := s.dial()
				c.send(tc.request)
				synctest.Wait()
				if tc.rest != "" {
					c.send(tc.rest)
					synctest.Wait()
				}
				method, _, _ := strings.Cut(tc.request, " ")
				for range max(1, strings.Count(tc.request, search)) {
					checkRefusal(t, c, method)
				}
				if tc.closes {
					c.Close()
					return
				}
				if !tc.ends {
					c.send(health)
				}
				resp, _, err := c.response("GET")
				if ended := err != nil; ended != tc.ends || !ended && resp.StatusCode != 200 {
					t.Errorf("then got %+v, %v", resp, err)
				}
				synctest.Wait()
				if n := s.api.lobby.count(); n != 0 {
					t.Errorf("%d connections are in the lobby", n)
				}
				c.Close()
			})
		})
	}
}

func checkRefusal(t *testing.T, c *wired, method string) {
	t.Helper()
	resp, body, err := c.response(method)
	if err != nil || resp.StatusCode != 503 {
		t.Fatalf("got %+v %s, %v", resp, body, err)
	}
	var p protocol.Problem
	if method != "HEAD" {
		if err := json.Unmarshal([]byte(body), &p); err != nil || p.Code != protocol.CodeOverloaded || p.Status != 503 {
			t.Errorf("got %s, %v", body, err)
		}
	}
	want := map[string]string{
		"Content-Type": protocol.TypeProblem, "X-Content-Type-Options": "nosniff", "Retry-After": "1",
		"Content-Length": strconv.Itoa(len(refusalBody)), "Cache-Control": "",
	}
	if method != "POST" && method != "PUT" {
		want["Cache-Control"] = "no-store"
	}
	for name, value := range want {
		if got := resp.Header.Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	if id := resp.Header.Get(requestIDHeader); len(id) != 26 {
		t.Errorf("the request id is %q", id)
	}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err != nil || time.Since(at).Abs() > 10*time.Second {
		t.Errorf("the date is %v, %v", at, err)
	}
}

// TestBadRequestAfterRefusal: what net/http rejects on a connection that was refused has a Problem too.
func TestBadRequestAfterRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		defer s.occupy(t)()
		c := s.dial()
		c.search()
		c.expect(t, 503)
		c.send("hello\r\n\r\n")
		if resp := c.expect(t, 400); resp.Header.Get("Content-Type") != protocol.TypeProblem {
			t.Errorf("got %+v", resp)
		}
		c.Close()
	})
}

// TestHeldBack: a refusal is held back from a client that has had one on the same connection and did
// not wait as long as it was asked to.
func TestHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		defer s.occupy(t)()
		one, other := s.dial(), s.dial()
		for _, tc := range []struct {
			what         string
			on           *wired
			waits, takes time.Duration
		}{
			{"the first one", one, 0, 0},
			{"a repeated request", one, 0, minHold},
			{"another one", one, 0, minHold},
			{"another connection", other, 0, 0},
			{"a client that waits too short", one, retryAfter - time.Millisecond, minHold},
			{"a client that waits", one, retryAfter, 0},
		} {
			time.Sleep(tc.waits)
			began := time.Now()
			tc.on.search()
			if tc.on.expect(t, 503); time.Since(began) != tc.takes {
				t.Errorf("%s: refused after %v, want %v", tc.what, time.Since(began), tc.takes)
			}
		}
		// A proxy sends the requests of others over the same connection.
		began := time.Now()
		one.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if one.expect(t, 200); time.Since(began) != 0 {
			t.Errorf("another request was answered after %v", time.Since(began))
		}
		one.Close()
		other.Close()
	})
}

// TestCrowd: however many clients repeat refused requests at once, only so many are refused a second.
// Once there is nothing else to do, those that are held back get their responses sooner.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.api.pace.processors = 1
		leave := s.occupy(t)
		const clients, settled, seconds = 3 * minRefusals, 10, 10
		var refused atomic.Int64
		var crowd sync.WaitGroup
		for range clients {
			c := s.dial()
			crowd.Go(func() {
				defer c.Close()
				for {
					c.search()
					resp, _, err := c.response("GET")
					if err != nil || resp.StatusCode == 200 {
						return
					}
					refused.Add(1)
				}
			})
		}
		time.Sleep(settled * time.Second)
		refused.Store(0)
		time.Sleep(seconds * time.Second)
		if n := refused.Load(); n < .9*seconds*minRefusals || n > 1.1*seconds*minRefusals {
			t.Errorf("%d refusals in %d s, want about %d a second", n, seconds, minRefusals)
		}
		leave()
		began := time.Now()
		crowd.Wait()
		// Otherwise the last one would be served at the end of its turn.
		if took, turn := time.Since(began), clients*time.Second/minRefusals; took > turn*2/3 {
			t.Errorf("%d clients were served after %v", clients, took)
		}
	})
}

// TestRefusalsAreLogged: every refusal is in one line of the log, of which there is one a second.
func TestRefusalsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		defer s.occupy(t)()
		count := func() (lines, requests int) {
			for _, m := range regexp.MustCompile(`msg="requests are rejected with 503: .*" requests=(\d+)\n`).FindAllStringSubmatch(s.log.String(), -1) {
				n, _ := strconv.Atoi(m[1])
				lines, requests = lines+1, requests+n
			}
			return lines, requests
		}
		for i, pause := range []time.Duration{0, 0, 0, 3 * time.Second, 0} {
			time.Sleep(pause)
			c := s.dial()
			c.search()
			c.expect(t, 503)
			c.Close()
			synctest.Wait()
			if lines, requests := count(); i == 0 && requests != 1 || i == 2 && lines != 1 {
				t.Errorf("after %d refusals: %d lines of %d requests", i+1, lines, requests)
			}
		}
		s.shutdown(t)
		if lines, requests := count(); lines != 4 || requests != 5 {
			t.Errorf("%d lines of %d requests:\n%s", lines, requests, s.log)
		}
	})
}

// TestShutdownOfTheLobby: when the daemon stops, clients that are held back get their responses,
// unless they do not send the rest of their requests, and connections that wait for a request end.
func TestShutdownOfTheLobby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		defer s.occupy(t)()
		held, idle, unfinished := s.dial(), s.dial(), s.dial()
		for _, c := range []*wired{held, idle, unfinished} {
			c.search()
			c.expect(t, 503)
		}
		held.search()
		unfinished.send("POST /v1/brains/notes/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 13\r\n\r\n")
		synctest.Wait()
		if got := s.metric(t, "evalctl_refused_connections"); got != "3" {
			t.Errorf("%s connections are in the lobby", got)
		}
		began := time.Now()
		var stopped sync.WaitGroup
		stopped.Go(func() { s.shutdown(t) })
		held.expect(t, 503)
		for _, c := range []*wired{held, idle, unfinished} {
			if _, err := c.r.ReadByte(); err != io.EOF {
				t.Errorf("got %v", err)
			}
		}
		stopped.Wait()
		if took := time.Since(began); took > lastFrameTimeout {
			t.Errorf("took %v", took)
		}
		want := `evalctl_http_requests_total{method="GET",route="/v1/brains/{id}/search",status="503"}`
		if got := s.metric(t, want); got != "4" {
			t.Errorf("%s refusals are counted", got)
		}
	})
}
