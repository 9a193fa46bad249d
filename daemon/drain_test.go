package daemon

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
)

// TestDrain: a daemon that is about to stop is not ready, and serves until load balancers have
// noticed.
func TestDrain(t *testing.T) {
	d, err := New(t.Context(), Config{Reader: llm.NewFake(), ReaderModel: llm.FakeModel})
	if err != nil {
		t.Fatal(err)
	}
	draining, drained := make(chan struct{}), make(chan struct{})
	d.drained = func() {
		close(draining)
		<-drained
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- d.Serve(ctx, ln) }()
	transport := &http.Transport{DisableKeepAlives: true} // new connections, as of other clients
	get := func(path string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+ln.Addr().String()+path, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		res, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode
	}
	if status := get("/healthz?ready"); status != http.StatusOK {
		t.Errorf("before: not ready, status %d", status)
	}
	stop()
	awaittest.Receive(t, "draining", draining)
	for path, want := range map[string]int{"/healthz?ready": 503, "/healthz": 200, "/v1/brains": 200} {
		if status := get(path); status != want {
			t.Errorf("while draining: GET %s: status %d, want %d", path, status, want)
		}
	}
	close(drained)
	if err := awaittest.Receive(t, "served", served); err != nil {
		t.Error(err)
	}
}
