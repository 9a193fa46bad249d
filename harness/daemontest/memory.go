package daemontest

import (
	"context"
	"net"
	"net/http"
	"testing"
)

// InMemory starts a daemon at http://memory without a socket, so that it can be used in a bubble of
// package synctest. It ends with the test.
//
// Until then http.DefaultTransport and its clones connect to it. A test that uses InMemory must not
// be parallel.
func InMemory(tb testing.TB, answer http.HandlerFunc) {
	tb.Helper()
	p := pipes{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: answer}
	go func() { _ = server.Serve(p) }()
	saved := http.DefaultTransport
	http.DefaultTransport = &http.Transport{DialContext: p.dial}
	tb.Cleanup(func() {
		http.DefaultTransport = saved
		_ = server.Close()
	})
}

// pipes is a listener with in-memory connections.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.closed); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p.conns <- server
	return client, nil
}
