package mcpserver_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"evalctl/daemon"
	"evalctl/internal/awaittest"
)

// wire sends messages as they are to a server of the tools, after it has been initialized with a
// version of the protocol.
type wire interface {
	// send sends a line or a body, and does not wait for its responses.
	send(message string)
	// receive waits for a response, and returns the messages that came with it.
	receive() []string
	// end returns the messages that have not been received, once nothing more can come.
	end() []string
}

func wires(t *testing.T, url string) map[string]func(version string) wire {
	return map[string]func(version string) wire{
		"stdio": func(version string) wire { return newPipeWire(t, url, version) },
		"http":  func(version string) wire { return newWebWire(t, url, version) },
	}
}

type pipeWire struct {
	t      *testing.T
	in     *io.PipeWriter
	lines  chan string
	served chan error
}

func initializing(version string) string {
	return strings.Replace(strings.Split(initialize, "\n")[0], "2025-11-25", version, 1)
}

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

func newPipeWire(t *testing.T, url, version string) *pipeWire {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	w := &pipeWire{t: t, in: toServer, lines: make(chan string, 1000), served: make(chan error, 1)}
	s := newServer(t, url, "")
	go func() {
		err := s.ServeStdio(t.Context(), in, out)
		out.Close()
		w.served <- err
	}()
	go func() {
		defer close(w.lines)
		for r := bufio.NewReader(fromServer); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			w.lines <- strings.TrimSuffix(line, "\n")
		}
	}()
	w.send(initializing(version))
	w.send(initialized)
	w.receive()
	return w
}

func (w *pipeWire) send(message string) {
	// A line has no line breaks.
	if _, err := io.WriteString(w.in, strings.ReplaceAll(message, "\n", " ")+"\n"); err != nil {
		w.t.Error(err)
	}
}

func (w *pipeWire) receive() []string { return []string{<-w.lines} }

func (w *pipeWire) end() []string {
	w.in.Close()
	var all []string
	for line := range w.lines {
		all = append(all, line)
	}
	if err := <-w.served; err != nil {
		w.t.Error(err)
	}
	return all
}

type webWire struct {
	t        *testing.T
	url      string
	header   http.Header
	web      *http.Client
	sent     int
	received chan []string // for each that was sent
}

func newWebWire(t *testing.T, url, version string) *webWire {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	w := &webWire{t: t, url: url + "/mcp", header: http.Header{}, web: &http.Client{Transport: accepting{transport}}, received: make(chan []string, 1000)}
	w.send(initializing(version))
	w.receive()
	w.header.Set("MCP-Protocol-Version", version)
	return w
}

func (w *webWire) send(message string) {
	w.sent++
	req, err := http.NewRequest("POST", w.url, strings.NewReader(message))
	if err != nil {
		w.t.Error(err)
		return
	}
	for name, values := range w.header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	begun := make(chan struct{})
	go func() {
		res, err := w.web.Do(req)
		if err != nil {
			w.t.Error(err)
			close(begun)
			w.received <- nil
			return
		}
		defer res.Body.Close()
		if id := res.Header.Get("Mcp-Session-Id"); id != "" {
			w.header.Set("Mcp-Session-Id", id)
		}
		close(begun)
		w.received <- w.messages(res)
	}()
	if !strings.Contains(message, "memory_ask") {
		<-begun // calls that block begin in any order
	}
}

// messages returns the messages of a response.
func (w *webWire) messages(res *http.Response) (all []string) {
	data, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Error(err)
	}
	streams := res.Header.Get("Content-Type") == "text/event-stream" // empty if its call was cancelled
	switch {
	case streams:
		for line := range strings.Lines(string(data)) {
			if message, ok := strings.CutPrefix(line, "data: "); ok {
				all = append(all, strings.TrimSpace(message))
			}
		}
	case len(data) > 0:
		all = append(all, string(data))
	}
	want := 202
	if streams || res.Header.Get("Content-Type") == "application/json" {
		want = 200
	}
	if res.StatusCode != want && res.StatusCode != 400 {
		w.t.Errorf("status %d with %s", res.StatusCode, data)
	}
	return all
}

