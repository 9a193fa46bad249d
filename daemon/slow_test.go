package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"
)

// TestSlowHeadersTimeOut: connections that send a request byte by byte are closed, and do not
// delay other clients.
func TestSlowHeadersTimeOut(t *testing.T) {
	t.Parallel()
	d, err := openKind(t, "", StoreMemory)
	if err != nil {
		t.Fatal(err)
	}
	d.headerTimeout = time.Second
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- d.Serve(ctx, l) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()

	var slow []net.Conn
	for range 50 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, c)
	}
	res, err := http.Get(fmt.Sprintf("http://%s/healthz", l.Addr()))
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("another client got no response: %v %v", res, err)
	}
	res.Body.Close()
	http.DefaultClient.CloseIdleConnections()

	for _, c := range slow {
		if err := c.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		for err = nil; err == nil; {
			time.Sleep(10 * time.Millisecond) // the pace of the attack
			_, err = io.WriteString(c, "a")
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("a connection with a slow header was not closed")
		}
	}
}
