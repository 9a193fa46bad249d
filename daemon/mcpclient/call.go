package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Result is the reply to a call.
type Result struct {
	// Text is the text of the first text content, and Texts has all of them.
	Text  string
	Texts []string
	// Structured is the structured content, nil if there is none.
	Structured json.RawMessage
	// Failure is set if the tool reports an error.
	Failure *Failure
}

// Failure is an error that a tool reports (spec 6.4 and 7.3). It is read from the structured
// content, else from the text. The code is empty if neither has one; the message then is the text.
type Failure struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

// Codes of an Error that no server gave.
const (
	CodeConnectionClosed = "connection_closed"
	CodeProgress         = "invalid_progress"
	CodeRefused          = "reply_refused"
	CodeMalformed        = "malformed_result" // of another form than the protocol's
)

// Error is a call without a valid result.
type Error struct {
	// Code is the server's code, verbatim: the code of a problem body, or of the data of a JSON-RPC
	// error, else the number of the error. Without one it is one of the constants.
	Code    string
	Message string
	// Aborted reports that no reply arrived. The tool may or may not have done its work.
	Aborted bool
	// Status is the status of an HTTP response outside 2xx, else 0. RetryAfter is the wait that this
	// response asks for, 0 for none.
	Status     int
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	if e.Aborted {
		return fmt.Sprintf("the call was aborted: %s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("the call failed: %s: %s", e.Code, e.Message)
}

// Call calls a tool. Args is anything that JSON encodes as an object, or nil. Progress may be nil.
// Otherwise the call has a progress token, and progress is called with each notification as it
// arrives, before Call returns and never concurrently for one call. It must not block for long,
// because it blocks the connection. A tool may send none.
//
// An error that the tool reports is Result.Failure. Call returns an *Error if there is no reply,
// for a JSON-RPC error, or, with the Result, if the notifications break a rule of spec 6.4. If the
// context ends, it returns the cause and notifies the server.
func (c *Client) Call(
	ctx context.Context, name string, args any, progress func(Progress),
) (Result, error) {
	if progress == nil {
		return c.call(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	}
	token := "call-" + strconv.FormatInt(c.calls.Add(1), 10)
	return c.CallToken(ctx, name, args, token, progress)
}

// CallToken is Call with a progress token of the caller's choice, a string or an integer. It must
// differ from the tokens of other calls.
func (c *Client) CallToken(
	ctx context.Context, name string, args, token any, progress func(Progress),
) (Result, error) {
	params := &mcp.CallToolParams{Name: name, Arguments: args}
	params.SetProgressToken(token)
	raw, err := json.Marshal(token)
	if err != nil {
		return Result{}, err
	}
	p := c.connection.watch.add(string(raw), progress)
	result, err := c.call(ctx, params)
	if violation := c.connection.watch.remove(string(raw), p); err == nil && violation != "" {
		err = &Error{Code: CodeProgress, Message: violation}
	}
	return result, err
}

func (c *Client) call(ctx context.Context, params *mcp.CallToolParams) (Result, error) {
	if params.Arguments == nil {
		params.Arguments = struct{}{}
	}
	reply, err := mcp.CallCustomMethod[*mcp.CallToolParams, *rawResult](ctx, c.session, methodRawCall, params)
	if err != nil {
		return Result{}, callError(ctx, err)
	}
	return resultOf(reply.text)
}

func failureOf(r Result) *Failure {
	for _, data := range [][]byte{r.Structured, []byte(r.Text)} {
		var f Failure
		if json.Unmarshal(data, &f) == nil && f.Code != "" {
			return &f
		}
	}
	return &Failure{Message: cmp.Or(strings.Join(r.Texts, "\n"), "it gives no reason")}
}

// abortCode is the code of the JSON-RPC errors that a transport of this package makes for calls
// without a reply. Their data is an Error.
const abortCode = -32099

func callError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return malformed("the result does not have the form that the protocol demands")
	}
	rpc, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		return &Error{Code: CodeConnectionClosed, Message: err.Error(), Aborted: true}
	}
	if rpc.Code == abortCode {
		var abort Error
		if json.Unmarshal(rpc.Data, &abort) == nil {
			return &abort
		}
	}
	var data struct{ Code string }
	_ = json.Unmarshal(rpc.Data, &data) // data may have any form
	code := cmp.Or(data.Code, strconv.FormatInt(rpc.Code, 10))
	return &Error{Code: code, Message: cmp.Or(rpc.Message, "no message")}
}

// abort is the response to a call that gets none.
func abort(id jsonrpc.ID, why Error) *jsonrpc.Response {
	why.Aborted = true
	data, _ := json.Marshal(why) // texts and a number: cannot fail
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code: abortCode, Message: why.Message, Data: data,
	}}
}
