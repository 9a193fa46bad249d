package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// hookPath is a secret in the URL of a webhook.
const hookPath = "/services/hook-secret-of-the-test"

// cmdWebhook starts a webhook, points the environment at it, and adds each body to the file posted, a
// line each: webhook answers, webhook fails or webhook stalls
func cmdWebhook(ts *testscript.TestScript, _ bool, args []string) {
	posted := ts.MkAbs("posted")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && r.URL.Path == hookPath {
			err = appendLine(posted, body)
		}
		switch {
		case err != nil || r.URL.Path != hookPath:
			w.WriteHeader(http.StatusBadRequest)
		case args[0] == "fails":
			w.WriteHeader(http.StatusServiceUnavailable)
		case args[0] == "stalls":
			<-r.Context().Done()
		}
	}))
	ts.Value("t").(*testing.T).Cleanup(s.Close)
	ts.Setenv("SVC_NOTIFY_URL", s.URL+hookPath)
}

func appendLine(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
