package work_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/bench/load"
	"evalctl/harness/bench/record"
	"evalctl/harness/bench/work"
	"evalctl/harness/daemontest"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/awaittest"
)

// wire is a daemon that answers with bytes, and records those of requests.
type wire struct {
	net.Listener
	// answer answers the request with a number from 0 on a connection with such a number, and
	// reports whether the connection stays open. If early is set, it is called once the header was
	// read.
	answer func(c net.Conn, connection, request int) (open bool)
	early  bool
	// settle waits between requests, since net/http looks at what follows a reply in another
	// goroutine.
	settle bool

	mu          sync.Mutex
	requests    []string
	connections int
	open        int // of the connections
	served      sync.WaitGroup
}

func newWire(t *testing.T, network, address string, answer func(net.Conn, int, int) bool) *wire {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skipf("no address of this kind: %v", err)
	}
	w := &wire{Listener: l, answer: answer}
	w.served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.mu.Lock()
			n := w.connections
			w.connections++
			w.open++
			w.mu.Unlock()
			w.served.Go(func() {
				w.serve(c, n)
				w.mu.Lock()
				w.open--
				w.mu.Unlock()
			})
		}
	})
	return w
}

func (w *wire) serve(c net.Conn, connection int) {
	defer c.Close()
	in := bufio.NewReader(c)
	for n := 0; ; n++ {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if !w.early {
			raw, err := httputil.DumpRequest(req, true)
			if err != nil {
				return
			}
			w.mu.Lock()
			w.requests = append(w.requests, string(raw))
			w.mu.Unlock()
		}
		if open := w.answer(c, connection, n); !open {
			return
		}
	}
}

// seen is what a client makes of a daemon, and the daemon of the client.
type seen struct {
	Outcomes    []string
	Requests    []string
	Connections int
}

