package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/internal/awaittest"
	"evalctl/internal/goldentest"
	"evalctl/internal/sse"
)

const eventsPath = "/v1/brains/eval/events"

// stream is a client of a change stream that has received ready.
type stream struct {
	t      testing.TB
	resp   *http.Response
	reader *sse.Reader
	last   uint64 // id
	close  func()
}

func attach(t testing.TB, s *server) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // so that a failure does not hang
	req, err := http.NewRequestWithContext(ctx, "GET", s.url+eventsPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 {
		t.Fatalf("attach: %s", resp.Status)
	}
	st := streamOf(t, resp)
	st.close = func() {
		cancel()
		resp.Body.Close()
	}
	if e := st.next(); e.Name != "ready" || string(e.Data) != "ok" || e.ID != "1" {
		t.Fatalf("the stream begins with %+v", e)
	}
	return st
}

// streamOf returns the client of a response that is a change stream.
func streamOf(t testing.TB, resp *http.Response) *stream {
	st := &stream{t: t, resp: resp, reader: sse.NewReader(resp.Body, 0), close: func() { resp.Body.Close() }}
	t.Cleanup(func() { st.close() })
	return st
}

// next returns the next event, and checks that ids increase by 1.
func (st *stream) next() sse.Event {
	st.t.Helper()
	e, err := st.reader.Next()
	if err != nil {
		st.t.Fatal(err)
	}
	st.last++
	if e.ID != strconv.FormatUint(st.last, 10) {
		st.t.Fatalf("event %d has id %q", st.last, e.ID)
	}
	return e
}

func (st *stream) change() protocol.ChangeEvent {
	st.t.Helper()
	e := st.next()
	var c protocol.ChangeEvent
	if err := json.Unmarshal(e.Data, &c); err != nil || e.Name != "change" {
		st.t.Fatalf("%s %s: %v", e.Name, e.Data, err)
	}
	return c
}

// wantEnd checks that the stream ends without an error.
func (st *stream) wantEnd() {
	st.t.Helper()
	if e, err := st.reader.Next(); !errors.Is(err, io.EOF) {
		st.t.Errorf("the stream continues with %+v, %v", e, err)
	}
}

func (s *server) store(t testing.TB) *store.Store {
	t.Helper()
	return s.open(t, "eval")
}

// TestEventTranscript records a whole stream, byte by byte.
func TestEventTranscript(t *testing.T) {
	s := startFake(t)
	s.put(t, "before.md", "missed")
	resp := s.do(t, "GET", eventsPath, "", "Last-Event-ID", "0", "Accept", protocol.TypeEvents)
	defer resp.Body.Close()
	defer time.AfterFunc(time.Minute, func() { resp.Body.Close() }).Stop() // or a failure hangs
	body := bufio.NewReader(resp.Body)
	ready, err := body.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	const docs, js = "/v1/brains/eval/documents", "application/json"
	s.put(t, "a.md", "1")
	s.put(t, "a.md", "2")
	s.expect(t, 204, "POST", docs+"/append?path=%C3%A9%20%3Cb%3E.md", "1", "Content-Type", octets)
	s.expect(t, 204, "POST", docs+"/rename", `{"from":"a.md","to":"d/a.md"}`, "Content-Type", js)
	s.expect(t, 404, "DELETE", docs+"?path=a.md", "")
	s.expect(t, 200, "POST", docs+"/batch-ops", `{"reason":"tidy\r\nup","ops":[`+
		`{"type":"write","path":"c.md","content_base64":"Yw=="},{"type":"append","path":"c.md","content_base64":"Yw=="},`+
		`{"type":"rename","path":"c.md","to":"e.md"},{"type":"delete","path":"before.md"}]}`, "Content-Type", js)
	s.expect(t, 404, "POST", docs+"/batch-ops", `{"ops":[{"type":"write","path":"x","content_base64":""},{"type":"delete","path":"none"}]}`, "Content-Type", js)
	s.expect(t, 204, "DELETE", docs+"?path=e.md", "")
	last := "id: 10\n"
	var got strings.Builder
	for line := ready; ; {
		got.WriteString(line)
		if strings.HasPrefix(got.String()[strings.LastIndex(got.String(), "id: "):], last) && line == "\n" {
			break
		}
		if line, err = body.ReadString('\n'); err != nil {
			t.Fatalf("%v after %s", err, got.String())
		}
	}
	s.expect(t, 204, "DELETE", "/v1/brains/eval", "", "X-Confirm-Delete", "yes")
	if rest, err := io.ReadAll(body); err != nil || len(rest) > 0 {
		t.Errorf("after the brain is deleted: %q, %v", rest, err)
	}
	header := fmt.Sprintf("%d\nCache-Control: %s\nContent-Type: %s\n\n", resp.StatusCode, resp.Header.Get("Cache-Control"), resp.Header.Get("Content-Type"))
	goldentest.Compare(t, "testdata/events.txt", header+got.String())
}

