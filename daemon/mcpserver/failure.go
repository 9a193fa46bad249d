package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
)

// toolError is a failure of a tool with its code (spec 7.3). Retryable means that the daemon asks to
// try again later.
type toolError struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable,omitempty"`
}

func (e *toolError) Error() string {
	if strings.HasPrefix(e.Message, e.Code+": ") {
		return e.Message
	}
	return e.Code + ": " + e.Message
}

// streamError is the failure of an answer that had begun (spec 6.4).
type streamError struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

func (e *streamError) Error() string { return e.Code + ": " + e.Message }

// failure is the result of a failed call. Clients read the code of a streamError from the text,
// because the specification gives it no other content.
func failure(err error) *mcp.CallToolResult {
	if stream, ok := errors.AsType[*streamError](err); ok {
		text, _ := json.Marshal(stream) // strings and a boolean: cannot fail
		return &mcp.CallToolResult{
			IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: string(text)}},
		}
	}
	e := toolErrorOf(err)
	return &mcp.CallToolResult{
		IsError:           true,
		Content:           []mcp.Content{&mcp.TextContent{Text: e.Error()}},
		StructuredContent: e,
	}
}

// toolErrorOf gives an error a code. An error of the daemon keeps the daemon's.
func toolErrorOf(err error) *toolError {
	if e, ok := errors.AsType[*toolError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		why := cmp.Or(e.Problem.Detail, e.Problem.Title, http.StatusText(e.Status), "no reason given")
		return &toolError{Code: client.Code(err), Message: why, Retryable: e.RetryAfter > 0}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &toolError{Code: protocol.CodeTimeout, Message: err.Error()}
	}
	return &toolError{Code: protocol.CodeBadGateway, Message: "the daemon gave no usable answer: " + err.Error()}
}
