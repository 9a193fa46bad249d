package target

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

func TestNewEndpointRejects(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"", "endpoint \"\" must be an http or https URL with a host, such as http://127.0.0.1:8787"},
		{"127.0.0.1:8787", "cannot be parsed: give a URL such as http://127.0.0.1:8787"},
		{"ftp://host", "must be an http or https URL"},
		{"http://", "must be an http or https URL"},
		{"http://host:port", "cannot be parsed: give a URL"},
		{"http://user:hunter2@host",
			"must not contain a user or password: give the token or key separately"},
		{"http://hunter2@host", "must not contain a user or password"},
		{"http://host/?key=hunter2", "without ? or #"},
		{"http://host/#x", "without ? or #"},
	} {
		_, err := NewEndpoint(c.url, "", "a", 1)
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: got %v, want %s", c.url, err, c.want)
		}
	}
}

func TestEndpointURL(t *testing.T) {
	for in, want := range map[string]string{
		"http://host:80/": "http://host:80", "https://host/base//": "https://host/base",
		"http://[::1]:9": "http://[::1]:9",
	} {
		if e, err := NewEndpoint(in, "", "a", 1); err != nil || e.URL() != want {
			t.Errorf("%s: got %v, %v, want %s", in, e, err, want)
		}
	}
}

// TestStatusFailures checks that a failure has the status and the daemon's explanation, on one line
// and without the token.
func TestStatusFailures(t *testing.T) {
	const token = "s3cret-token"
	for _, c := range []struct {
		name       string
		status     int
		kind, body string
		want       []string
		final      bool // not retried
	}{
		{"problem", 400, "application/problem+json",
			`{"status":400,"title":"Bad Request","code":"validation_error","detail":"top_k\nis 0"}`,
			[]string{"POST /v1/brains/eval/ask: 400 Bad Request: " +
				"validation_error: Bad Request: top_k is 0"}, true},
		{"other JSON", 422, "application/json", `{"error":"x"}`,
			[]string{`422 Unprocessable Entity: {"error":"x"}`}, true},
		{"plain text", 404, "text/plain", "404 page\nnot found\n",
			[]string{"404 Not Found: 404 page not found"}, true},
		{"empty", 405, "", "", []string{"405 Method Not Allowed"}, true},
		{"huge", 500, "text/html", strings.Repeat("<p>", 1<<20),
			[]string{"500 Internal Server Error: <p>", "…"}, true},
		{"huge problem", 500, "application/json", `{"detail":"` + strings.Repeat("d", 1500) + `"}`,
			[]string{"500 Internal Server Error: ddd", "…"}, true},
		{"binary", 500, "", "\xff\xfe\x00", []string{"500 Internal Server Error: \ufffd"}, true},
		{"unauthorized", 401, "", "",
			[]string{"(give the daemon's token with --token or SVC_TOKEN)"}, true},
		{"forbidden", 403, "", "",
			[]string{"(give the daemon's token with --token or SVC_TOKEN)"}, true},
		{"too many", 429, "", "", []string{"429 Too Many Requests"}, false},
		{"bad gateway", 502, "", "", []string{"502 Bad Gateway"}, false},
		{"unavailable", 503, "", "warming up",
			[]string{"503 Service Unavailable: warming up"}, false},
		{"gateway timeout", 504, "", "", []string{"504 Gateway Timeout"}, false},
		{"not implemented", 501, "", "", []string{"501 Not Implemented"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
				w.Header().Set("Content-Type", c.kind)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			target := targetOf(t, s)
			target.Service = endpointOf(t, s, token)
			_, err := target.once(t.Context(), dataset.Question{Question: "who?"})
			f, ok := errors.AsType[*Failure](err)
			if !ok || f.Kind != result.KindStatus || f.Status != c.status || f.retry == c.final {
				t.Fatalf("got %#v", err)
			}
			for _, part := range c.want {
				if !strings.Contains(f.Message, part) {
					t.Errorf("message %q does not contain %q", f.Message, part)
				}
			}
			if strings.Contains(f.Message, token) || strings.ContainsAny(f.Message, "\n\r") ||
				len(f.Message) > 2000 {
				t.Errorf("message %q", f.Message)
			}
		})
	}
}

// TestRedirectsAreNotFollowed checks that the token is not sent to another host.
func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := daemontest.Answering(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, status)
		})
		target := targetOf(t, s)
		target.Service = endpointOf(t, s, "secret")
		a := wantFailure(t, target, result.KindStatus,
			"(redirects are not followed; give the final URL)")
		if a.Attempts != 1 {
			t.Errorf("status %d: asked %d times", status, a.Attempts)
		}
	}
	if got := elsewhere.Calls(); len(got) != 0 {
		t.Errorf("%d requests followed a redirect", len(got))
	}
}

// TestTokenInErrors checks that errors of a connection and of an invalid token do not contain it.
func TestTokenInErrors(t *testing.T) {
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
		daemontest.HangUp(w)
	})
	for _, token := range []string{"s3cret", "s3cret\n"} {
		target := targetOf(t, s)
		target.Service = endpointOf(t, s, token)
		_, err := target.once(t.Context(), dataset.Question{Question: "who?"})
		if f, ok := errors.AsType[*Failure](err); !ok || f.Kind != result.KindTransport ||
			strings.Contains(f.Message, "s3cret") {
			t.Errorf("got %v", err)
		}
	}
}

