package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/daemon/protocol"
	"evalctl/internal/httpclient"
	"evalctl/internal/intake"
	"evalctl/internal/sse"
	"evalctl/internal/verbatim"
)

// oldTransport are the statuses with which servers of the transport of version 2024-11-05 answer a
// POST to their URL: there, a GET opens a stream of events, and the first one names the URL for
// messages.
var oldTransport = []int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed}

// eventTransport is that old transport. All messages of the server come on one stream.
type eventTransport struct {
	*httpTransport // posts to the URL for messages
}

// connectOld connects to a server of the old transport.
func connectOld(ctx context.Context, target string, opts Options) (*Client, error) {
	t, err := newHTTPTransport(target, opts)
	if err != nil {
		return nil, err
	}
	return open(ctx, &eventTransport{t}, true, t.close)
}

// Connect implements mcp.Transport. It waits for the first event.
func (t *eventTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	defer context.AfterFunc(ctx, t.stop)()
	req, err := t.request(t.open, http.MethodGet, nil, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", protocol.TypeEvents)
	res, err := t.client.Do(req)
	if err != nil {
		return nil, httpclient.Cause(ctx, err)
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, statusError(res, beginningOf(res))
	}
	events := sse.NewReader(res.Body, maxMessage)
	first, err := events.Next()
	if err == nil && first.Name != "endpoint" {
		err = fmt.Errorf("the first event is %.40q, not the endpoint", first.Name)
	}
	if err == nil {
		t.url, err = sameOrigin(t.url, string(first.Data))
	}
	if err != nil {
		res.Body.Close()
		return nil, err
	}
	t.reading.Go(func() {
		defer t.stop() // calls without a reply fail
		defer res.Body.Close()
		_ = t.follow(events) // the end of the stream is the end of the connection
	})
	return t, nil
}

// sameOrigin returns the URL that a server names, which gets the token of the server's URL.
func sameOrigin(server, named string) (string, error) {
	base, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	u, err := base.Parse(named)
	if err != nil {
		return "", fmt.Errorf("the endpoint of the server: %w", err)
	}
	if u.Scheme != base.Scheme || u.Host != base.Host {
		return "", fmt.Errorf("the server names the endpoint %.200q, which is not of the same host", u.Redacted())
	}
	return u.String(), nil
}

// follow delivers the messages of the stream.
func (t *eventTransport) follow(events *sse.Reader) error {
	ctx, hold := intake.Begin(t.open)
	defer hold.End()
	for {
		event, err := events.Next()
		if err != nil {
			return err
		}
		if event.Name != "message" || len(event.Data) == 0 {
			continue
		}
		if err := hold.Draw(ctx, int64(len(event.Data))); err != nil {
			return err
		}
		data := event.Data
		if problem := admit(ctx, data); problem != nil {
			if data = refusal(data, problem); data == nil {
				return problem
			}
		}
		msg, err := jsonrpc.DecodeMessage(verbatim.Incoming(data))
		if err != nil {
			return fmt.Errorf("the server sent data that is not an MCP message: %w", err)
		}
		t.deliver(msg)
		hold.Return()
	}
}

// Write implements mcp.Connection.
func (t *eventTransport) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	res, err := t.post(ctx, msg, verbatim.Outgoing(data))
	if err == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection is used again
		return res.Body.Close()
	}
	if call, ok := msg.(*jsonrpc.Request); ok && call.IsCall() && ctx.Err() == nil {
		e, ok := errors.AsType[*Error](err)
		if !ok {
			e = &Error{Code: CodeConnectionClosed, Message: err.Error()}
		}
		t.deliver(abort(call.ID, *e))
		return nil
	}
	return err
}
