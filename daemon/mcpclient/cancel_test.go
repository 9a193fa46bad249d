package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/daemon/mcpclient"
	"evalctl/internal/awaittest"
)

// waiting is a server whose tool wait works until it is cancelled.
type waiting struct {
	begun, ended chan struct{} // closed when the tool begins, and when the server has done with the call
	// arrived is called with the method of each message before the server gets it.
	arrived func(method string)
	// passed is called once the server has handled it.
	passed func(method string)
}

// start returns a client of the server.
func (s *waiting) start(t *testing.T) *mcpclient.Client {
	t.Helper()
	s.begun, s.ended = make(chan struct{}), make(chan struct{})
	server := mcp.NewServer(&mcp.Implementation{Name: "waiting", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "wait", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			close(s.begun)
			<-ctx.Done()
			return nil, ctx.Err()
		})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct{ Method string }
		_ = json.Unmarshal(body, &m) // the body of a DELETE is empty
		if s.arrived != nil {
			s.arrived(m.Method)
		}
		r = r.WithContext(context.WithoutCancel(r.Context())) // it works on when the connection is gone
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
		if s.passed != nil {
			s.passed(m.Method)
		}
		if m.Method == "tools/call" {
			close(s.ended)
		}
	}))
	t.Cleanup(srv.Close)
	return connect(t, srv.URL, mcpclient.Options{})
}

// TestCancelOvertakesCall: the notification that cancels a call reaches the server before the call.
func TestCancelOvertakesCall(t *testing.T) {
	called, cancelled := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s := &waiting{
		arrived: func(method string) {
			if method == "tools/call" {
				close(called)
				<-cancelled
			}
		},
		passed: func(method string) {
			if method == "notifications/cancelled" {
				once.Do(func() { close(cancelled) })
			}
		},
	}
	c := s.start(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	go func() {
		<-called
		cancel(why)
	}()
	if _, err := c.Call(ctx, "wait", nil, nil); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	awaittest.Receive(t, "the end of the call at the server", s.ended)
}

// TestCloseCancels: calls that are open when the client is closed do not go on.
func TestCloseCancels(t *testing.T) {
	s := &waiting{}
	c := s.start(t)
	called := make(chan error, 1)
	go func() {
		_, err := c.Call(t.Context(), "wait", nil, nil)
		called <- err
	}()
	awaittest.Receive(t, "the call at the server", s.begun)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	awaittest.Receive(t, "the end of the call at the server", s.ended)
	if err := awaittest.Receive(t, "the end of the call", called); err == nil {
		t.Error("no error")
	}
}
