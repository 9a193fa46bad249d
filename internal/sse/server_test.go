package sse

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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/awaittest"
)

// serve runs handler on a real server, which change may configure before the start.
func serve(t *testing.T, handler func(http.ResponseWriter, *http.Request) error, change func(*httptest.Server)) (*httptest.Server, <-chan error) {
	t.Helper()
	ended := make(chan error, 1)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ended <- handler(w, r)
	}))
	change(srv)
	if srv.TLS == nil {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	return srv, ended
}

func get(t *testing.T, srv *httptest.Server) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func TestWriterFlushesAtOnce(t *testing.T) {
	step := make(chan struct{}, 2)
	srv, ended := serve(t, func(w http.ResponseWriter, r *http.Request) error {
		wait := func() {
			select {
			case <-step:
			case <-r.Context().Done(): // the client gave up
			}
		}
		sw, err := NewWriter(w, time.Minute)
		if err != nil {
			return err
		}
		wait() // the client has the headers
		if err := sw.Send(Event{ID: "1", Name: "ready", Data: []byte("ok")}); err != nil {
			return err
		}
		wait() // the client has the event
		return nil
	}, func(*httptest.Server) {})

	resp := get(t, srv)
	if got := resp.Header; got.Get("Content-Type") != "text/event-stream" || got.Get("Cache-Control") != "no-cache" {
		t.Errorf("headers %v", got)
	}
	step <- struct{}{}
	r := NewReader(resp.Body, 0)
	e, err := r.Next()
	if diff := cmp.Diff(Event{"1", "ready", []byte("ok")}, e); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	step <- struct{}{}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("end: got %v", err)
	}
	if err := awaittest.Receive(t, "ended", ended); err != nil {
		t.Error(err)
	}
}

// A stream outlives its own timeout and the server's, while it is idle and at its end.
func TestWriterOutlivesIdleTime(t *testing.T) {
	const timeout = time.Second / 2
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			srv, ended := serve(t, func(w http.ResponseWriter, _ *http.Request) error {
				sw, err := NewWriter(w, timeout)
				if err != nil {
					return err
				}
				time.Sleep(2 * timeout) // this test is about elapsed time
				err = sw.Send(Event{Data: []byte("late")})
				time.Sleep(2 * timeout)
				return err
			}, func(srv *httptest.Server) {
				if proto == "HTTP/2.0" {
					srv.EnableHTTP2 = true
					srv.StartTLS()
				} else {
					srv.Config.WriteTimeout = timeout
				}
			})
			resp := get(t, srv)
			if resp.Proto != proto {
				t.Fatalf("spoke %s", resp.Proto)
			}
			got, err := readAll(resp.Body, 0)
			if diff := cmp.Diff([]Event{msg("late")}, got); diff != "" || !errors.Is(err, io.EOF) {
				t.Errorf("ended with %v (-want +got):\n%s", err, diff)
			}
			if err := awaittest.Receive(t, "ended", ended); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWriterCutsAStalledClient(t *testing.T) {
	srv, ended := serve(t, func(w http.ResponseWriter, _ *http.Request) error {
		sw, err := NewWriter(w, 100*time.Millisecond)
		if err != nil {
			return err
		}
		frame := Event{Data: bytes.Repeat([]byte("x"), 1<<20)}
		for range 1000 { // far more than the socket buffers hold
			if err := sw.Send(frame); err != nil {
				return err
			}
		}
		return errors.New("everything was sent")
	}, func(srv *httptest.Server) { srv.Config.WriteTimeout = time.Hour })

	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended: // the client has not read a byte
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("handler ended with %v, want %v", err, os.ErrDeadlineExceeded)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the handler still waits for a client that does not read")
	}

	// The socket buffers end inside a frame, and the client must notice the cut.
	body, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = body.Body.Close() }()
	if _, err := readAll(body.Body, 0); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("client: got %v, want %v", err, io.ErrUnexpectedEOF)
	}
}

func TestReaderSeesACutAnswer(t *testing.T) {
	for _, abort := range []bool{true, false} { // false: the handler ends early and the transport is clean
		t.Run(fmt.Sprintf("abort %v", abort), func(t *testing.T) {
			srv, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) error {
				sw, err := NewWriter(w, time.Minute)
				if err != nil {
					return err
				}
				if err := sw.Send(Event{Data: []byte("whole")}); err != nil {
					return err
				}
				_, _ = io.WriteString(w, "event: answer_delta\ndata: cu")
				if abort {
					panic(http.ErrAbortHandler)
				}
				return nil
			}, func(*httptest.Server) {})
			got, err := readAll(get(t, srv).Body, 0)
			if diff := cmp.Diff([]Event{msg("whole")}, got); diff != "" || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("ended with %v (-want +got):\n%s", err, diff)
			}
		})
	}
}
