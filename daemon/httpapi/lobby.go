package httpapi

import (
	"bufio"
	"bytes"
	"container/list"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"evalctl/internal/admission"
)

// maxLobbyBody is the largest body of a refused request that is read to its end, so that the
// connection can be used further. net/http has the same limit.
const maxLobbyBody = 256 << 10

// lobby has the connections of refused clients, from the refusal to their next request. It sends
// the response when it is due, and passes the connection on to the server once the client sends
// something. Until then a connection takes about 2 KiB and no goroutine, compared with the 24 KiB
// of net/http. A lobby is a net.Listener of the connections that return to the server.
type lobby struct {
	pace    *pace
	metrics *metrics
	// idle is how long a client may take to send its next request; 0 means forever.
	idle    time.Duration
	back    chan *conn
	closing chan struct{}
	stays   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	all    map[*stay]struct{}
	held   map[*admission.Gate]*heldBack
}

// heldBack has the connections whose responses are not due, refused by one gate.
type heldBack struct {
	stays list.List // of *stay, in order of arrival
	check bool      // the gate will be looked at
}

// stay is the stay of one connection in the lobby.
type stay struct {
	conn *conn
	// rest is how much of the body of the request is still to come.
	rest     int64
	response []byte // but for its beginning
	// answered is called with the status of the response.
	answered func(status int)
	gate     *admission.Gate
	due      *time.Timer
	place    *list.Element // in lobby.held; nil: was never there
}

func newLobby(p *pace, m *metrics) *lobby {
	return &lobby{
		pace: p, metrics: m, back: make(chan *conn), closing: make(chan struct{}),
		all: map[*stay]struct{}{}, held: map[*admission.Gate]*heldBack{},
	}
}

// enter takes the connection of a refused request from the server. It reports false if only the
// server itself can respond.
func (l *lobby) enter(r *http.Request, c *conn, gate *admission.Gate, hold, after time.Duration) bool {
	state := requestOf(r)
	hijacker, ok := state.response.ResponseWriter.(http.Hijacker) // a request through Local cannot be hijacked
	if !ok || !r.ProtoAtLeast(1, 1) || r.Close || r.ContentLength < 0 || r.ContentLength > maxLobbyBody || r.Header.Get("Expect") != "" {
		return false
	}
	if !l.expect() {
		return false
	}
	_, buffered, err := hijacker.Hijack()
	if err != nil {
		l.stays.Done()
		return false
	}
	now := time.Now()
	state.response.begin(http.StatusServiceUnavailable)
	state.response.bytes = int64(len(refusalBody))
	state.elsewhere = true
	route, method := labelsOf(r)
	s := &stay{
		conn: c, gate: gate, response: refusal(r, state.response.Header(), after),
		answered: func(status int) { l.metrics.observe(route, method, status, time.Since(now)) },
	}
	s.rest = c.takeBack(buffered.Reader, r.ContentLength)
	l.hold(s, hold)
	return true
}

// expect counts a stay. It reports false if the lobby is closed.
func (l *lobby) expect() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.stays.Add(1)
	}
	return !l.closed
}

// takeBack returns to the connection the bytes that the server has read beyond the request. rest is
// the unread part of the request's body.
func (c *conn) takeBack(from *bufio.Reader, body int64) (rest int64) {
	c.serving.Store(false)
	n, _ := from.Discard(int(min(body, int64(from.Buffered())))) // is buffered, so it cannot fail
	if more := from.Buffered(); more > 0 {
		early, _ := from.Peek(more)
		c.early = bytes.Clone(early)
	}
	return body - int64(n)
}

// hold has the response of a connection sent after some time.
func (l *lobby) hold(s *stay, hold time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[s] = struct{}{}
	if hold == 0 || l.closed {
		go l.accommodate(s)
		return
	}
	s.due = time.AfterFunc(hold, func() { l.accommodate(s) })
	if l.held[s.gate] == nil {
		l.held[s.gate] = &heldBack{}
	}
	s.place = l.held[s.gate].stays.PushBack(s)
}

