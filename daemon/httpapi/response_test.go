package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
	"evalctl/internal/admission"
)

// startLarge starts a server with a document large.bin of 32 MiB in a file store.
func startLarge(t *testing.T) (s *server, want []byte) {
	t.Helper()
	dir := t.TempDir()
	want = bytes.Repeat([]byte("0123456789abcdef"), 32<<20/16)
	s = serve(t, nil, brain.Config{
		OpenStore: func(ctx context.Context, r brain.Record) (*store.Store, error) {
			st, err := fsstore.Open(ctx, filepath.Join(dir, r.Brain.ID), nil)
			if err != nil {
				return nil, err
			}
			return st, st.Write(ctx, "large.bin", want)
		},
	}, fakeReader())
	s.expect(t, 201, "POST", "/v1/brains", `{"id":"eval"}`)
	return s, want
}

const largeTarget = "/v1/brains/eval/documents/read?path=large.bin"

// TestReadStreams: reading a large document does not hold it in memory.
func TestReadStreams(t *testing.T) {
	s, want := startLarge(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := s.do(t, "GET", largeTarget, "")
	defer res.Body.Close()
	part := make([]byte, 1<<20)
	for at := 0; at < len(want); at += len(part) {
		if _, err := io.ReadFull(res.Body, part); err != nil || !bytes.Equal(part, want[at:at+len(part)]) {
			t.Fatalf("different bytes from %d on, %v", at, err)
		}
	}
	if n, err := res.Body.Read(part); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%d more bytes, %v", n, err)
	}
	if res.ContentLength != int64(len(want)) || res.Header.Get("Content-Type") != protocol.TypeBytes {
		t.Errorf("%v", res.Header)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(len(want)/4) {
		t.Errorf("%d bytes were allocated for a document of %d", used, len(want))
	}
}

// impatient shortens the deadline of each part of a response.
type impatient struct{ http.ResponseWriter }

func (i impatient) Unwrap() http.ResponseWriter { return i.ResponseWriter }

func (i impatient) SetWriteDeadline(at time.Time) error {
	if !at.IsZero() {
		at = time.Now().Add(100 * time.Millisecond)
	}
	return http.NewResponseController(i.ResponseWriter).SetWriteDeadline(at)
}

// TestStalledClientIsDisconnected: a client that does not read its response ends it.
func TestStalledClientIsDisconnected(t *testing.T) {
	s, want := startLarge(t)
	ended := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		s.api.ServeHTTP(impatient{w}, r)
	}))
	defer srv.Close()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", largeTarget)
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		c.Close() // srv.Close would wait as well
		t.Fatal("the daemon still waits for the client")
	}
	if got, _ := io.Copy(io.Discard, c); got >= int64(len(want)) { // an error may end it
		t.Errorf("received all %d bytes", got)
	}
	if log := s.log.String(); !strings.Contains(log, os.ErrDeadlineExceeded.Error()) {
		t.Errorf("log: %s", log)
	}
}

// TestStalledClientHoldsNoSlot: while a client does not read its document, others read theirs.
func TestStalledClientHoldsNoSlot(t *testing.T) {
	s, _ := startLarge(t)
	s.limit(admission.Config{Slots: 1})
	s.put(t, "small.md", "kettle")
	srv := httptest.NewServer(s.api)
	defer srv.Close()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() // before srv, which waits for the response
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", largeTarget)
	if _, err := io.ReadFull(c, make([]byte, len("HTTP/1.1 200"))); err != nil {
		t.Fatal(err)
	}
	s.expect(t, 200, "GET", "/v1/brains/eval/documents/stat?path=small.md", "")
	if got := s.expect(t, 200, "GET", "/v1/brains/eval/documents/read?path=small.md", ""); got != "kettle" {
		t.Errorf("read %q", got)
	}
}

// TestDeadlinesEndWithTheResponse: a remaining deadline would end the next response of the
// connection.
func TestDeadlinesEndWithTheResponse(t *testing.T) {
	s := startFake(t)
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	for _, tt := range []struct {
		method, target string
		status         int
		held           []bool // for each SetWriteDeadline, whether it set one
	}{
		{"PUT", "?path=a", 204, []bool{false}},
		{"GET", "/read?path=a", 200, []bool{false, true}},
		{"DELETE", "?path=a", 204, []bool{false}},
		{"DELETE", "?path=a", 404, []bool{false, true}},
	} {
		w.held = nil
		w.ResponseRecorder = httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), tt.method, "http://localhost/v1/brains/eval/documents"+tt.target, strings.NewReader("x"))
		r.Header.Set("Content-Type", protocol.TypeBytes)
		s.api.ServeHTTP(w, r)
		if w.Code != tt.status || !slices.Equal(w.held, tt.held) {
			t.Errorf("%s %s: %d, %v", tt.method, tt.target, w.Code, w.held)
		}
	}
}

type deadlines struct {
	*httptest.ResponseRecorder
	held []bool
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.held = append(d.held, !at.IsZero())
	return nil
}

// TestShortResponsesFail: a document that ends early is an error.
func TestShortResponsesFail(t *testing.T) {
	err := writeFrom(httptest.NewRecorder(), 200, protocol.TypeBytes, 2, strings.NewReader("x"))
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

// canceledStore is a store whose reads are canceled, though not by their caller.
type canceledStore struct{ blockedStore }

func (*canceledStore) Stat(context.Context, string) (store.FileInfo, error) {
	return store.FileInfo{}, context.Canceled
}

// TestCanceledWork: a client that has not left learns that its request failed.
func TestCanceledWork(t *testing.T) {
	s := serve(t, nil, brain.Config{OpenStore: func(context.Context, brain.Record) (*store.Store, error) {
		return store.New(&canceledStore{}, nil), nil
	}}, fakeReader())
	s.expect(t, 201, "POST", "/v1/brains", `{"id":"eval"}`)
	got := s.expect(t, 500, "GET", "/v1/brains/eval/documents/stat?path=a.md", "")
	if !strings.Contains(got, protocol.CodeInternal) {
		t.Errorf("got %s", got)
	}
}

// TestClientStopsSending: a client that sends nothing more, but still reads, gets an error for a
// request that ended for that reason.
func TestClientStopsSending(t *testing.T) {
	s, _ := startBlocked(t, false)
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET /v1/brains/eval/documents/read?path=d0.md HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode < 400 {
		t.Errorf("got %s", res.Status)
	}
}
