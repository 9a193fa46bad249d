package httpapi

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
)

func TestOneLineARequest(t *testing.T) {
	s := startFake(t)
	resp := s.do(t, "PUT", "/v1/brains/eval/documents?path=diary/secret.md", "my secret",
		"Content-Type", protocol.TypeBytes, "Authorization", "Bearer secret")
	resp.Body.Close()
	id := resp.Header.Get(requestIDHeader)
	var lines []string
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, "request_id="+id) {
			lines = append(lines, line)
		}
	}
	want := regexp.MustCompile(`level=INFO msg=request request_id=\w{26} method=PUT route="PUT /v1/brains/\{id\}/documents" status=204 bytes=0 took=\S+\n$`)
	if len(lines) != 1 || !want.MatchString(lines[0]) {
		t.Errorf("got %q", lines)
	}
	if strings.Contains(s.log.String(), "secret") {
		t.Errorf("the log contains what users remember: %s", s.log)
	}
}

// TestLogNamesTheKey checks that the log contains names of keys, but no tokens.
func TestLogNamesTheKey(t *testing.T) {
	s := startKeyed(t)
	s.status(t, "GET", "/v1/brains", "", as("reader")...)
	s.status(t, "GET", "/metrics", "", as("reader")...)
	s.status(t, "GET", "/v1/brains", "", as("stranger")...)
	s.status(t, "GET", "/v1/brains", "", "Authorization", tokenOf("admin"))
	log := s.log.String()
	for _, want := range []string{
		`route="GET /v1/brains" status=200 bytes=\d+ took=\S+ key=reader tenant=acme\n`,
		`route="GET /metrics" status=403 bytes=\d+ took=\S+ key=reader tenant=acme\n`,
		`route="GET /v1/brains" status=403 bytes=\d+ took=\S+\n`,
		`route="GET /v1/brains" status=401 bytes=\d+ took=\S+\n`,
	} {
		if !regexp.MustCompile(want).MatchString(log) {
			t.Errorf("%s is missing in\n%s", want, log)
		}
	}
	for _, key := range []string{"reader", "stranger", "admin"} {
		if strings.Contains(log, tokenOf(key)) || strings.Contains(log, HashToken(tokenOf(key))) {
			t.Errorf("the log contains the token of %s:\n%s", key, log)
		}
	}
}

func TestPanics(t *testing.T) {
	s := startFake(t)
	a := s.api
	for pattern, begin := range map[string]bool{"GET /early": false, "GET /late": true} {
		serve := func(_ *API, w http.ResponseWriter, _ *http.Request) error {
			if begin {
				w.WriteHeader(http.StatusOK)
			}
			panic("the secret plan")
		}
		a.handle(route{pattern: pattern, scope: scopeOpen, serve: serve})
	}
	body := s.expect(t, 500, "GET", "/early", "")
	if !strings.Contains(body, `"code":"internal_error"`) || strings.Contains(body, "plan") {
		t.Errorf("got %s", body)
	}
	if !regexp.MustCompile(`msg=panic request_id=\w{26} panic="the secret plan" stack=`).MatchString(s.log.String()) {
		t.Errorf("the log is %s", s.log)
	}
	resp, err := s.client.Get(s.url + "/late")
	if err == nil { // otherwise the connection was closed before the header
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if err == nil {
		t.Error("an interrupted response looks complete")
	}
	s.expect(t, 200, "GET", "/healthz", "") // the daemon still runs
}
