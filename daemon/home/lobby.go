package home

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// lobby is a listener for connections of this process and of those at a socket.
type lobby struct {
	conns  chan net.Conn
	done   chan struct{}
	close  func() error
	socket net.Listener // nil before share
}

func newLobby() *lobby {
	l := &lobby{conns: make(chan net.Conn), done: make(chan struct{})}
	l.close = sync.OnceValue(func() error {
		close(l.done)
		if l.socket == nil {
			return nil
		}
		return l.socket.Close()
	})
	return l
}

// share also accepts the connections at a socket. It must be called at most once, before Close.
func (l *lobby) share(socket net.Listener) {
	l.socket = socket
	go l.forward()
}

// forward passes on the connections at the socket.
func (l *lobby) forward() {
	for {
		conn, err := l.socket.Accept()
		if err != nil {
			select {
			case <-l.done:
				return
			case <-time.After(10 * time.Millisecond): // out of files
				continue
			}
		}
		select {
		case l.conns <- conn:
		case <-l.done:
			conn.Close()
			return
		}
	}
}

// Accept implements net.Listener.
func (l *lobby) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *lobby) Close() error { return l.close() }

// Addr implements net.Listener.
func (l *lobby) Addr() net.Addr { return lobbyAddr{} }

type lobbyAddr struct{}

func (lobbyAddr) Network() string { return "unix" }
func (lobbyAddr) String() string  { return "the home" }

// dial connects to the lobby within the process.
func (l *lobby) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- pipeEnd{theirs}:
		return ours, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (l *lobby) dialFunc() DialFunc {
	return func(ctx context.Context, _, _ string) (net.Conn, error) { return l.dial(ctx) }
}

// pipeEnd is the daemon's end of a connection within the process. As with a socket, a deadline can
// be set after the other end was closed, as a client does once it has read the end of an answer.
type pipeEnd struct{ net.Conn }

// SetWriteDeadline implements net.Conn.
func (p pipeEnd) SetWriteDeadline(t time.Time) error {
	if err := p.Conn.SetWriteDeadline(t); !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	return nil
}
