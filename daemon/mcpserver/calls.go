package mcpserver

import (
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// calls are the calls of a connection that have no response yet. It is safe for concurrent use.
type calls struct {
	mu      sync.Mutex
	open    map[jsonrpc.ID]*openCall
	writing int           // responses that are no longer open and not yet written
	idle    chan struct{} // closed when there is nothing of either; nil until somebody waits
}

// openCall is one of calls.
type openCall struct {
	method    string
	cancelled bool
}

// begin records a call, and reports whether its id is free.
func (c *calls) begin(call *jsonrpc.Request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[call.ID] != nil {
		return false
	}
	c.open[call.ID] = &openCall{method: call.Method}
	return true
}

// cancel suppresses the response to a call. It reports whether there is such a call. Clients must
// not cancel initialize.
func (c *calls) cancel(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.open[id]
	if call == nil || call.method == methodInitialize {
		return false
	}
	call.cancelled = true
	return true
}

// end returns the bytes to write for the response to a call: the response or, if the call was
// cancelled, nothing. The caller must call written afterwards. A response without a call is written
// unchanged.
func (c *calls) end(id jsonrpc.ID, response []byte) (out []byte, method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing++
	call := c.open[id]
	if call == nil {
		return response, ""
	}
	delete(c.open, id)
	if call.cancelled {
		response = nil
	}
	return response, call.method
}

// written is called after the result of end has been written.
func (c *calls) written() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing--
	c.checkIdle()
}

// wait returns a channel that is closed when every call has its response.
func (c *calls) wait() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle == nil {
		c.idle = make(chan struct{})
		defer c.checkIdle()
	}
	return c.idle
}

func (c *calls) checkIdle() {
	if c.idle != nil && len(c.open)+c.writing == 0 {
		select {
		case <-c.idle:
		default:
			close(c.idle)
		}
	}
}
