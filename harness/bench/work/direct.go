package work

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"evalctl/harness/bench/record"
	"evalctl/harness/target"
)

const (
	// inlined is the maximum size of a request that is written before its reply is read. It is
	// smaller than any socket buffer, so a daemon cannot block the write.
	inlined = 32 << 10
	// longestHeader is as in http.Transport.
	longestHeader = 10 << 20
	// unread is how long a daemon that has replied may take to read the rest of a long request.
	unread      = 50 * time.Millisecond
	readSize    = 16 << 10
	dialTimeout = 30 * time.Second
	longestIdle = 90 * time.Second
)

var errHeader = fmt.Errorf("the header of the reply is longer than %d MiB", longestHeader>>20)

// Client returns how requests can be sent to all services alike: Ordinary if any of them is reached
// by TLS or through a proxy.
func Client(services []target.Service) string {
	for _, s := range services {
		if e, daemon := Wire(s); daemon && (!canCheckIdle || addressOf(e) == "") {
			return record.Ordinary
		}
	}
	return record.Direct
}

// addressOf returns an endpoint's host and port, empty if direct cannot reach it.
func addressOf(e *target.Endpoint) string {
	u, err := url.Parse(e.URL())
	if err != nil || u.Scheme != "http" || strings.ContainsFunc(u.Host, func(r rune) bool { return r >= 0x80 }) {
		return ""
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err != nil || proxy != nil {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80"))
}

// direct sends requests over HTTP/1.1 and TCP and reads the replies on the calling goroutine.
// http.Transport uses two goroutines per connection, and waking them takes as long as the rest of a
// request. Reading and writing messages is still done by net/http.
//
// A request is sent a second time only if nothing of it was written, as when the daemon has closed
// an idle connection. It is safe for concurrent use.
type direct struct {
	address string

	mu   sync.Mutex
	idle []*conn // the one that was used last is the last one
}

// RoundTrip implements http.RoundTripper.
func (d *direct) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	for {
		c, err := d.connection(ctx)
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, c.abort)
		res, whole, err := c.exchange(req)
		if err == nil {
			if res.Body != http.NoBody {
				res.Body = &body{reply: res.Body, conn: c, stop: stop, owner: d, whole: whole}
			} else if stop() && whole && c.in.Buffered() == 0 {
				d.keep(c)
			} else {
				_ = c.Close() // nothing more is read
			}
			return res, nil
		}
		stop()
		_ = c.Close() // err is what matters
		if !errors.Is(err, errUnwritten) || !c.used || ctx.Err() != nil {
			return nil, err
		}
		if req, err = again(req); err != nil {
			return nil, err
		}
	}
}

// again returns a copy of a request whose body was not sent.
func again(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, nil
	}
	unread, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	r := *req
	r.Body = unread
	return &r, nil
}

// connection returns an idle connection, or a new one.
func (d *direct) connection(ctx context.Context) (*conn, error) {
	for c := d.last(); c != nil; c = d.last() {
		if time.Since(c.since) < longestIdle && c.alive() {
			c.used = true
			return c, nil
		}
		_ = c.Close() // it is of no use any more
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	tcp, err := dialer.DialContext(ctx, "tcp", d.address)
	if err != nil {
		return nil, err
	}
	return newConn(tcp)
}

func (d *direct) last() *conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.idle) - 1
	if n < 0 {
		return nil
	}
	c := d.idle[n]
	d.idle = d.idle[:n]
	return c
}

// keep returns a connection to the idle ones.
func (d *direct) keep(c *conn) {
	c.since = time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.idle = append(d.idle, c)
}

// CloseIdleConnections closes unused connections. http.Client calls it.
func (d *direct) CloseIdleConnections() {
	for c := d.last(); c != nil; c = d.last() {
		_ = c.Close() // nothing is in it
	}
}

// conn is a connection for one request at a time.
type conn struct {
	net.Conn
	alive func() bool // reports whether the daemon has neither closed it nor sent anything
	in    *bufio.Reader
	out   bytes.Buffer
	left  int64     // how much may still be read
	used  bool      // by a request before
	since time.Time // when it became idle
}

