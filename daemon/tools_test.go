package daemon_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"evalctl/daemon"
	"evalctl/daemon/mcpclient"
	"evalctl/internal/awaittest"
)

// TestStopEndsToolCalls stops the daemon in the middle of an answer.
func TestStopEndsToolCalls(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, word string) running {
		d := serve(t, daemon.Config{Reader: flood{word: word}, ReaderModel: "flood"})
		d.expect(t, 201, "POST", "/v1/brains", "application/json", `{"name":"eval"}`)
		d.expect(t, 204, "PUT", "/v1/brains/eval/documents?path=a.md", octets, "Ana lives in Oslo.")
		return d
	}
	t.Run("a client that reads", func(t *testing.T) {
		d := start(t, "word ")
		c, err := mcpclient.Connect(t.Context(), d.url+"/mcp", mcpclient.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		stopped := make(chan error, 1)
		begun := false
		r, err := c.Call(t.Context(), "memory_ask", map[string]any{"query": "Where does Ana live?"}, func(mcpclient.Progress) {
			if !begun {
				begun = true
				go func() { stopped <- d.stop() }()
			}
		})
		if err != nil || r.Failure == nil || r.Failure.Code != "shutting_down" || !r.Failure.Retryable {
			t.Errorf("got %+v, %v", r, err)
		}
		if err := awaittest.Receive(t, "stopped", stopped); err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
	t.Run("a client that does not read", func(t *testing.T) {
		d := start(t, strings.Repeat("x", 12<<20))
		const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_ask","_meta":{"progressToken":"t"},"arguments":{"query":"Where does Ana live?"}}}`
		conn := d.dial(t, fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(call), call))
		if _, err := io.ReadFull(conn, make([]byte, 100_000)); err != nil { // the answer has begun
			t.Fatal(err)
		}
		if err := d.stop(); err != nil { // an error would mean that the call outlasted the drain time
			t.Errorf("Serve returned %v", err)
		}
		conn.Close()
	})
}
