package mcpclient

import (
	"encoding/json"
	"math"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/internal/jsonobj"
)

const methodCall = "tools/call"

// methodRawCall is, for the SDK, a method of this package's own, whose result it leaves undecoded.
// The connection sends methodCall in its place. The SDK would decode numbers in the result of
// methodCall as float64, and refuse types of content that it does not know. Its errors show this
// name.
const methodRawCall = "tool"

// outgoingCall returns the message that is sent in place of the SDK's.
func outgoingCall(msg jsonrpc.Message) jsonrpc.Message {
	call, ok := msg.(*jsonrpc.Request)
	if !ok || call.Method != methodRawCall {
		return msg
	}
	sent := *call
	sent.Method = methodCall
	return &sent
}

// rawResult is a result as the server sent it.
type rawResult struct {
	mcp.ResultBase
	text json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *rawResult) UnmarshalJSON(text []byte) error { return r.text.UnmarshalJSON(text) }

// resultOf reads the result of a call. It skips content that is not a text, of types that the
// protocol has or may get.
func resultOf(text json.RawMessage) (r Result, err error) {
	o, err := jsonobj.Parse(text)
	if err != nil {
		return Result{}, malformed("the result is not an object")
	}
	var blocks []jsonobj.Object
	if content := o.Get("content"); !missing(content) {
		if blocks, err = jsonobj.Objects(content, math.MaxInt); err != nil {
			return Result{}, malformed("the content of the result is not a list of objects")
		}
	}
	for _, block := range blocks {
		if block.Text("type") != "text" {
			continue
		}
		text, ok := jsonobj.String(block.Get("text"))
		if !ok && !missing(block.Get("text")) {
			return Result{}, malformed("the result has a text that is not a string")
		}
		r.Texts = append(r.Texts, text)
	}
	if len(r.Texts) > 0 {
		r.Text = r.Texts[0]
	}
	if structured := o.Get("structuredContent"); !missing(structured) {
		r.Structured = structured
	}
	switch isError := o.Get("isError"); {
	case string(isError) == "true":
		r.Failure = failureOf(r)
	case !missing(isError) && string(isError) != "false":
		return Result{}, malformed("isError of the result is neither true nor false")
	case o.Text("resultType") == "input_required":
		r.Failure = &Failure{
			Code: "input_required", Message: "the tool asks for input, which evalctl cannot give",
			Retryable: len(o.Object("inputRequests")) == 0, // a busy server asks for nothing
		}
	}
	return r, nil
}

func missing(value json.RawMessage) bool { return value == nil || string(value) == "null" }

func malformed(why string) error { return &Error{Code: CodeMalformed, Message: why} }
