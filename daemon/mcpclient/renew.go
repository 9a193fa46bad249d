package mcpclient

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"evalctl/internal/verbatim"
)

// renew begins a new session after the server has ended one, which it may do at any time. The
// new session is begun with the messages that began the first one.
func (t *httpTransport) renew(ctx context.Context, ended string) error {
	t.renewing.Lock()
	defer t.renewing.Unlock()
	if t.SessionID() != ended {
		return nil // another call has renewed it
	}
	fresh := &httpTransport{url: t.url, token: t.token, client: t.client, incoming: make(chan jsonrpc.Message)}
	fresh.open, fresh.stop = context.WithCancel(ctx)
	defer fresh.stop()
	go func() { // nobody waits for these messages
		for {
			if _, err := fresh.Read(fresh.open); err != nil {
				return
			}
		}
	}()
	t.mu.Lock()
	opening := t.opening
	t.mu.Unlock()
	for _, msg := range opening {
		data, err := jsonrpc.EncodeMessage(msg)
		if err != nil {
			return err
		}
		if err := fresh.replay(ctx, msg, verbatim.Outgoing(data)); err != nil {
			return err
		}
	}
	t.mu.Lock()
	same := fresh.session != "" && fresh.version == t.version
	if same {
		t.session = fresh.session
	}
	t.mu.Unlock()
	if !same {
		return errors.New("the server has ended the session, and does not begin another")
	}
	if t.renewed != nil {
		t.renewed()
	}
	return nil
}

// replay sends a message and waits for its response.
func (t *httpTransport) replay(ctx context.Context, msg *jsonrpc.Request, data []byte) error {
	if msg.IsCall() {
		return t.call(ctx, msg, data)
	}
	res, err := t.post(ctx, msg, data)
	if err == nil {
		res.Body.Close()
	}
	return err
}
