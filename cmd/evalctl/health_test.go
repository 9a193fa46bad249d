package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHealth checks daemons other than the reference daemon.
func TestHealth(t *testing.T) {
	for _, tt := range []struct {
		status   int
		body     string
		code     int
		out, err string
	}{
		{200, `{"ok":true,"version":"1\u001b[2J"}`, exitDone, "ok 1\\u001b[2J\n", ""},
		{200, `{"ok":false}`, exitDaemon, "", "reports that it is not healthy"},
		{200, `<html>`, exitDaemon, "", "GET /healthz"},
		{503, `{"ok":true}`, exitDaemon, "", "503"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(tt.status)
			io.WriteString(w, tt.body)
		}))
		code, stdout, stderr := inProcess(t.Context(), "serve", "health", s.URL)
		if code != tt.code || stdout != tt.out || !strings.Contains(stderr, tt.err) {
			t.Errorf("%d %s: exit code %d, stdout %q, stderr %q", tt.status, tt.body, code, stdout, stderr)
		}
		s.Close()
	}
}
