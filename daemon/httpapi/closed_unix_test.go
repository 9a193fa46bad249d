//go:build unix

package httpapi

import (
	"io"
	"net"
	"testing"

	"evalctl/internal/awaittest"
)

func TestHasClosed(t *testing.T) {
	for _, sends := range []string{"", "x"} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		client, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		ours, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
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
