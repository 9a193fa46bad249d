// Package mcpclient calls the tools of a server of the Model Context Protocol, which it starts as a
// command or reaches at a URL. It keeps the client's side of the rules of progress (spec 6.4).
package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMessage limits one message of the server, in bytes.
const maxMessage = 64 << 20

// Options of a Client. The zero value is usable.
type Options struct {
	// Token is sent to a URL as the bearer token. It is not given to a command, which has the
	// environment of this process.
	Token string
	// Env are variables of a command's environment, each as NAME=value, in addition to those that
	// every program gets (see package environ).
	Env []string
	// Stderr receives the standard error of a command. Nil discards it.
	Stderr io.Writer
	// HTTPClient sends the requests to a URL; its Timeout and CheckRedirect are not used. Default: a
	// client with connections of its own.
	HTTPClient *http.Client
	// Renewed, if not nil, is called when a session at a URL was replaced by a new one because the
	// server had ended it.
	Renewed func()
}

// Client is a connection to a server. It is safe for concurrent use.
type Client struct {
	session    *mcp.ClientSession
	connection *connection
	calls      atomic.Int64
	end        func() error // after the session has been closed
}

// Connect starts or reaches a server and initializes the connection. The target is the URL of
// streamable HTTP, or "stdio:" and a command with its arguments, quoted as for a POSIX shell, which
// is not used. The caller must Close the client.
//
// The context limits Connect, and has no effect on the connection afterwards.
func Connect(ctx context.Context, target string, opts Options) (*Client, error) {
	c, err := connect(ctx, target, opts)
	if err != nil {
		return nil, fmt.Errorf("connect to the MCP server: %w", err)
	}
	return c, nil
}

func connect(ctx context.Context, target string, opts Options) (*Client, error) {
	if command, ok := strings.CutPrefix(target, "stdio:"); ok {
		c, err := connectProcess(ctx, command, opts, false)
		if Ended(err) && ctx.Err() == nil {
			c, err = connectProcess(ctx, command, opts, true)
		}
		return c, err
	}
	t, err := newHTTPTransport(target, opts)
	if err != nil {
		return nil, err
	}
	c, err := open(ctx, t, false, t.close)
	if e, ok := errors.AsType[*Error](err); ok && slices.Contains(oldTransport, e.Status) && ctx.Err() == nil {
		if old, oldErr := connectOld(ctx, target, opts); oldErr == nil {
			return old, nil
		}
	}
	return c, err
}

// Ended reports whether an error of Pipe is the end of the connection before a version of the
// protocol was agreed on. Some old servers end when they do not know a request: another process may
// be asked for an old version at once. Connect does so itself.
func Ended(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == CodeConnectionClosed
}

func connectProcess(ctx context.Context, command string, opts Options, old bool) (*Client, error) {
	p, err := startProcess(ctx, command, opts)
	if err != nil {
		return nil, err
	}
	t, stop := p.transport()
	return open(ctx, t, old, func() error { stop(); return p.wait() })
}

// New returns a client on any transport of the SDK.
func New(ctx context.Context, t mcp.Transport) (*Client, error) {
	return open(ctx, t, false, func() error { return nil })
}

// open agrees on a version of the protocol and begins a session. With old, it asks only for an old
// version.
func open(ctx context.Context, t mcp.Transport, old bool, end func() error) (*Client, error) {
	opened, err := t.Connect(ctx)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	conn := newConnection(opened)
	connected := context.AfterFunc(ctx, func() { conn.closeAfter(closeTimeout) })
	session, err := conn.session(ctx, old)
	connected()
	if err != nil {
		_ = conn.Close() // the error says why
		if stopErr := end(); stopErr != nil {
			return nil, fmt.Errorf("%w (%w)", err, stopErr)
		}
		return nil, err
	}
	return &Client{session: session, connection: conn, end: end}, nil
}

// session agrees on a version of the protocol, and begins a session of the SDK with it.
func (c *connection) session(ctx context.Context, old bool) (*mcp.ClientSession, error) {
	var err error
	if c.agreed, err = c.negotiate(ctx, old); err != nil {
		if _, ok := errors.AsType[*jsonrpc.Error](err); ok {
			err = callError(ctx, err)
		}
		return nil, err
	}
	client := mcp.NewClient(implementation, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	if err := mcp.AddSendingCustomMethod[*mcp.CallToolParams, *rawResult](client, methodRawCall); err != nil {
		return nil, err
	}
	session, err := client.Connect(ctx, c, &mcp.ClientSessionOptions{ProtocolVersion: c.agreed.version})
	if err != nil {
		return nil, callError(ctx, err)
	}
	return session, nil
}

// Close ends the connection. It closes the standard input of a command and waits for its end. A
// command that has not ended after some seconds is killed, which is an error.
func (c *Client) Close() error {
	defer c.connection.closeAfter(closeTimeout)()
	err := c.session.Close()
	if endErr := c.end(); endErr != nil {
		return endErr
	}
	return err
}

// Server returns the name and the version that the server reports, and the version of the protocol.
func (c *Client) Server() (name, version, protocol string) {
	init := c.session.InitializeResult()
	info := cmp.Or(init.ServerInfo, &mcp.Implementation{})
	return info.Name, info.Version, init.ProtocolVersion
}

// Tool is a tool as the server lists it. InputSchema and Annotations are JSON objects; Annotations
// may be null.
type Tool struct {
	Name, Description string
	InputSchema       json.RawMessage
	Annotations       json.RawMessage
}

// Tools lists the tools, in the server's order. More than 1,000, and a name of more than 256 bytes,
// are errors.
func (c *Client) Tools(ctx context.Context) ([]Tool, error) {
	var all []Tool
	for tool, err := range c.listed(ctx) {
		if err != nil {
			return nil, err
		}
		if err := checkTool(len(all), tool.Name); err != nil {
			return nil, err
		}
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", tool.Name, err)
		}
		annotations, err := json.Marshal(tool.Annotations)
		if err != nil {
			return nil, fmt.Errorf("annotations of %s: %w", tool.Name, err)
		}
		all = append(all, Tool{tool.Name, tool.Description, schema, annotations})
	}
	return all, nil
}

// listed yields the tools of all pages.
func (c *Client) listed(ctx context.Context) iter.Seq2[*mcp.Tool, error] {
	return func(yield func(*mcp.Tool, error) bool) {
		params := &mcp.ListToolsParams{}
		for range maxTools { // pages, which may be empty
			page, err := c.session.ListTools(ctx, params)
			if err != nil {
				yield(nil, callError(ctx, err))
				return
			}
			for _, tool := range page.Tools {
				if !yield(tool, nil) {
					return
				}
			}
			if params.Cursor = page.NextCursor; params.Cursor == "" {
				return
			}
		}
		yield(nil, fmt.Errorf("the list of tools has more than %d pages", maxTools))
	}
}

// Ping returns an error unless the server answers a ping, or server/discover if its version of the
// protocol has no ping.
func (c *Client) Ping(ctx context.Context) error {
	if c.connection.agreed.version < stateless {
		if err := c.session.Ping(ctx, nil); err != nil {
			return callError(ctx, err)
		}
		return nil
	}
	response, err := c.connection.ask(ctx, methodDiscover, discoverParams(c.connection.agreed.version))
	if err != nil {
		return callError(ctx, err)
	}
	select {
	case r := <-response:
		if r.Error != nil {
			return callError(ctx, r.Error)
		}
		return nil
	case <-c.connection.closed:
		return callError(ctx, io.EOF)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
