package postgrestest

import "bytes"

// Fault is what happens to a message of a client, see Proxy.CutAt. In each case the client's
// connection is reset.
type Fault int

// The faults.
const (
	Lost      Fault = iota // the server does not get the message
	Forwarded              // the server gets the message, and the connection ends at once
	Answered               // the server gets and answers the message, and the client gets no answer
	Delayed                // the server gets and answers the message during Deliver
	Outage                 // like Answered, and afterwards the proxy is as after Cut
)

// cut is a fault that was set.
type cut struct {
	marker          []byte
	fault           Fault
	hit             chan struct{} // closed when the client has been cut off
	late, delivered chan struct{} // of Delayed
}

// CutAt sets a fault for the next message of a client that contains a marker, which must be short
// enough to arrive in one piece. Other connections, and those that are opened afterwards, work. hit
// is closed when it has happened.
func (p *Proxy) CutAt(marker string, fault Fault) (hit <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = &cut{
		marker: []byte(marker), fault: fault, hit: make(chan struct{}),
		late: make(chan struct{}), delivered: make(chan struct{}),
	}
	if fault == Delayed {
		p.delayed = p.cut
	}
	return p.cut.hit
}

// Deliver passes on the message of the Delayed fault that was set last, which must have happened,
// and returns when the server has answered it.
func (p *Proxy) Deliver() {
	p.mu.Lock()
	c := p.delayed
	p.mu.Unlock()
	close(c.late)
	<-c.delivered
}

// match returns the fault of a message, which happens only once.
func (p *Proxy) match(message []byte) *cut {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.cut
	if c == nil || !bytes.Contains(message, c.marker) {
		return nil
	}
	p.cut = nil
	return c
}

// cutOff lets a fault happen to a message. The link to the server is not reset, which could discard
// the message there.
func (p *Proxy) cutOff(l *link, c *cut, message []byte) {
	l.muted.Store(true)
	if c.fault == Delayed {
		reset(l.client)
		close(c.hit)
		select {
		case <-c.late:
		case <-p.closing:
			return
		}
	}
	if c.fault != Lost {
		_, _ = l.server.Write(message) // the test sees whether it had an effect
	}
	if c.fault != Lost && c.fault != Forwarded {
		<-l.answered
	}
	if c.fault == Outage {
		p.Cut()
	}
	reset(l.client)
	_ = l.server.CloseWrite()
	if c.fault == Delayed {
		close(c.delivered)
	} else {
		close(c.hit)
	}
}
