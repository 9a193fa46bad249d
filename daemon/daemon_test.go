package daemon_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evalctl/daemon"
	"evalctl/daemon/httpapi"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
	"evalctl/internal/longtest"
	"evalctl/internal/postgres/postgrestest"
	"evalctl/internal/sse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(withDatabase{m}) }

// withDatabase runs the tests, and stops the database that some of them use.
type withDatabase struct{ m *testing.M }

func (w withDatabase) Run() int {
	longtest.Parallel(4) // most tests wait for a deadline
	longtest.TempInMemory()
	return postgrestest.Main(w.m)
}

// running is a daemon that listens on a TCP port.
type running struct {
	url  string
	stop func() error // stops it and returns the result of Serve
}

func serve(t testing.TB, cfg daemon.Config) running {
	t.Helper()
	cfg.SearchWait = cmp.Or(cfg.SearchWait, time.Hour) // unless a test is about it
	d, err := daemon.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- d.Serve(ctx, ln) }()
	stopped := false
	r := running{url: "http://" + ln.Addr().String(), stop: func() error {
		stopped = true
		cancel()
		return <-served
	}}
	t.Cleanup(func() {
		if !stopped {
			if err := r.stop(); err != nil {
				t.Error(err)
			}
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return r
}

// send returns the status and the whole body.
func (r running) send(t *testing.T, method, path, contentType, body string) (int, string) {
	t.Helper()
	resp := r.open(t, method, path, contentType, body)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func (r running) open(t *testing.T, method, path, contentType, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func (r running) expect(t *testing.T, status int, method, path, contentType, body string) string {
	t.Helper()
	got, answer := r.send(t, method, path, contentType, body)
	if got != status {
		t.Fatalf("%s %s: got %d %s, want %d", method, path, got, answer, status)
	}
	return answer
}

const octets = "application/octet-stream"

func TestDocumentsSurviveRestart(t *testing.T) {
	cfg := daemon.Config{Home: t.TempDir(), Reader: llm.NewFake(), ReaderModel: llm.FakeModel, Options: httpapi.Options{Version: "v1"}}
	d := serve(t, cfg)
	if got := d.expect(t, 200, "GET", "/healthz", "", ""); got != `{"ok":true,"version":"v1","ready":true}`+"\n" {
		t.Errorf("health is %s", got)
	}
	d.expect(t, 201, "POST", "/v1/brains", "application/json", `{"brainId":"eval"}`)
	d.expect(t, 204, "PUT", "/v1/brains/eval/documents?path=notes/ana.md", octets, "# Ana\n\nAna lives in Oslo.\n")
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}

	d = serve(t, cfg)
	if got := d.expect(t, 200, "GET", "/v1/brains/eval/documents/read?path=notes/ana.md", "", ""); !strings.Contains(got, "Oslo") {
		t.Errorf("read %q", got)
	}
	if got := d.expect(t, 200, "POST", "/v1/brains/eval/search", "", `{"query":"where does Ana live"}`); !strings.Contains(got, `"path":"notes/ana.md"`) {
		t.Errorf("found %s", got)
	}
	answer := d.expect(t, 200, "POST", "/v1/brains/eval/ask", "", `{"question":"Where does Ana live?"}`)
	for _, want := range []string{"event: retrieve\n", "event: citation\n", `"quote":"Ana lives in Oslo."`, "event: done\n"} {
		if !strings.Contains(answer, want) {
			t.Errorf("%q is missing in %s", want, answer)
		}
	}
}

func TestNewNeedsAReader(t *testing.T) {
	if _, err := daemon.New(t.Context(), daemon.Config{}); err == nil {
		t.Error("a daemon without a reader was opened")
	}
}

func TestServeReportsALostListener(t *testing.T) {
	d, err := daemon.New(t.Context(), daemon.Config{Reader: llm.NewFake(), ReaderModel: llm.FakeModel})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if err := d.Serve(t.Context(), ln); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// endless emits one word and then nothing until its context ends.
type endless struct{ llm.Provider }

func (endless) Complete(ctx context.Context, r llm.Request) (llm.Response, error) {
	if err := r.Emit("Well"); err != nil {
		return llm.Response{}, err
	}
	<-ctx.Done()
	return llm.Response{}, ctx.Err()
}

func TestStopEndsOpenStreams(t *testing.T) {
	d := serve(t, daemon.Config{Reader: endless{}, ReaderModel: "endless"})
	d.expect(t, 201, "POST", "/v1/brains", "application/json", `{"name":"eval"}`)
	d.expect(t, 204, "PUT", "/v1/brains/eval/documents?path=a.md", octets, "Ana lives in Oslo.")

	// A connection without a request. Clients open such connections in advance.
	idle, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()

	const streams = 3
	var readers [streams]*sse.Reader
	for i := range readers {
		resp := d.open(t, "POST", "/v1/brains/eval/ask", "", `{"question":"Where does Ana live?"}`)
		defer resp.Body.Close()
		readers[i] = sse.NewReader(resp.Body, 0)
		for _, want := range []string{"retrieve", "answer_delta"} {
			if e, err := readers[i].Next(); err != nil || e.Name != want {
				t.Fatalf("got event %q, %v, want %s", e.Name, err, want)
			}
		}
	}
	if err := d.stop(); err != nil { // an error would mean that a stream outlasted the drain time
		t.Errorf("Serve returned %v", err)
	}
	for _, r := range readers {
		e, err := r.Next()
		if err != nil || e.Name != "error" || !strings.Contains(string(e.Data), `"code":"shutting_down"`) {
			t.Errorf("got event %q %s, %v", e.Name, e.Data, err)
		}
		if e, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("after the error: event %q, %v", e.Name, err)
		}
	}
}

// flood emits the same word endlessly and ignores its context.
type flood struct {
	llm.Provider
	word string
}

func (f flood) Complete(_ context.Context, r llm.Request) (llm.Response, error) {
	for {
		if err := r.Emit(f.word); err != nil {
			return llm.Response{}, err
		}
	}
}

// dial sends raw bytes and returns the connection.
func (r running) dial(t *testing.T, request string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestStopEndsAFlood(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		word  string
		reads bool // the client keeps reading
	}{
		"one frame larger than all buffers": {strings.Repeat("x", 32<<20), false},
		"a client that reads everything":    {"word ", true},
	} {
		t.Run(name, func(t *testing.T) {
			d := serve(t, daemon.Config{Reader: flood{word: tt.word}, ReaderModel: "flood"})
			d.expect(t, 201, "POST", "/v1/brains", "application/json", `{"name":"eval"}`)
			d.expect(t, 204, "PUT", "/v1/brains/eval/documents?path=a.md", octets, "Ana lives in Oslo.")
			const question = `{"question":"Where does Ana live?"}`
			conn := d.dial(t, fmt.Sprintf("POST /v1/brains/eval/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(question), question))
			if _, err := io.ReadFull(conn, make([]byte, 100_000)); err != nil { // the flood has begun
				t.Fatal(err)
			}
			var client sync.WaitGroup
			if tt.reads {
				client.Go(func() { _, _ = io.Copy(io.Discard, conn) })
			}
			if err := d.stop(); err != nil { // an error would mean that the flood outlasted the drain time
				t.Errorf("Serve returned %v", err)
			}
			conn.Close()
			awaittest.Wait(t, "client", client.Wait)
		})
	}
}

func TestStopLetsOrdinaryRequestsFinish(t *testing.T) {
	home := t.TempDir()
	cfg := daemon.Config{Home: home, Reader: llm.NewFake(), ReaderModel: llm.FakeModel}
	d := serve(t, cfg)
	d.expect(t, 201, "POST", "/v1/brains", "application/json", `{"name":"eval"}`)
	conn := d.dial(t, "PUT /v1/brains/eval/documents?path=a.md HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n"+
		"Content-Length: 6\r\nExpect: 100-continue\r\n\r\n")
	answers := bufio.NewReader(conn)
	// The daemon sends Continue when its handler begins to read the body.
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, "100") {
		t.Fatalf("got %q, %v", line, err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- d.stop() }()
	// Once no new connection is accepted, the daemon is draining.
	for {
		probe, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
		if err != nil {
			break
		}
		probe.Close()
	}
	if _, err := io.WriteString(conn, "walrus"); err != nil {
		t.Fatal(err)
	}
	if _, err := answers.ReadString('\n'); err != nil { // the blank line after Continue
		t.Fatal(err)
	}
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, "204") {
		t.Errorf("got %q, %v", line, err)
	}
	if err := awaittest.Receive(t, "stopped", stopped); err != nil {
		t.Error(err)
	}
	d = serve(t, cfg)
	if got := d.expect(t, 200, "GET", "/v1/brains/eval/documents/read?path=a.md", "", ""); got != "walrus" {
		t.Errorf("read %q", got)
	}
}

// BenchmarkNew opens and closes a home with 100 brains.
func BenchmarkNew(b *testing.B) {
	cfg := daemon.Config{Home: b.TempDir(), Reader: llm.NewFake(), ReaderModel: llm.FakeModel}
	d, err := daemon.New(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 100 {
		w := httptest.NewRecorder()
		d.Handler().ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), "POST", "http://localhost/v1/brains", strings.NewReader(fmt.Sprintf(`{"id":"b%d"}`, i))))
		if w.Code != http.StatusCreated {
			b.Fatal(w.Body)
		}
	}
	if err := d.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		d, err := daemon.New(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		if err := d.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
