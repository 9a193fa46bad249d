package pgstore

import (
	"sync"
	"sync/atomic"
)

// serverCount counts how often connections have reached another server than before.
type serverCount struct {
	mu    sync.Mutex
	last  string
	count atomic.Uint64
}

// reached is called with the identity of the server, for each connection before it is used.
func (s *serverCount) reached(server string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if server != s.last {
		s.last = server
		s.count.Add(1)
	}
}

// Server implements an optional method of store.Backend.
func (b *backend) Server() uint64 { return b.db.server.count.Load() }
