package pgstore_test

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy is between a store and the server. Faults are armed for one message of a client.
type proxy struct {
	t        *testing.T
	listener net.Listener
	server   string // address
	url      string // of the same database through the proxy

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	down  bool // closes new connections
	armed *fault
	// late is closed by the test to deliver what a fault of the kind delayed holds back, delivered
	// when the server has answered it.
	late, delivered chan struct{}
	wg              sync.WaitGroup
}

// fault cuts the connection at the message that contains the marker.
type fault struct {
	marker []byte
	kind   faultKind
	hit    chan struct{} // closed when the client has been cut off
}

type faultKind int

const (
	lost      faultKind = iota // the server does not get the message
	forwarded                  // the server gets it, and the connection ends at once
	answered                   // the server has answered, and the client does not get the answer
	delayed                    // the server gets it after the proxy's late is closed
	outage                     // like answered, and the proxy is down afterwards
)

func newProxy(t *testing.T, database string) *proxy {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, listener: listener, server: u.Host, conns: map[net.Conn]struct{}{},
		late: make(chan struct{}), delivered: make(chan struct{})}
	u.Host = listener.Addr().String()
	p.url = u.String()
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		listener.Close()
		p.setDown(true)
		p.wg.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		l := &link{client: client, server: server, answered: make(chan struct{}, 1)}
		if !p.track(client, server) {
			l.close()
			continue
		}
		p.wg.Go(func() { p.requests(l) })
		p.wg.Go(l.answers)
	}
}

// track reports false while the proxy is down.
func (p *proxy) track(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = struct{}{}
	}
	return !p.down
}

// setDown ends all connections, and refuses new ones if down.
func (p *proxy) setDown(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
	for c := range p.conns {
		c.Close()
		delete(p.conns, c)
	}
}

// arm prepares a fault. The returned channel is closed when it has happened.
func (p *proxy) arm(marker string, kind faultKind) (hit chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = &fault{[]byte(marker), kind, make(chan struct{})}
	return p.armed.hit
}

func (p *proxy) match(message []byte) *fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.armed
	if f == nil || !bytes.Contains(message, f.marker) {
		return nil
	}
	p.armed = nil
	return f
}

func (p *proxy) requests(l *link) {
	defer l.close()
	buf := make([]byte, 1<<20)
	for {
		n, err := l.client.Read(buf)
		if err != nil {
			return
		}
		if f := p.match(buf[:n]); f != nil {
			p.cut(l, f, buf[:n])
			return
		}
		if _, err := l.server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// cut ends the connection of the client, and passes the message on if the fault is of that kind.
func (p *proxy) cut(l *link, f *fault, message []byte) {
	l.muted.Store(true)
	select {
	case <-l.answered: // an earlier message
	default:
	}
	if f.kind == delayed {
		l.client.Close()
		close(f.hit)
		<-p.late
	}
	if f.kind != lost {
		_, _ = l.server.Write(message) // the test sees whether it had an effect
	}
	if f.kind != lost && f.kind != forwarded {
		<-l.answered
	}
	if f.kind == outage {
		p.setDown(true)
	}
	l.client.Close()
	if f.kind == delayed {
		close(p.delivered)
	} else {
		close(f.hit)
	}
}

// link is a connection through the proxy.
type link struct {
	client, server net.Conn
	muted          atomic.Bool   // answers are not passed on
	answered       chan struct{} // holds a token after an answer
}

func (l *link) close() {
	l.client.Close()
	l.server.Close()
}

func (l *link) answers() {
	defer l.client.Close()
	defer close(l.answered)
	buf := make([]byte, 1<<20)
	for {
		n, err := l.server.Read(buf)
		if err != nil {
			return
		}
		if !l.muted.Load() {
			if _, err := l.client.Write(buf[:n]); err != nil {
				return
			}
		}
		select {
		case l.answered <- struct{}{}:
		default:
		}
	}
}