func newConn(tcp net.Conn) (*conn, error) {
	alive, err := idleCheck(tcp)
	if err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	c := &conn{Conn: tcp, alive: alive}
	c.in = bufio.NewReaderSize(limitedConn{c}, readSize)
	return c, nil
}

// limitedConn limits how much may be read from a connection.
type limitedConn struct{ *conn }

func (l limitedConn) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errHeader
	}
	n, err := l.Conn.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// abort ends the current read or write when a context has ended.
func (c *conn) abort() { _ = c.SetDeadline(time.Unix(1, 0)) } // it fails on a closed connection only

// errUnwritten means that nothing of a request was written.
var errUnwritten = errors.New("the connection was closed before the request was written")

// exchange writes a request and reads the header of its reply. whole is set if all was written and
// the connection may be used again.
func (c *conn) exchange(req *http.Request) (res *http.Response, whole bool, err error) {
	c.out.Reset()
	if err := req.Write(&c.out); err != nil {
		return nil, false, err
	}
	if c.out.Len() > inlined {
		return c.exchangeLong(req)
	}
	n, failed := c.Write(c.out.Bytes())
	if failed != nil && n == 0 {
		return nil, false, fmt.Errorf("%w: %w", errUnwritten, failed)
	}
	res, err = c.header(req) // which may have come before the write failed
	if err != nil && failed != nil {
		err = failed
	}
	return res, err == nil && failed == nil && reusable(res), err
}

// exchangeLong is exchange for a request that the daemon may answer before reading all of it.
func (c *conn) exchangeLong(req *http.Request) (res *http.Response, whole bool, err error) {
	out := c.out.Bytes()
	c.out = bytes.Buffer{} // the request may still be written when it has its reply
	written := make(chan error, 1)
	go func() {
		_, err := c.Write(out)
		written <- err
	}()
	if res, err = c.header(req); err != nil {
		return nil, false, err
	}
	select {
	case failed := <-written:
		return res, failed == nil && reusable(res), nil
	case <-time.After(unread): // the write ends when the connection is closed
		return res, false, nil
	}
}

func reusable(res *http.Response) bool {
	return !res.Close && res.StatusCode != http.StatusSwitchingProtocols
}

// header reads the header of a reply.
func (c *conn) header(req *http.Request) (*http.Response, error) {
	c.left = longestHeader
	if _, err := c.in.Peek(1); err != nil {
		return nil, err // io.EOF without a reply, which ReadResponse takes for half of one
	}
	for {
		res, err := http.ReadResponse(c.in, req)
		if err != nil {
			return nil, err
		}
		if s := res.StatusCode; s < 100 || s > 199 || s == http.StatusSwitchingProtocols {
			c.left = 1<<63 - 1
			return res, nil
		}
	}
}

// body is the body of a reply. Once it is read to its end, the connection is reused. Close may be
// called while Read waits.
type body struct {
	reply io.Reader
	conn  *conn
	owner *direct
	whole bool // the connection can be used again after the end

	mu   sync.Mutex
	stop func() bool
	err  error // for reads after the end
}

func (b *body) Read(p []byte) (int, error) {
	if err := b.ended(); err != nil {
		return 0, err
	}
	n, err := b.reply.Read(p)
	if err != nil {
		b.end(err)
	}
	return n, err
}

func (b *body) ended() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Close closes the connection unless the reply was read to its end.
func (b *body) Close() error {
	b.end(http.ErrBodyReadAfterClose)
	return nil
}

// end ends the body once. err is io.EOF if it was read to its end.
func (b *body) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return
	}
	b.err = err
	// If the context has ended, the connection has a deadline in the past.
	if intact := b.stop(); intact && b.whole && err == io.EOF && b.conn.in.Buffered() == 0 { //nolint:errorlint // a wrapped one is an error
		b.owner.keep(b.conn)
		return
	}
	_ = b.conn.Close() // nothing more is read
}
