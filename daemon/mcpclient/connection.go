package mcpclient

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// closeTimeout is how long Close waits until answers to requests of the server are written.
const closeTimeout = time.Second

// connection is an open connection, as a transport. Its notifications of progress go to a watch, in
// the order of the connection: the SDK would deliver them in the background, possibly after the
// reply. It also sends requests that the SDK does not know, to agree on a version of the protocol.
// The SDK gets their result as the reply to its own request.
type connection struct {
	mcp.Connection
	watch *watch

	inbound chan inboundMessage
	closed  chan struct{}
	close   func() error
	early   []jsonrpc.Message // received while a version was negotiated; later only for Read
	replay  chan jsonrpc.Message
	agreed  agreement

	mu    sync.Mutex
	asked int64
	own   map[jsonrpc.ID]chan *jsonrpc.Response // requests of its own without a response
}

// inboundMessage is a message, or why there are no more.
type inboundMessage struct {
	message jsonrpc.Message
	err     error
}

func newConnection(opened mcp.Connection) *connection {
	c := &connection{
		Connection: opened, watch: &watch{open: map[string]*progress{}},
		inbound: make(chan inboundMessage), closed: make(chan struct{}), replay: make(chan jsonrpc.Message, 1),
		own: map[jsonrpc.ID]chan *jsonrpc.Response{},
	}
	c.close = sync.OnceValue(func() error {
		close(c.closed)
		return c.Connection.Close()
	})
	go c.receive()
	return c
}

// receive reads until the connection ends.
func (c *connection) receive() {
	for {
		msg, err := c.Connection.Read(context.Background())
		if err == nil && c.take(msg) {
			continue
		}
		select {
		case c.inbound <- inboundMessage{msg, err}:
		case <-c.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// take takes a notification of progress, or the response to a request of the connection's own.
func (c *connection) take(msg jsonrpc.Message) bool {
	switch msg := msg.(type) {
	case *jsonrpc.Request:
		if msg.Method != "notifications/progress" {
			return false
		}
		c.watch.notify(msg.Params)
		return true
	case *jsonrpc.Response:
		c.mu.Lock()
		defer c.mu.Unlock()
		waiting := c.own[msg.ID]
		if waiting != nil {
			delete(c.own, msg.ID)
			waiting <- msg
		}
		return waiting != nil
	}
	return false
}

// firstID is the first id of the connection's own requests. The SDK counts from 1.
const firstID = 1 << 30

// ask sends a request of the connection's own. The response arrives on the channel.
func (c *connection) ask(ctx context.Context, method string, params any) (<-chan *jsonrpc.Response, error) {
	data, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	response := make(chan *jsonrpc.Response, 1)
	c.mu.Lock()
	id, err := jsonrpc.MakeID(float64(firstID + c.asked))
	c.asked++
	c.own[id] = response
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return response, c.write(ctx, &jsonrpc.Request{ID: id, Method: method, Params: data})
}

// Connect implements mcp.Transport.
func (c *connection) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// Close implements mcp.Connection.
func (c *connection) Close() error { return c.close() }

// Read implements mcp.Connection.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	if len(c.early) > 0 {
		msg := c.early[0]
		c.early = c.early[1:]
		return msg, nil
	}
	select {
	case msg := <-c.replay:
		return msg, nil
	case got := <-c.inbound:
		return got.message, got.err
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements mcp.Connection. The SDK's request for a version has its reply already.
func (c *connection) Write(ctx context.Context, msg jsonrpc.Message) error {
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() && req.Method == c.agreed.method {
		c.replay <- &jsonrpc.Response{ID: req.ID, Result: c.agreed.result}
		return nil
	}
	return c.write(ctx, msg)
}

// write writes a message. A server that does not read its input cannot make it outlast ctx. The
// rest of the message is then written in the background, because a part of it may be written.
func (c *connection) write(ctx context.Context, msg jsonrpc.Message) error {
	written := make(chan error, 1)
	go func() { written <- c.Connection.Write(ctx, msg) }()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// closeAfter closes the connection after a time, unless stop is called. The SDK closes it only once
// each request of the server has its answer, which a server may never read.
func (c *connection) closeAfter(wait time.Duration) (stop func() bool) {
	return time.AfterFunc(wait, func() { _ = c.Close() }).Stop
}
