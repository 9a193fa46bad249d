package daemon

import (
	"net"
	"net/http"
	"sync"
)

// freshConns contains the connections that have not sent a request yet. Clients open such
// connections in advance, and http.Server.Shutdown waits up to 5 s for them. Serve therefore closes
// them itself.
type freshConns struct {
	mu      sync.Mutex
	conns   map[net.Conn]struct{}
	stopped bool
}

// track is an http.Server.ConnState hook.
func (f *freshConns) track(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(f.conns, c)
	case f.stopped:
		_ = c.Close() // accepted just before the listener closed
	default:
		f.conns[c] = struct{}{}
	}
}

func (f *freshConns) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	for c := range f.conns {
		_ = c.Close() // it carries no request
	}
}
