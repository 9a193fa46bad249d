package mcpserver

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxCalls is how many calls of one client on stdio run at the same time. Further ones wait.
const maxCalls = 32

// endTimeout is how long calls may take once the context has ended. Clients kill a process that
// does not end within a few seconds.
const endTimeout = time.Second

// ServeStdio serves one client, which writes messages to in and reads them from out, one per line.
// It returns nil at the end of in, after it has answered the calls that arrived before, and the
// context's error a few seconds after the context ends. It does not close in. A blocked Read
// continues in the background until it returns, as does a Write to out that the client does not
// read.
//
// The client is the user of this process, so tools may use files and the network of this machine.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	l := newLines(in, out)
	server := s.mcpServer(true, l.settle)
	slots := make(chan struct{}, maxCalls)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/call" {
				select {
				case slots <- struct{}{}:
					defer func() { <-slots }()
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			}
			return next(ctx, method, req)
		}
	})
	session, err := server.Connect(ctx, l, nil)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case <-ctx.Done():
		// The end of the connection cancels the calls.
		defer time.AfterFunc(endTimeout, l.close).Stop()
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			_ = session.Close() // what ended it is known
		}()
		select {
		case <-closed:
		case <-time.After(2 * endTimeout): // the client does not read
		}
		return ctx.Err()
	case err = <-ended:
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}
