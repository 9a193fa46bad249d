package mcpclient

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// closeTimeout is how long Close waits until answers to requests of the server are written.
const closeTimeout = time.Second

// connection is a connection that is open, as a transport. Its notifications of progress go to a
// watch, in the order of the connection: the SDK would deliver them in the background, possibly
// after the reply.
type connection struct {
	mcp.Connection
	watch *watch
}

// Connect implements mcp.Transport.
func (c *connection) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// Read implements mcp.Connection.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := c.Connection.Read(ctx)
		req, ok := msg.(*jsonrpc.Request)
		if err == nil && ok && req.Method == "notifications/progress" {
			c.watch.notify(req.Params)
			continue
		}
		return msg, err
	}
}

// Write implements mcp.Connection. Without it, a message to a server that does not read its input
// would outlast ctx. Its rest is written in the background, because a part of it may be written.
func (c *connection) Write(ctx context.Context, msg jsonrpc.Message) error {
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
// each request of the server has its answer, which a server may never take.
func (c *connection) closeAfter(wait time.Duration) (stop func() bool) {
	return time.AfterFunc(wait, func() { _ = c.Close() }).Stop
}