func TestHealth(t *testing.T) {
	for _, c := range []struct {
		status        int
		body, version string
		err           string
	}{
		{200, `{"ok":true,"version":"1.2","ready":true}`, "1.2", ""},
		{200, `{"ok":true}`, "", ""},
		{200, `ok`, "", ""},
		{200, `{"ok":false,"reason":"warming up"}`, "",
			`it reports that it is not healthy: {"ok":false,"reason":"warming up"}`},
		{200, `{"ok":"false"}`, "", ""},
		{204, ``, "", "204 No Content"},
		{503, `starting`, "", "503 Service Unavailable: starting"},
	} {
		s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		got, err := endpointOf(t, s, "").Health(t.Context())
		if got != c.version || (err == nil) != (c.err == "") {
			t.Errorf("%s: got %q, %v", c.body, got, err)
		}
		if err != nil && (!strings.Contains(err.Error(), c.err) ||
			!strings.Contains(err.Error(), "daemon at "+s.URL)) {
			t.Errorf("%s: got %v", c.body, err)
		}
	}
}

// flood is a daemon whose answers are larger than maxBody.
type flood struct{}

func (flood) RoundTrip(*http.Request) (*http.Response, error) {
	body := bytes.NewReader(make([]byte, maxBody+1))
	return &http.Response{StatusCode: 200, ContentLength: -1, Body: io.NopCloser(body)}, nil
}

func TestAnswerTooLarge(t *testing.T) {
	e := &Endpoint{base: "http://flood", http: &http.Client{Transport: flood{}}}
	_, err := e.Object(t.Context(), Request{Method: "GET", Path: "/v1/brains"})
	f, ok := errors.AsType[*Failure](err)
	if !ok || f.Kind != result.KindProtocol || f.Retryable() ||
		f.Message != "GET /v1/brains: the response is too large: more than 67108864 bytes" {
		t.Errorf("got %v", err)
	}
}

// TestAnswerInOtherEncoding checks that characters of an answer are not replaced without a word:
// a text with others would not be what was expected.
func TestAnswerInOtherEncoding(t *testing.T) {
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
		_, _ = io.WriteString(w, "{\"chunks\":[{\"path\":\"a.md\",\"text\":\"caf\xe9\"}]}")
	})
	_, err := endpointOf(t, s, "").Object(t.Context(), Request{Method: "GET", Path: "/v1/brains"})
	f, ok := errors.AsType[*Failure](err)
	if !ok || f.Kind != result.KindProtocol || f.Retryable() || !strings.HasPrefix(f.Message, "GET /v1/brains did not answer in UTF-8: ") {
		t.Errorf("got %v", err)
	}
}

// silent is a daemon that accepts requests and never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestSilentDaemon checks that nothing waits forever.
func TestSilentDaemon(t *testing.T) {
	for name, do := range map[string]func(context.Context, *Endpoint) error{
		"health": func(ctx context.Context, e *Endpoint) error {
			_, err := e.Health(ctx)
			return err
		},
		"retry": func(ctx context.Context, e *Endpoint) error {
			return Retry(ctx, CallTimeout, func(ctx context.Context) error {
				_, err := e.Object(ctx, Request{Method: "GET", Path: "/v1/brains"})
				return err
			})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := &Endpoint{base: "http://silent", http: &http.Client{Transport: silent{}}}
			start := time.Now()
			err := do(t.Context(), e)
			if !errors.Is(err, ErrNoAnswer) || time.Since(start) != CallTimeout {
				t.Errorf("%s ended after %v with %v", name, time.Since(start), err)
			}
		})
	}
}

// TestConnectionsThatTheDaemonCloses has a daemon that closes the connection a moment after each
// answer without content, without saying so. No request fails on such a connection.
func TestConnectionsThatTheDaemonCloses(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go dropAfterNoContent(conn)
		}
	}()
	e, err := NewEndpoint("http://"+ln.Addr().String(), "", "evalctl-test", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	store := e.Store(result.Auto)
	ops := []dataset.Operation{
		{Op: dataset.OpMessage, Session: "s", Text: "hello"}, {Op: dataset.OpMessage, Session: "s", Text: "bye"},
		{Op: dataset.OpPut, Path: "a.md", Text: "a"}, {Op: dataset.OpPut, Path: "b.md", Text: "b"},
	}
	for range 10 {
		_, err := store.Create(t.Context(), "b")
		for _, o := range ops {
			err = errors.Join(err, store.Apply(t.Context(), "b", o))
		}
		if err = errors.Join(err, store.Remove(t.Context(), "b", "b")); err != nil {
			t.Fatal(err)
		}
	}
}

// dropAfterNoContent serves one connection: 201 for a new brain, 204 for everything else.
func dropAfterNoContent(conn net.Conn) {
	defer conn.Close()
	for r := bufio.NewReader(conn); ; {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		if req.URL.Path == "/v1/brains" {
			_, _ = io.WriteString(conn, "HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\n{\"id\":\"b\"}")
			continue
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		time.Sleep(time.Millisecond)
		return
	}
}

// TestIDsOfDots checks that an id never names another endpoint.
func TestIDsOfDots(t *testing.T) {
	s := writing(t, `{"chunks":[]}`)
	e := endpointOf(t, s, "")
	err := e.Store(result.Auto).Apply(t.Context(), "..", dataset.Operation{Op: dataset.OpForget, Session: ".."})
	_, recallErr := e.Recall(t.Context(), "b", ".", "q", 1)
	if err := errors.Join(err, recallErr); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"/v1/brains/%2E%2E/sessions/%2E%2E", "/v1/brains/b/sessions/%2E/recall"} {
		if got := s.Calls()[i].Path; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
