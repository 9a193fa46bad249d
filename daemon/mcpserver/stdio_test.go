package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"evalctl/daemon"
	"evalctl/daemon/mcpserver"
)

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// exchange initializes a connection, sends lines, ends the input, and returns the other replies.
func exchange(t *testing.T, url, input string) []string {
	t.Helper()
	return replies(t, newServer(t, url, ""), input)
}

// replies is exchange for a server.
func replies(t *testing.T, s *mcpserver.Server, input string) []string {
	t.Helper()
	var out bytes.Buffer
	if err := s.ServeStdio(t.Context(), strings.NewReader(initialize+input), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("a line is not JSON: %s", line)
		}
	}
	return slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, `"serverInfo"`) })
}

func TestStdioAnswersEveryLine(t *testing.T) {
	url, _ := startDaemon(t, daemon.Config{})
	for input, want := range map[string]string{
		"{\n":                             `"code":-32700`,
		"hello\n":                         `"code":-32700`,
		"{\"a\":\"\xff\"}\n":              `"code":-32700`,
		`{"jsonrpc":"1.0","id":1}` + "\n": `"code":-32600`,
		"5\n":                             `"code":-32600`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]` + "\n":                                `batches are not supported`,
		strings.Repeat("x", 64<<20) + "x\n":                                                `more than 67108864 bytes`,
		`{"jsonrpc":"2.0","id":7,"method":"nothing"}` + "\n":                               `"code":-32601`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"forget"}}` + "\n": `"code":-32602`,
		"\n \r\n": "",
	} {
		// The connection goes on, and the last line need not end.
		replies := exchange(t, url, input+`{"jsonrpc":"2.0","id":"last","method":"ping"}`)
		text := strings.Join(replies, "\n")
		if !strings.Contains(text, `"id":"last"`) || !strings.Contains(text, want) || want == "" && len(replies) != 1 {
			t.Errorf("%.60q: got %s", input, text)
		}
	}
}

// TestStdioEndsAfterItsCalls ends the input while calls are running.
func TestStdioEndsAfterItsCalls(t *testing.T) {
	url := asking(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(30 * time.Millisecond)
		fmt.Fprint(w, "event: done\ndata: {\"ok\":true,\"answer\":\"Tea\"}\n\n")
	})
	var input strings.Builder
	for i := range 5 {
		fmt.Fprintf(&input, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"memory_ask","arguments":{"query":"x"}}}`+"\n", i+1)
	}
	replies := exchange(t, url, input.String())
	if n := strings.Count(strings.Join(replies, "\n"), `"answer":"Tea"`); n != 5 || len(replies) != 5 {
		t.Errorf("got %d answers in %s", n, replies)
	}
}

func TestStdioEndsWithItsContext(t *testing.T) {
	url, _ := startDaemon(t, daemon.Config{})
	in, write := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := newServer(t, url, "").ServeStdio(ctx, in, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	write.Close()
}

// TestStdioLimitsItsCalls sends many calls at once.
func TestStdioLimitsItsCalls(t *testing.T) {
	var running, most atomic.Int64
	url := asking(t, func(w http.ResponseWriter, r *http.Request) {
		n := running.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		time.Sleep(5 * time.Millisecond)
		running.Add(-1)
		fmt.Fprint(w, "event: done\ndata: {\"ok\":true,\"answer\":\"Tea\"}\n\n")
	})
	var input strings.Builder
	for i := range 200 {
		fmt.Fprintf(&input, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"memory_ask","arguments":{"query":"x"}}}`+"\n", i+1)
	}
	if replies := exchange(t, url, input.String()); len(replies) != 200 {
		t.Errorf("got %d replies", len(replies))
	}
	if n := most.Load(); n > 32 || n < 2 {
		t.Errorf("%d calls ran at the same time", n)
	}
}

// TestLongestNote sends the longest content of memory_remember, and one character more.
func TestLongestNote(t *testing.T) {
	if testing.Short() {
		t.Skip("one large text at a time: nothing is concurrent that other tests do not run")
	}
	url, _ := startDaemon(t, daemon.Config{})
	c := connect(t, "stdio", url)
	call(t, c, "memory_create_brain", object{"name": "notes"})
	note := strings.Repeat("é", 5_000_000)
	if r := call(t, c, "memory_remember", object{"content": note + "é"}); r.Failure == nil ||
		r.Failure.Message != "content has 5000001 characters, the limit is 5000000" {
		t.Errorf("above the limit: %+v", r.Failure)
	}
	if r := call(t, c, "memory_remember", object{"content": note, "title": "Long"}); r.Failure != nil {
		t.Errorf("at the limit: %+v", r.Failure)
	}
	if r := call(t, c, "memory_remember", object{"content": ""}); r.Failure == nil || r.Failure.Message != "content is empty" {
		t.Errorf("empty: %+v", r.Failure)
	}
	docs, err := newClient(t, url).Brain("notes").Documents(t.Context(), docsPage{})
	if err != nil || len(docs.Items) != 1 {
		t.Errorf("there are %d documents, %v", len(docs.Items), err)
	}
}

// brokenPipe fails like the standard output of a client that has gone.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestStdioWithoutReader(t *testing.T) {
	url, _ := startDaemon(t, daemon.Config{})
	in := bufio.NewReader(strings.NewReader(initialize))
	if err := newServer(t, url, "").ServeStdio(t.Context(), in, brokenPipe{}); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

// stuckPipe is the standard output of a client that does not read it.
type stuckPipe struct {
	written chan<- struct{}
	end     <-chan struct{}
}

func (p stuckPipe) Write([]byte) (int, error) {
	p.written <- struct{}{}
	<-p.end
	return 0, io.ErrClosedPipe
}

// TestStdioEndsWhileCallsWait checks that the end of the context ends calls that wait for the
// daemon, and does not wait for a client that does not read.
func TestStdioEndsWhileCallsWait(t *testing.T) {
	t.Parallel()
	input := initialize + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_ask","arguments":{"query":"x"}}}` + "\n"
	for name, unread := range map[string]bool{"the daemon does not answer": false, "the client does not read": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			waiting := make(chan struct{}, 9)
			url := asking(t, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // or the server does not see that the client has gone
				waiting <- struct{}{}
				<-r.Context().Done()
			})
			out := io.Discard
			if unread {
				end := make(chan struct{})
				defer close(end)
				out = stuckPipe{waiting, end}
			}
			ctx, cancel := context.WithCancel(t.Context())
			in, write := io.Pipe()
			go func() {
				fmt.Fprint(write, input)
				<-waiting
				cancel()
			}()
			if err := newServer(t, url, "").ServeStdio(ctx, in, out); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			write.Close()
		})
	}
}
