package mcpclient_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"evalctl/daemon/mcpclient"
)

// forgetful is a server with sessions that ends each after some calls, and begins at most a
// number of them.
type forgetful struct {
	speaker
	calls, most int

	mu          sync.Mutex
	begun, left int // sessions, and calls in the last one
	ready       int // sessions with notifications/initialized
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	has := func(method string) bool { return bytes.Contains(body, []byte(`"`+method+`"`)) }
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case has("server/discover"):
	case has("initialize") && f.begun == f.most:
		http.Error(w, "no more sessions", http.StatusServiceUnavailable)
		return
	case has("initialize"):
		f.begun++
		f.left = f.calls
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", f.begun))
	case r.Header.Get("Mcp-Session-Id") != fmt.Sprint("s", f.begun) || has("tools/call") && f.left == 0:
		if f.begun%2 == 0 {
			http.Error(w, "session not found", http.StatusNotFound)
			return
		}
		var call struct{ ID json.RawMessage }
		_ = json.Unmarshal(body, &call)
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"Session not found"}}`, cmp.Or(string(call.ID), "null"))
		return
	case has("notifications/initialized"):
		f.ready++
	case has("tools/call"):
		f.left--
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	f.speaker.ServeHTTP(w, r)
}

// TestSessionEndedByTheServer checks that a call goes on in another session, also if several
// calls notice at once that theirs has ended, and fails if the server begins no other.
func TestSessionEndedByTheServer(t *testing.T) {
	f := &forgetful{speaker: speaker{version: "2025-06-18", unknown: "error"}, calls: 3, most: 9}
	s := httptest.NewServer(f)
	defer s.Close()
	var renewed atomic.Int64
	c := connect(t, s.URL, mcpclient.Options{Renewed: func() { renewed.Add(1) }})
	call := func() {
		if r, err := c.Call(t.Context(), "find", map[string]any{}, nil); err != nil || r.Text != "found" {
			t.Errorf("got %+v, %v", r, err)
		}
	}
	for range 9 {
		call()
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(call)
	}
	both.Wait()
	if err := c.Ping(t.Context()); err != nil || f.ready != f.begun || int(renewed.Load()) != f.begun-1 {
		t.Errorf("ping: %v; %d of %d sessions were initialized, %d renewed", err, f.ready, f.begun, renewed.Load())
	}
	f.mu.Lock()
	f.most, f.left = f.begun, 0
	f.mu.Unlock()
	_, err := c.Call(t.Context(), "find", map[string]any{}, nil)
	if e, ok := errors.AsType[*mcpclient.Error](err); !ok || e.Status != http.StatusNotFound && e.Code != "-32001" {
		t.Errorf("got %v", err)
	}
}