// sent sends requests one after the other, one in three of which is read as a whole.
func (w *wire) sent(t *testing.T, client, token string, c work.Config, timeout time.Duration) seen {
	t.Helper()
	w.mu.Lock()
	w.requests, w.connections = nil, 0
	w.mu.Unlock()
	e, err := target.NewEndpoint("http://"+w.Addr().String()+"/base", token, "test", 8)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	c.Client, c.TopK, c.Mode, c.Dialect, c.Documents = client, 3, "auto", result.Snake, work.Synthetic(1)
	if c.Queries == nil {
		c.Queries = []string{"what?"}
	}
	r := work.NewRequests(c, e, []string{"b"})
	defer r.Close()
	var s seen
	for _, number := range []uint64{1, 16, 2} {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		o := r.Request(number).Do(ctx)
		cancel()
		s.Outcomes = append(s.Outcomes, said(o))
		if w.settle {
			w.settled()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Requests, s.Connections = w.requests, w.connections
	return s
}

// settled returns once one side has closed the connection and net/http has had time to see it. A
// client that looks at what follows a reply only before its next request leaves it open.
func (w *wire) settled() {
	for range 100 {
		w.mu.Lock()
		open := w.open
		w.mu.Unlock()
		if open == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
}

// spelled spells errors of net/http as this package does, and leaves out the port of the client.
var spelled = strings.NewReplacer(
	"net/http: HTTP/1.x transport connection broken: ", "",
	"net/http: server response headers exceeded 10485760 bytes; aborted", "the header of the reply is longer than 10 MiB",
)

var ownPort = regexp.MustCompile(`tcp 127\.0\.0\.1:\d+->`)

// said is what a record has of a request, without its times.
func said(o load.Outcome) string {
	if o.Err != nil {
		return o.Kind + ": " + ownPort.ReplaceAllString(spelled.Replace(o.Err.Error()), "tcp ")
	}
	return fmt.Sprintf("%d bytes, deltas %v+%d, ended %v, tokens %d+%d", o.Bytes, o.FirstDelta > 0, len(o.Gaps), !o.Ended.IsZero(), o.InputTokens, o.OutputTokens)
}

// reply writes a reply as it is. The connection stays open.
func reply(text string) func(net.Conn, int, int) bool {
	return func(c net.Conn, _, _ int) bool {
		_, _ = io.WriteString(c, text)
		return true
	}
}

// last writes a reply and closes the connection.
func last(text string) func(net.Conn, int, int) bool {
	return func(c net.Conn, _, _ int) bool {
		_, _ = io.WriteString(c, text)
		return false
	}
}

// reset writes a reply, and closes the connection so that the client is reset.
func reset(text string) func(net.Conn, int, int) bool {
	return func(c net.Conn, _, _ int) bool {
		_, _ = io.WriteString(c, text)
		time.Sleep(20 * time.Millisecond) // until it has arrived, or it would be lost
		_ = c.(*net.TCPConn).SetLinger(0)
		return false
	}
}

func withLength(status, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

func chunked(kind string, parts ...string) string {
	s := "HTTP/1.1 200 OK\r\nContent-Type: " + kind + "\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, p := range parts {
		s += fmt.Sprintf("%x\r\n%s\r\n", len(p), p)
	}
	return s
}

const end = "0\r\n\r\n"

// wireCases are daemons by what they do.
func wireCases() map[string]wireCase {
	const events = "text/event-stream"
	delta := daemontest.Event("answer_delta", `{"delta":"x"}`)
	done := daemontest.Event("done", `{"ok":true,"usage":{"input_tokens":7,"output_tokens":2}}`)
	stall := func(text string) func(net.Conn, int, int) bool {
		return func(c net.Conn, _, _ int) bool {
			_, _ = io.WriteString(c, text)
			_, _ = c.Read(make([]byte, 1)) // until the client gives up
			return false
		}
	}
	// The end comes with the last byte, since not more than 50 ms are waited for it.
	slow := func(text, end string) func(net.Conn, int, int) bool {
		return func(c net.Conn, _, _ int) bool {
			for _, b := range []byte(text) {
				_, _ = c.Write([]byte{b})
				time.Sleep(100 * time.Microsecond)
			}
			_, _ = io.WriteString(c, end)
			return true
		}
	}
	const short = 2 * time.Second
	return map[string]wireCase{
		"a length":               {connections: 1, answer: reply(withLength("200 OK", chunks))},
		"chunks":                 {connections: 1, answer: reply(chunked("application/json", chunks[:9], chunks[9:]) + end)},
		"a trailer":              {answer: reply("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n")},
		"neither length":         {settle: true, answer: last("HTTP/1.1 200 OK\r\n\r\n" + chunks)},
		"HTTP/1.0":               {settle: true, answer: last("HTTP/1.0 200 OK\r\n\r\n" + chunks)},
		"Connection: close":      {settle: true, answer: last("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")},
		"no reply":               {answer: last("")},
		"a reset":                {answer: reset("")},
		"half a header":          {answer: last("HTTP/1.1 200 OK\r\nContent-Le")},
		"half a body":            {connections: 3, answer: last("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + chunks)},
		"a reset in the body":    {answer: reset("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + chunks)},
		"half a chunk":           {answer: last(chunked("application/json", chunks[:9]) + "ff\r\nabc")},
		"closed when idle":       {connections: 3, settle: true, answer: last(withLength("200 OK", chunks))},
		"reset when idle":        {settle: true, answer: reset(withLength("200 OK", chunks))},
		"an empty body":          {answer: reply(withLength("200 OK", ""))},
		"status 204":             {connections: 1, op: work.Put, answer: reply("HTTP/1.1 204 No Content\r\n\r\n")},
		"a put with a reply":     {connections: 1, op: work.Put, answer: reply(withLength("201 Created", `{"path":"a.md"}`))},
		"half a reply to a put":  {op: work.Put, answer: last("HTTP/1.1 201 Created\r\nContent-Length: 500\r\n\r\n{")},
		"status 400":             {answer: reply(withLength("400 Bad Request", `{"code":"validation_error","detail":"no query"}`))},
		"status 401":             {token: "secret-token", answer: reply(withLength("401 Unauthorized", `{"detail":"not secret-token"}`))},
		"status 429":             {answer: reply("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nwait")},
		"status 503 and closing": {connections: 3, answer: last("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\nbusy")},
		"a redirect":             {answer: reply("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")},
		"a long error":           {answer: reply(withLength("500 Internal Server Error", strings.Repeat("x", 100_000)))},
		"interim replies": {answer: reply("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" +
			withLength("200 OK", chunks))},
		"a long header":          {answer: reply("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20) + "\r\nContent-Length: 2\r\n\r\n{}")},
		"a header without end":   {answer: last("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 12<<20))},
		"many fields":            {answer: reply("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 5000) + "Content-Length: 2\r\n\r\n{}")},
		"not HTTP":               {answer: last("hello\r\n\r\n")},
		"a bad status line":      {answer: last("HTTP/1.1 2xx OK\r\n\r\n")},
		"a bad field":            {answer: last("HTTP/1.1 200 OK\r\nno colon\r\n\r\n")},
		"a bad length":           {answer: last("HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}")},
		"two lengths":            {answer: last("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}")},
		"a bad chunk":            {answer: last("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n")},
		"an unknown coding":      {answer: last("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n{}")},
		"more than the reply":    {settle: true, answer: reply(withLength("200 OK", chunks) + "more")},
		"more than no content":   {settle: true, op: work.Put, answer: reply("HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 500 More\r\nContent-Length: 0\r\n\r\n")},
		"a slow body":            {answer: slow(withLength("200 OK", chunks), "")},
		"a stall":                {answer: stall(""), timeout: short},
		"a stall in the header":  {answer: stall("HTTP/1.1 200 OK\r\nCont"), timeout: short},
		"a stall in the body":    {answer: stall("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{"), timeout: short},
		"the end of a keepalive": {answer: func(c net.Conn, n, i int) bool { return i == 0 && reply(withLength("200 OK", chunks))(c, n, i) }},
		"a long request":         {connections: 1, queries: []string{strings.Repeat("long ", 200_000)}, answer: reply(withLength("200 OK", chunks))},
		"an early status": {queries: []string{strings.Repeat("long ", 2_000_000)}, early: true, answer: func(c net.Conn, _, _ int) bool {
			_, _ = io.WriteString(c, withLength("413 Content Too Large", "too long"))
			_, _ = c.Read(make([]byte, 1))
			time.Sleep(time.Second) // which leaves the rest of the request unread
			return false
		}},
		"an early status, and waiting": {queries: []string{strings.Repeat("long ", 2_000_000)}, early: true, timeout: 5 * time.Second, answer: func(c net.Conn, _, _ int) bool {
			_, _ = io.WriteString(c, withLength("413 Content Too Large", "too long"))
			time.Sleep(6 * time.Second) // a client that first writes all of the request gets no reply in time
			return false
		}},
		"a stream":             {connections: 1, op: work.Ask, answer: reply(chunked(events, delta+delta, delta+done) + end)},
		"a stream in pieces":   {op: work.Ask, answer: slow(chunked(events, delta)+fmt.Sprintf("%x\r\n", len(done)), done+"\r\n"+end)},
		"a stream to the end":  {settle: true, op: work.Ask, answer: last("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + delta + done)},
		"a stream left open":   {op: work.Ask, answer: stall(chunked(events, delta, done))},
		"a stream without end": {op: work.Ask, answer: reply(chunked(events, delta) + end)},
		"a stream that breaks": {op: work.Ask, answer: last(chunked(events, delta))},
		"a stream that resets": {op: work.Ask, answer: reset(chunked(events, delta))},
		"a stream that stalls": {op: work.Ask, answer: stall(chunked(events, delta)), timeout: short},
		"a batch":              {op: work.Batch, answer: reply(withLength("200 OK", `{"committed":10}`))},
		"a session":            {op: work.Remember, answer: reply(withLength("201 Created", `{}`))},
		"a recall":             {op: work.Recall, answer: reply(withLength("200 OK", chunks))},
		"a file":               {op: work.Ingest, answer: reply(withLength("201 Created", ""))},
	}
}

type wireCase struct {
	op, token string // search and none by default
	queries   []string
	answer    func(c net.Conn, connection, request int) bool
	early     bool
	settle    bool
	// connections is how many are opened, 0 for any number that is the same for both clients.
	connections int
	timeout     time.Duration
}

// TestClientsRecordTheSame compares what the two clients record of the same daemon, and what they
// send to it.
func TestClientsRecordTheSame(t *testing.T) {
	for name, c := range wireCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, "tcp", "127.0.0.1:0", c.answer)
			w.early, w.settle = c.early, c.settle
			if c.op == "" {
				c.op = work.Search
			}
			if c.timeout == 0 {
				c.timeout = time.Minute
			}
			config := work.Config{Mix: []record.Share{{Op: c.op, Weight: 1}}, Size: 1, Queries: c.queries}
			ordinary := w.sent(t, record.Ordinary, c.token, config, c.timeout)
			direct := w.sent(t, record.Direct, c.token, config, c.timeout)
			_ = w.Close()
			awaittest.Wait(t, "w.served", w.served.Wait)
			if diff := cmp.Diff(ordinary, direct); diff != "" {
				t.Errorf("the clients differ (- net/http, + direct):\n%s", diff)
			}
			if c.connections > 0 && direct.Connections != c.connections {
				t.Errorf("%d connections are opened, want %d", direct.Connections, c.connections)
			}
			t.Logf("%d connections, %d requests: %.300q", direct.Connections, len(direct.Requests), direct.Outcomes)
		})
	}
}

func TestNoConnection(t *testing.T) {
	w := newWire(t, "tcp", "127.0.0.1:0", reply(""))
	_ = w.Close() // the port is free
	config := work.Config{Mix: []record.Share{{Op: work.Search, Weight: 1}}, Size: 1}
	ordinary, direct := w.sent(t, record.Ordinary, "", config, time.Minute), w.sent(t, record.Direct, "", config, time.Minute)
	if diff := cmp.Diff(ordinary, direct); diff != "" || !strings.Contains(direct.Outcomes[0], "connection refused") {
		t.Errorf("the clients differ (- net/http, + direct):\n%s\n%q", diff, direct.Outcomes)
	}
}

func TestDirectOverIPv6(t *testing.T) {
	w := newWire(t, "tcp6", "[::1]:0", reply(withLength("200 OK", chunks)))
	defer w.Close()
	config := work.Config{Mix: []record.Share{{Op: work.Search, Weight: 1}}, Size: 1}
	s := w.sent(t, record.Direct, "", config, time.Minute)
	if s.Connections != 1 || len(s.Requests) != 3 || !strings.HasPrefix(s.Requests[0], "POST /base/v1/brains/b/search HTTP/1.1\r\nHost: [::1]:") {
		t.Errorf("%d connections, requests %q", s.Connections, s.Requests)
	}
}

// TestWhichClient also runs itself with a proxy, which net/http looks for once in a process.
func TestWhichClient(t *testing.T) {
	cases := map[string]string{
		"http://127.0.0.1:8787": record.Direct, "http://[::1]": record.Direct, "http://memory.example/base": record.Direct,
		"https://127.0.0.1:8787": record.Ordinary, "http://gedächtnis.example": record.Ordinary,
	}
	const variable = "HTTP_PROXY"
	if os.Getenv(variable) != "" {
		cases["http://memory.example/base"] = record.Ordinary
	} else {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestWhichClient$")
		cmd.Env = append(os.Environ(), variable+"=http://127.0.0.1:1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("with a proxy: %v\n%s", err, out)
		}
	}
	for url, want := range cases {
		e := endpointAt(t, url, 1)
		if got := work.Client([]target.Service{e}); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}
