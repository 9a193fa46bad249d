package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodDiscover    = "server/discover"

	// stateless is the first version of the protocol without initialize: every request names its
	// version.
	stateless = "2026-07-28"
)

// How long a server may take to answer server/discover before initialize is sent too. Some old
// servers on stdio do not answer unknown requests, and a slow server that answers takes both in
// turn. Over HTTP, every request has a response.
const (
	quietPipe = time.Second
	quietHTTP = 15 * time.Second
)

// mostEarly limits the messages that a server sends before a version has been agreed on.
const mostEarly = 1000

// agreement is the version of the protocol that client and server have agreed on, and the method
// with the result that says so.
type agreement struct {
	version, method string
	result          json.RawMessage
}

// negotiate agrees on a version with the server. It asks for the newest one first, with
// server/discover, and for an older one with initialize if the server refuses that or stays quiet:
// the first answer that names a version decides. With old, it only asks for an older one.
//
// The code of the error is CodeConnectionClosed if the connection ended. A server may end it
// because of an unknown request, and answer initialize on another connection.
func (c *connection) negotiate(ctx context.Context, old bool) (agreement, error) {
	h := handshake{connection: c}
	err := h.begin(ctx, old)
	quiet := quietPipe
	if _, ok := c.Connection.(*httpTransport); ok {
		quiet = quietHTTP
	}
	late := time.NewTimer(quiet)
	defer late.Stop()
	for err == nil {
		select {
		case response := <-h.discovered:
			h.discovered = nil
			if version := h.offered(response); version != "" {
				h.discovered, err = h.ask(ctx, methodDiscover, discoverParams(version))
				continue
			}
			if agreed := h.judge(methodDiscover, response); agreed != nil {
				return *agreed, nil
			}
		case response := <-h.initialized:
			h.initialized = nil
			if agreed := h.judge(methodInitialize, response); agreed != nil {
				return *agreed, nil
			}
		case <-late.C:
			err = h.initialize(ctx)
			continue
		case got := <-c.inbound:
			c.early = append(c.early, got.message)
			if err = got.err; err == nil && len(c.early) > mostEarly {
				err = fmt.Errorf("the server sent %d messages before a version of MCP was agreed on", len(c.early))
			}
			continue
		case <-ctx.Done():
			return agreement{}, context.Cause(ctx)
		}
		if h.discovered == nil && h.initialized == nil && h.asked {
			return agreement{}, h.refused()
		}
		err = h.initialize(ctx)
	}
	if ctx.Err() != nil {
		return agreement{}, context.Cause(ctx)
	}
	return agreement{}, &Error{Code: CodeConnectionClosed, Message: err.Error(), Aborted: true}
}

// handshake is a negotiation that has begun.
type handshake struct {
	*connection
	discovered, initialized <-chan *jsonrpc.Response // nil: not asked, or answered
	asked, again            bool                     // initialize, and server/discover a second time
	last                    error                    // of the last response
	refusals                []string
}

func (h *handshake) begin(ctx context.Context, old bool) (err error) {
	if old {
		return h.initialize(ctx)
	}
	h.discovered, err = h.ask(ctx, methodDiscover, discoverParams(newest(false)))
	return err
}

// initialize asks for an older version, once.
func (h *handshake) initialize(ctx context.Context) (err error) {
	if h.asked {
		return nil
	}
	h.asked = true
	h.initialized, err = h.ask(ctx, methodInitialize, initializeParams())
	return err
}

// offered returns the version that a server offers instead of the refused one, once.
func (h *handshake) offered(response *jsonrpc.Response) string {
	rpc, ok := errors.AsType[*jsonrpc.Error](response.Error)
	if !ok || rpc.Code != mcp.CodeUnsupportedProtocolVersion || h.again {
		return ""
	}
	h.again = true
	var data mcp.UnsupportedProtocolVersionData
	_ = json.Unmarshal(rpc.Data, &data) // then it offers none
	for _, version := range mcp.SupportedProtocolVersions() {
		if version >= stateless && slices.Contains(data.Supported, version) {
			return version
		}
	}
	return ""
}

// judge returns the version that a response agrees on, nil if it refuses.
func (h *handshake) judge(method string, response *jsonrpc.Response) *agreement {
	agreed, err := agree(method, response)
	if err == nil {
		return &agreed
	}
	h.last = err
	h.refusals = append(h.refusals, fmt.Sprintf("%s: %s", method, reason(err)))
	return nil
}

// reason returns the code and the message of a JSON-RPC error.
func reason(err error) string {
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return fmt.Sprintf("%d: %s", rpc.Code, rpc.Message)
	}
	return err.Error()
}

// refused is the error if no version is agreed on. A failure outside MCP, such as a missing token,
// is a separate error.
func (h *handshake) refused() error {
	if rpc, ok := errors.AsType[*jsonrpc.Error](h.last); ok && rpc.Code == abortCode {
		return h.last
	}
	return fmt.Errorf("no version of MCP is agreed on: evalctl speaks %s; the server answers %s",
		strings.Join(mcp.SupportedProtocolVersions(), ", "), strings.Join(h.refusals, ", and "))
}

// agree reads the response to a method.
func agree(method string, response *jsonrpc.Response) (agreement, error) {
	if response.Error != nil {
		return agreement{}, response.Error
	}
	var result struct {
		SupportedVersions []string `json:"supportedVersions"`
		ProtocolVersion   string   `json:"protocolVersion"`
	}
	_ = json.Unmarshal(response.Result, &result) // then it names no version
	speaks := result.SupportedVersions
	if method == methodInitialize {
		speaks = []string{result.ProtocolVersion}
	}
	for _, version := range mcp.SupportedProtocolVersions() {
		if slices.Contains(speaks, version) && (version >= stateless) == (method == methodDiscover) {
			return agreement{version, method, response.Result}, nil
		}
	}
	if text := strings.Join(speaks, ", "); text != "" {
		return agreement{}, fmt.Errorf("the server speaks MCP %s", text)
	}
	return agreement{}, errors.New("the reply names no version of MCP")
}

// newest returns the newest version, of those with initialize or of the others.
func newest(initialized bool) string {
	for _, version := range mcp.SupportedProtocolVersions() {
		if (version < stateless) == initialized {
			return version
		}
	}
	return "" // the SDK has given one of the two up
}

// implementation is how the client names itself.
var implementation = &mcp.Implementation{Name: "evalctl", Version: "1"}

func discoverParams(version string) any {
	return map[string]any{"_meta": map[string]any{
		mcp.MetaKeyProtocolVersion: version, mcp.MetaKeyClientInfo: implementation, mcp.MetaKeyClientCapabilities: struct{}{},
	}}
}

func initializeParams() any {
	return map[string]any{"protocolVersion": newest(true), "clientInfo": implementation, "capabilities": struct{}{}}
}