func (w *webWire) receive() []string {
	w.sent--
	return <-w.received
}

func (w *webWire) end() []string {
	var all []string
	for w.sent > 0 {
		all = append(all, w.receive()...)
	}
	return all
}

// outcomes returns the id of each response, and ok or the code of its error.
func outcomes(t *testing.T, messages []string) []string {
	t.Helper()
	all := []string{}
	for _, m := range messages {
		var r struct {
			ID     json.RawMessage
			Method string
			Error  *struct{ Code int }
		}
		if err := json.Unmarshal([]byte(m), &r); err != nil {
			t.Errorf("%s: %v", m, err)
			continue
		}
		outcome := "ok"
		if r.Error != nil {
			outcome = fmt.Sprint(r.Error.Code)
		}
		if r.Method == "" {
			id := string(r.ID)
			if id == "" {
				id = "null"
			}
			all = append(all, id+" "+outcome)
		}
	}
	slices.Sort(all)
	return all
}

// TestBatches: batches, which only versions of the protocol before 2025-06-18 have, are rejected as
// a whole over both transports, and the connection goes on.
func TestBatches(t *testing.T) {
	url, _ := startDaemon(t, daemon.Config{})
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		for message, want := range map[string]string{
			`[` + ping + `]`:        "null -32600",
			"[" + ping + ",\n7]":    "null -32600",
			`[` + initialized + `]`: "null -32600",
			`[]`:                    "null -32600",
			`[{]`:                   "null -32700",
		} {
			for name, connect := range wires(t, url) {
				w := connect(version)
				w.send(message)
				w.send(ping)
				wanted := []string{"1 ok", want}
				if got := outcomes(t, w.end()); !slices.Equal(got, wanted) {
					t.Errorf("%s %s: %s: got %s, want %s", version, name, message, got, wanted)
				}
			}
		}
	}
}

// TestCancelledCalls: a call that is cancelled is stopped and not answered. To cancel anything else
// does nothing.
func TestCancelledCalls(t *testing.T) {
	asked, stopped := make(chan struct{}, 10), make(chan struct{}, 10)
	url := asking(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "quick") {
			fmt.Fprint(w, "event: done\ndata: {\"ok\":true,\"answer\":\"Tea\"}\n\n")
			return
		}
		fmt.Fprint(w, "event: answer_delta\ndata: {\"delta\":\"Gre\"}\n\n")
		w.(http.Flusher).Flush()
		if strings.Contains(string(body), "slow") {
			asked <- struct{}{}
			defer func() { stopped <- struct{}{} }()
		}
		<-r.Context().Done()
	})
	ask := func(id, query string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"memory_ask","_meta":{"progressToken":"p"},"arguments":{"query":"` + query + `"}}}`
	}
	cancel := func(id string) string {
		return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"enough"}}`
	}
	for _, version := range []string{"2025-03-26", "2025-11-25"} {
		for name, connect := range wires(t, url) {
			t.Run(version+" "+name, func(t *testing.T) {
				w := connect(version)
				want := []string{"99 ok"}
				for _, id := range []string{`1`, `"one"`} {
					w.send(ask(id, "slow"))
					awaittest.Receive(t, "asked", asked)
					w.send(cancel(`"other"`)) // unknown
					w.send(cancel(`0`))       // initialize
					w.send(cancel(id))
					awaittest.Receive(t, "stopped", stopped)
					w.send(cancel(id)) // finished
				}
				// The same ids belong to other calls of another client.
				other := connect(version)
				other.send(ask("2", "slow"))
				awaittest.Receive(t, "asked", asked)
				w.send(cancel("2"))
				w.send(ask("99", "quick"))
				if len(stopped) != 0 {
					t.Error("the call of another client was stopped")
				}
				other.send(cancel("2"))
				awaittest.Receive(t, "stopped", stopped)
				if got := outcomes(t, w.end()); !slices.Equal(got, want) {
					t.Errorf("got %s, want %s", got, want)
				}
				if got := outcomes(t, other.end()); len(got) != 0 {
					t.Errorf("the other client got %s", got)
				}
			})
		}
	}
}
