package mcpclient

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/internal/retry"
)

const methodCancelled = "notifications/cancelled"

// How long a server may take to end a cancelled call before its HTTP request is closed. The end of
// the connection closes it after closeTimeout. The first notification is repeated after cancelWait,
// and each further one after twice the time.
const (
	cancelTimeout = 10 * time.Second
	cancelWait    = 20 * time.Millisecond
)

// cancelWith returns the context of a call's HTTP request. When asked or the connection ends, the
// server is asked to cancel the call, and the context ends if it does not. end must be called when
// the request has ended.
//
// In old versions, the end of the HTTP request is not a cancellation: a server goes on with a call
// whose connection is gone.
func (t *httpTransport) cancelWith(
	asked context.Context, call *jsonrpc.Request,
) (ctx context.Context, end func()) {
	ctx, stop := context.WithCancel(context.WithoutCancel(asked))
	var cancelling sync.WaitGroup
	cancelling.Go(func() {
		select {
		case <-ctx.Done():
			return
		case <-asked.Done():
		case <-t.open.Done():
		}
		// initialize must not be cancelled, and from 2026-07-28 on the end of a request cancels it.
		if call.Method != methodInitialize && versionOf(call) == "" {
			t.cancel(ctx, call.ID)
		}
		stop()
	})
	return ctx, func() {
		stop()
		cancelling.Wait()
	}
}

// cancel notifies the server that a call is cancelled, until ctx, the context of the call's HTTP
// request, or the time ends. A single notification may overtake the call, and a server ignores a
// notification about an unknown call.
func (t *httpTransport) cancel(ctx context.Context, id jsonrpc.ID) {
	ctx, stop := context.WithTimeout(ctx, cancelTimeout)
	defer stop()
	defer context.AfterFunc(t.open, func() { time.AfterFunc(closeTimeout, stop) })()
	params, _ := json.Marshal(mcp.CancelledParams{RequestID: id.Raw()}) // a text or a number: cannot fail
	notification := &jsonrpc.Request{Method: methodCancelled, Params: params}
	data, _ := jsonrpc.EncodeMessage(notification)
	for wait := cancelWait; ; wait *= 2 {
		if res, err := t.post(ctx, notification, data); err == nil { // a server need not support it
			res.Body.Close()
		}
		if retry.Sleep(ctx, wait) != nil {
			return
		}
	}
}
