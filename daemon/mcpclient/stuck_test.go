package mcpclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"evalctl/daemon/mcpclient"
	"evalctl/internal/awaittest"
)

// TestServerThatStopsReading checks that a call ends with its context, and the connection with
// Close, if a server on stdio does not read its input any more.
func TestServerThatStopsReading(t *testing.T) {
	for name, requests := range map[string]int{"a call": 0, "answers to requests of the server": 4000} {
		t.Run(name, func(t *testing.T) {
			theirs, in := pipe(t)
			out, ours := pipe(t)
			written := make(chan struct{})
			go func() {
				defer close(written)
				input := bufio.NewReader(theirs)
				line, _ := input.ReadBytes('\n')
				var initialize struct{ ID json.RawMessage }
				_ = json.Unmarshal(line, &initialize)
				fmt.Fprintf(ours, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},`+
					`"serverInfo":{"name":"stuck","version":"1"}}}`+"\n", initialize.ID)
				_, _ = input.ReadBytes('\n') // notifications/initialized
				for i := range requests {
					fmt.Fprintf(ours, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i)
				}
				_, _ = input.ReadByte() // a message has begun
			}()
			c, err := mcpclient.Pipe(t.Context(), in, out, true, nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			cancelled := errors.New("cancelled")
			called := make(chan error, 1)
			go func() {
				_, err := c.Call(ctx, "remember", map[string]any{"text": strings.Repeat("x", 1<<20)}, nil)
				called <- err
			}()
			awaittest.Receive(t, "written", written)
			cancel(cancelled)
			if err := awaittest.Receive(t, "called", called); !errors.Is(err, cancelled) {
				t.Errorf("the call: %v", err)
			}
			if err := c.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// pipe returns the ends of a pipe, which are closed at the end of the test.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		w.Close()
	})
	return r, w
}

// TestAnswerThatIsNotTaken checks that Close ends a connection to a server that asks and never
// responds to the answer.
func TestAnswerThatIsNotTaken(t *testing.T) {
	answered := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m)
		switch m.Method {
		case "initialize":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},`+
				`"serverInfo":{"name":"stuck","version":"1"}}}`, m.ID)
		case "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n\n")
			_ = http.NewResponseController(w).Flush()
			<-answered
			fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", m.ID)
		case "":
			close(answered)
			<-r.Context().Done()
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(srv.Close)
	c, err := mcpclient.Connect(t.Context(), srv.URL, mcpclient.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Call(t.Context(), "x", nil, nil); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
