package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// batchVersions are the versions of the protocol in which a message may be a batch of JSON-RPC.
// 2024-11-05 only refers to JSON-RPC, and 2025-06-18 removed batches.
var batchVersions = []string{"2024-11-05", "2025-03-26"}

// maxBatch limits the messages of a batch.
const maxBatch = 1000

// item is one message that was received, or the response to what is none.
type item struct {
	message jsonrpc.Message
	reject  *jsonrpc.Response
}

// parse returns the messages of a line or a body, and whether it is a batch. What is rejected as a
// whole is a single item. The version of the protocol is empty if none has been negotiated.
func parse(data []byte, version string) (items []item, batch bool) {
	whole := func(code int64, format string, args ...any) ([]item, bool) {
		return []item{{reject: rejection(code, fmt.Sprintf(format, args...))}}, false
	}
	switch {
	case !utf8.Valid(data) || !json.Valid(data):
		return whole(jsonrpc.CodeParseError, "the message is not valid JSON")
	case data[0] != '[':
		return []item{parseOne(data)}, false
	case version == "":
		return whole(jsonrpc.CodeInvalidRequest, "batches are not supported before initialize: send one message at a time")
	case !slices.Contains(batchVersions, version):
		return whole(jsonrpc.CodeInvalidRequest,
			"batches are not supported in version %.32s of the protocol: send one message at a time", version)
	}
	messages := json.NewDecoder(bytes.NewReader(data))
	_, _ = messages.Token() // the bracket; errors cannot be, because the data is valid
	for messages.More() {
		if len(items) == maxBatch {
			return whole(jsonrpc.CodeInvalidRequest, "the batch has more than %d messages", maxBatch)
		}
		var one json.RawMessage
		_ = messages.Decode(&one)
		i := parseOne(one)
		if call, ok := i.message.(*jsonrpc.Request); ok && call.Method == methodInitialize {
			i = item{reject: rejection(jsonrpc.CodeInvalidRequest, "initialize must not be part of a batch")}
			i.reject.ID = call.ID
		}
		items = append(items, i)
	}
	if len(items) == 0 {
		return whole(jsonrpc.CodeInvalidRequest, "the batch is empty")
	}
	return items, true
}

func parseOne(data []byte) item {
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

// cancellation is a notification that cancels a call.
func cancellation(id jsonrpc.ID) *jsonrpc.Request {
	params, _ := json.Marshal(map[string]any{"requestId": id.Raw()}) // a number or a string: cannot fail
	return &jsonrpc.Request{Method: methodCancelled, Params: params}
}
