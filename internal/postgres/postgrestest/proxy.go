package postgrestest

import (
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Direction is the side of a connection that bytes come from.
type Direction int

// The directions.
const (
	FromClient Direction = 1 << iota
	FromServer
	FromBoth = FromClient | FromServer
)

// Proxy is the network between clients and a server: it passes bytes on unless a fault is set. Its
// methods may be called at any time.
type Proxy struct {
	listener net.Listener
	target   string

	mu      sync.Mutex
	changed *sync.Cond // stalled, or the end of a link
	links   map[*link]bool
	refuse  bool
	stalled Direction
	delay   time.Duration
	// cutFrom and cutAfter are the arguments of CutAfter; cutFrom is 0 without one.
	cutFrom  Direction
	cutAfter int
	// cut is the fault of CutAt until it happens, delayed the last one that is Delayed.
	cut, delayed *cut
	closing      chan struct{} // closed with the proxy
}

// link is a connection of a client and the one to the server.
type link struct {
	client, server *net.TCPConn
	ended          bool
	muted          atomic.Bool   // answers are not passed on
	answered       chan struct{} // holds a token after such an answer, closed when there will be none
}

// NewProxy returns a proxy on loopback in front of a server, such as Cluster.Addr. It ends with the
// test.
func NewProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not block
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, target: server, links: map[*link]bool{}, closing: make(chan struct{})}
	p.changed = sync.NewCond(&p.mu)
	var running sync.WaitGroup
	running.Go(func() { p.accept(&running) })
	t.Cleanup(func() {
		_ = l.Close()
		close(p.closing)
		p.Cut()
		running.Wait()
	})
	return p
}

// Proxied returns a proxy, and the URL of a new database of Database behind it.
func Proxied(t testing.TB) (proxy *Proxy, conn string) {
	t.Helper()
	return Behind(t, Database(t))
}

// Behind returns a proxy before the server of a connection URL, and the URL with the proxy as its
// server.
func Behind(t testing.TB, conn string) (proxy *Proxy, proxied string) {
	t.Helper()
	u, err := url.Parse(conn)
	if err != nil {
		t.Fatal(err)
	}
	proxy = NewProxy(t, u.Host)
	return proxy, proxy.URL(conn)
}

// Addr is the host and port of the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// URL returns a connection URL with the proxy as its server.
func (p *Proxy) URL(conn string) string {
	u, err := url.Parse(conn)
	if err != nil {
		panic("not a URL: " + conn)
	}
	u.Host = p.Addr()
	return u.String()
}

// Cut resets every connection, and those that clients open from now on.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = true
	p.cutAll()
}

// CutAfter passes on n further bytes from one side, on all connections together, and resets every
// connection instead of passing on the next one. Connections that are opened afterwards work. With
// 0 and FromServer, the server gets and runs the next statement, and its answer is lost.
func (p *Proxy) CutAfter(from Direction, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutFrom, p.cutAfter = from, n
}

// Stall holds back all bytes from one side or both, and keeps the connections open. Stalling one
// side makes a half-open connection. New connections are accepted and stalled too.
func (p *Proxy) Stall(from Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled = from
	p.changed.Broadcast()
}

// Delay makes every piece of data arrive so much later.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Restore ends all faults. Bytes that were held back arrive.
func (p *Proxy) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse, p.stalled, p.delay, p.cutFrom, p.cut = false, 0, 0, 0, nil
	p.changed.Broadcast()
}

func (p *Proxy) accept(running *sync.WaitGroup) {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		running.Go(func() { p.serve(conn.(*net.TCPConn)) })
	}
}

func (p *Proxy) serve(client *net.TCPConn) {
	server, err := net.Dial("tcp", p.target) //nolint:noctx // on loopback
	if err != nil {
		reset(client)
		return
	}
	l := &link{client: client, server: server.(*net.TCPConn), answered: make(chan struct{}, 1)}
	p.mu.Lock()
	refused := p.refuse
	p.links[l] = true
	if refused {
		p.end(l)
	}
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.pump(l, FromClient, l.client, l.server) })
	both.Go(func() {
		defer close(l.answered)
		p.pump(l, FromServer, l.server, l.client)
	})
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(l)
	delete(p.links, l)
}

// pump passes bytes on until one of the connections ends.
func (p *Proxy) pump(l *link, from Direction, src, dst *net.TCPConn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		if err != nil {
			if p.admit(l, from, 0) == 0 { // in order with held bytes
				_ = dst.CloseWrite()
			}
			return
		}
		if from == FromServer && l.muted.Load() {
			select {
			case l.answered <- struct{}{}:
			default:
			}
			continue
		}
		if from == FromClient {
			if c := p.match(buf[:n]); c != nil {
				p.cutOff(l, c, buf[:n])
				return
			}
		}
		m := p.admit(l, from, n)
		if m > 0 {
			_, err = dst.Write(buf[:m])
		}
		if m < n {
			p.mu.Lock()
			p.cutAll()
			p.mu.Unlock()
		}
		if m < n || err != nil {
			return
		}
	}
}

// admit waits until bytes may pass and returns how many may: fewer than n if the connection is to
// be cut after them, -1 if it was cut.
func (p *Proxy) admit(l *link, from Direction, n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := p.delay; d > 0 {
		p.mu.Unlock()
		time.Sleep(d)
		p.mu.Lock()
	}
	for p.stalled&from != 0 && !l.ended {
		p.changed.Wait()
	}
	if l.ended {
		return -1
	}
	if p.cutFrom != from || n == 0 {
		return n
	}
	if n <= p.cutAfter {
		p.cutAfter -= n
		return n
	}
	p.cutFrom = 0
	return p.cutAfter
}

// cutAll is called with mu held.
func (p *Proxy) cutAll() {
	for l := range p.links {
		p.end(l)
	}
}

// end is called with mu held.
func (p *Proxy) end(l *link) {
	if l.ended {
		return
	}
	l.ended = true
	reset(l.client)
	reset(l.server)
	p.changed.Broadcast()
}

// reset closes a connection in a way that its other end sees as an error.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}