func TestEventRejections(t *testing.T) {
	s := startFake(t)
	s.expect(t, 404, "GET", "/v1/brains/none/events", "")
	s.expect(t, 400, "GET", "/v1/brains/_/events", "")
	s.expect(t, 405, "POST", eventsPath, "")
	s.expect(t, 200, "HEAD", eventsPath, "") // ends by itself
	s.api.Stop()
	s.expect(t, 503, "GET", eventsPath, "")
}

func TestPing(t *testing.T) {
	s := startFake(t)
	s.api.ping = 1 // ns
	st := attach(t, s)
	for range 3 {
		if e := st.next(); e.Name != "ping" || string(e.Data) != "keepalive" {
			t.Errorf("got %+v", e)
		}
	}
	s.put(t, "a.md", "1")
	for st.next().Name != "change" { // next fails when there is none
	}
}

// TestEventOrder compares two clients with a sink of the store, during concurrent writes.
func TestEventOrder(t *testing.T) {
	s := startFake(t)
	docs := s.store(t)
	var want []string
	defer docs.Subscribe(func(e store.ChangeEvent) { want = append(want, fmt.Sprint(e.Kind, e.Path, e.OldPath, e.Reason)) })()
	one, two := attach(t, s), attach(t, s)
	const writers, rounds = 4, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range rounds {
				path := fmt.Sprintf("%d.md", (w+i)%3)
				err := docs.Apply(t.Context(), store.Commit{Reason: fmt.Sprint(w, i), Ops: []store.Op{
					{Kind: store.OpWrite, Path: path}, {Kind: store.OpRename, Path: path, To: "x"}, {Kind: store.OpDelete, Path: "x"},
				}})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	for _, st := range []*stream{one, two} {
		var got []string
		for range writers * rounds * 3 {
			c := st.change()
			got = append(got, c.Kind+c.Path+c.OldPath+c.Reason)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// stall is a client that reads only the beginning of the stream.
func stall(t testing.TB, s *server) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(1 << 10); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", eventsPath)
	var got []byte
	for b := make([]byte, 1); !strings.HasSuffix(string(got), "data: ok\n\n"); got = append(got, b[0]) {
		if _, err := conn.Read(b); err != nil {
			t.Fatalf("%v after %q", err, got)
		}
	}
}

// burst applies one batch of n operations and waits until the streams have received their events.
func burst(t testing.TB, docs *store.Store, n, reason int, streams ...*stream) {
	t.Helper()
	ops := slices.Repeat([]store.Op{{Kind: store.OpWrite, Path: "a.md"}}, n)
	if err := docs.Apply(t.Context(), store.Commit{Reason: strings.Repeat("r", reason), Ops: ops}); err != nil {
		t.Fatal(err)
	}
	for _, st := range streams {
		for range n {
			if e := st.next(); e.Name != "change" {
				t.Fatalf("got %+v", e)
			}
		}
	}
}

// overflow causes more bytes of events than the socket buffers of a client that does not read.
func overflow(t testing.TB, docs *store.Store, streams ...*stream) {
	t.Helper()
	for range 2 {
		burst(t, docs, 512, protocol.MaxBatchText, streams...)
	}
}

func TestSlowClientIsDisconnected(t *testing.T) {
	s := startFake(t)
	docs := s.store(t)
	stall(t, s)
	fast := attach(t, s)
	overflow(t, docs, fast)
	for s.api.slowClients.Load() == 0 {
		burst(t, docs, protocol.MaxBatchOps, 0, fast) // the other client receives everything
	}
	s.put(t, "last.md", "1")
	if c := fast.change(); c.Path != "last.md" {
		t.Errorf("got %+v", c)
	}
	if n := s.api.slowClients.Load(); n != 1 {
		t.Errorf("%d clients were slow", n)
	}
}

func TestStopEndsStreams(t *testing.T) {
	s := startFake(t)
	stall(t, s)
	one, two := attach(t, s), attach(t, s)
	overflow(t, s.store(t), one, two) // a frame to the stalled client is being sent
	s.api.Stop()
	one.wantEnd()
	two.wantEnd()
	if n := s.api.slowClients.Load(); n != 0 {
		t.Errorf("%d clients were slow", n)
	}
}

func TestReplacedBrain(t *testing.T) {
	s := startFake(t)
	old := attach(t, s)
	s.expect(t, 204, "DELETE", "/v1/brains/eval", "", "X-Confirm-Delete", "yes")
	s.expect(t, 201, "POST", "/v1/brains", `{"id":"eval"}`)
	now := attach(t, s)
	s.put(t, "a.md", "1")
	if c := now.change(); c.Path != "a.md" {
		t.Errorf("got %+v", c)
	}
	old.wantEnd()
}

func TestBatchTextLimit(t *testing.T) {
	s := startFake(t)
	for _, field := range []string{"reason", "message", "author", "email"} {
		for n, status := range map[int]int{protocol.MaxBatchText: 200, protocol.MaxBatchText + 1: 413} {
			body := fmt.Sprintf(`{"%s":%q,"ops":[]}`, field, strings.Repeat("x", n))
			s.expect(t, status, "POST", "/v1/brains/eval/documents/batch-ops", body, "Content-Type", "application/json")
		}
	}
}
