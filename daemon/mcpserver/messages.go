package mcpserver

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// item is one message that was received, or the response to what is none.
type item struct {
	message jsonrpc.Message
	reject  *jsonrpc.Response
}

// parse returns the message of a line or a body. Batches, which only old versions of the protocol
// have, are rejected.
func parse(data []byte) item {
	switch {
	case !utf8.Valid(data) || !json.Valid(data):
		return item{reject: rejection(jsonrpc.CodeParseError, "the message is not valid JSON")}
	case data[0] == '[':
		return item{reject: rejection(jsonrpc.CodeInvalidRequest, "batches are not supported: send one message at a time")}
	}
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return item{reject: rejection(jsonrpc.CodeInvalidRequest, "this is not a JSON-RPC message: "+err.Error())}
	}
	return item{message: msg}
}

func rejection(code int64, why string) *jsonrpc.Response {
	return &jsonrpc.Response{Error: &jsonrpc.Error{Code: code, Message: why}}
}

const (
	methodInitialize = "initialize"
	methodCancelled  = "notifications/cancelled"
)

// cancelled returns the id of the call that a notification cancels.
func cancelled(notification *jsonrpc.Request) (jsonrpc.ID, bool) {
	var params struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(notification.Params, &params) != nil {
		return jsonrpc.ID{}, false
	}
	id, err := jsonrpc.MakeID(params.RequestID)
	return id, err == nil && id.IsValid()
}