// hurry has a response sent at once. Called with mu held.
func (l *lobby) hurry(s *stay) {
	if s.due != nil && s.due.Stop() {
		go l.accommodate(s)
	}
}

// accommodate responds to a client, and waits until it sends its next request or leaves.
func (l *lobby) accommodate(s *stay) {
	defer l.stays.Done()
	l.mu.Lock()
	if s.place != nil {
		l.held[s.gate].stays.Remove(s.place)
	}
	l.mu.Unlock()
	returns := !l.left(s) && l.respond(s) && l.next(s)
	l.mu.Lock()
	delete(l.all, s)
	l.mu.Unlock()
	if returns {
		select {
		case l.back <- s.conn:
			return
		case <-l.closing:
		}
	}
	_ = s.conn.Close() // the client has left, or the daemon stops
}

// left reports whether a client has not waited for a response that was held back.
func (l *lobby) left(s *stay) bool {
	if s.place == nil {
		return false
	}
	left := hasClosed(s.conn.Conn)
	l.pace.held(!left)
	if left {
		s.answered(statusClientGone)
	}
	return left
}

// respond sends the response.
func (l *lobby) respond(s *stay) bool {
	now, limit := time.Now(), frameTimeout
	l.mu.Lock()
	if l.closed {
		limit = lastFrameTimeout
	}
	_ = s.conn.SetDeadline(now.Add(limit)) // if the connection is closed, what follows fails
	l.mu.Unlock()
	defer func() { _ = s.conn.SetDeadline(time.Time{}) }()
	if s.rest > 0 {
		if _, err := io.CopyN(io.Discard, s.conn.Conn, s.rest); err != nil {
			return false
		}
	}
	response := make([]byte, 0, len(s.response)+80)
	response = append(response, "HTTP/1.1 503 Service Unavailable\r\nDate: "...)
	response = now.UTC().AppendFormat(response, http.TimeFormat)
	response = append(append(response, "\r\n"...), s.response...)
	_, err := s.conn.Conn.Write(response)
	s.answered(http.StatusServiceUnavailable)
	s.response, s.answered = nil, nil
	return err == nil
}

// next waits for the next request. It reports false if there is none.
func (l *lobby) next(s *stay) bool {
	if len(s.conn.early) > 0 {
		return true
	}
	l.mu.Lock()
	switch {
	case l.closed:
		_ = s.conn.SetReadDeadline(past)
	case l.idle > 0:
		_ = s.conn.SetReadDeadline(time.Now().Add(l.idle))
	}
	l.mu.Unlock()
	var b [1]byte
	n, _ := s.conn.Conn.Read(b[:]) // with an error, the client has left, or is silent for too long
	s.conn.early = b[:n]
	return n > 0
}

// instant is how long a gate may have no work although there are clients enough.
const instant = 5 * time.Millisecond

// past is the deadline of a read that must end.
var past = time.Unix(1, 0)

// relieve responds earlier to clients that wait for a refusal by the gate, if the gate has been
// idle for longer than an instant. The longest wait is the first to end.
func (l *lobby) relieve(gate *admission.Gate) {
	if !gate.Idle() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.held[gate]
	if held == nil || held.check || held.stays.Len() == 0 {
		return
	}
	held.check = true
	time.AfterFunc(instant, func() {
		l.mu.Lock()
		held.check = false
		first := held.stays.Front()
		if idle := gate.Idle(); first != nil && idle {
			l.hurry(first.Value.(*stay))
		}
		l.mu.Unlock()
		l.relieve(gate)
	})
}

// count returns how many connections are here.
func (l *lobby) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// Accept returns a connection whose client has sent something after a refusal.
func (l *lobby) Accept() (net.Conn, error) {
	select {
	case c := <-l.back:
		return c, nil
	case <-l.closing:
		return nil, net.ErrClosed
	}
}

// Close sends the responses that are not due yet, and closes the connections. Further calls do
// nothing.
func (l *lobby) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	close(l.closing)
	for s := range l.all {
		_ = s.conn.SetReadDeadline(past)
		l.hurry(s)
	}
	return nil
}

// Addr implements net.Listener.
func (l *lobby) Addr() net.Addr { return &net.TCPAddr{} }
