//go:build unix

package httpapi

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"evalctl/internal/awaittest"
)

// sockets returns the ends of a TCP connection.
func sockets(t *testing.T) (client, ours net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if client, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if ours, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	return client, ours
}

func TestHasClosed(t *testing.T) {
	for _, sends := range []string{"", "x"} {
		client, ours := sockets(t)
		if hasClosed(ours) {
			t.Error("an open connection is closed")
		}
		if _, err := io.WriteString(client, sends); err != nil {
			t.Error(err)
		}
		client.Close()
		if sends == "" {
			awaittest.Until(t, "the connection is closed", func() bool { return hasClosed(ours) })
		} else if got, err := io.ReadAll(ours); err != nil || string(got) != sends {
			t.Errorf("got %q, %v", got, err)
		}
		ours.Close()
		if !hasClosed(ours) {
			t.Error("a connection that is closed here is open")
		}
	}
}

// TestShutdownOfHeldConnection: a client that is held back over TCP gets its response when the
// daemon stops.
func TestShutdownOfHeldConnection(t *testing.T) {
	client, ours := sockets(t)
	l := newLobby(newPace(1), nil)
	l.expect()
	l.hold(&stay{conn: &conn{Conn: ours}, response: []byte("Content-Length: 0\r\n\r\n"), answered: func(int) {}}, time.Hour)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	awaittest.Wait(t, "the end of the stay", l.stays.Wait)
	if got, err := io.ReadAll(client); err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 503 ") {
		t.Errorf("got %q, %v", got, err)
	}
}
