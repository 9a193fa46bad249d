package mcpserver

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// settleTime is how long a reply waits for a client that does not answer a ping, once.
	settleTime = 2 * time.Second
	// stateless is the first version of the protocol without initialize, in which a server sends no
	// ping.
	stateless = "2026-07-28"
)

// pings are the pings that settle has sent. They are guarded by lines.mu.
type pings struct {
	sent int
	open map[jsonrpc.ID]chan struct{}
	deaf bool // the client did not answer the last one in time
}

// settle waits until the client has passed on earlier notifications. The official TypeScript client
// passes on a reply at once, but a notification later than it has read it. It forgets the purpose
// of a call's progress when it has the reply. So progress that it reads together with the reply is
// lost. Like every client that works in order, it answers a ping after it has passed on earlier
// messages.
//
// settle does not wait for a client that cannot answer, because its output has ended or its version
// of the protocol has no ping. It does not wait again for a client that did not answer in time.
func (l *lines) settle(ctx context.Context) {
	l.mu.Lock()
	if l.version == "" || l.version >= stateless || l.pings.deaf {
		l.mu.Unlock()
		return
	}
	l.pings.sent++
	// A text, unlike the ids that clients use, so that nobody takes the ping for a reply.
	id, _ := jsonrpc.MakeID(fmt.Sprintf("settle-%d", l.pings.sent)) // a string: cannot fail
	answered := make(chan struct{})
	l.pings.open[id] = answered
	l.mu.Unlock()
	if l.Write(ctx, &jsonrpc.Request{ID: id, Method: "ping"}) != nil {
		return // the reply will not be written either
	}
	late := time.NewTimer(l.settleTime)
	defer late.Stop()
	select {
	case <-answered:
	case <-ctx.Done():
	case <-l.ended:
	case <-l.closed:
	case <-late.C:
		l.mu.Lock()
		l.pings.deaf = l.pings.open[id] != nil
		l.mu.Unlock()
	}
}

// settled reports whether a response answers a ping of settle.
func (l *lines) settled(res *jsonrpc.Response) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	answered := l.pings.open[res.ID]
	if answered == nil {
		return false
	}
	delete(l.pings.open, res.ID)
	close(answered)
	l.pings.deaf = false
	return true
}
