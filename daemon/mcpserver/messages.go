package mcpserver

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"evalctl/internal/jsonobj"
	"evalctl/internal/verbatim"
)

// item is one received message, or the response to an invalid one.
type item struct {
	data    []byte // of message, as package verbatim changes it
	message jsonrpc.Message
	reject  *jsonrpc.Response
}

// parse returns the message of a line or a body. It rejects batches, which only old versions of the
// protocol have, and requests that no method of this server answers.
func parse(data []byte) item {
	switch {
	case !utf8.Valid(data) || !json.Valid(data):
		return item{reject: rejection(jsonrpc.CodeParseError, "the message is not valid JSON")}
	case data[0] == '[':
		return item{reject: rejection(jsonrpc.CodeInvalidRequest, "batches are not supported: send one message at a time")}
	}
	data = verbatim.Incoming(data)
	o, _ := jsonobj.Parse(data) // DecodeMessage reports the error
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		reject := rejection(jsonrpc.CodeInvalidRequest, "this is not a JSON-RPC message: "+err.Error())
		reject.ID = idOf(o)
		return item{reject: reject}
	}
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		return item{data: data, message: msg}
	}
	if o.Get("id") != nil && !req.IsCall() {
		return item{reject: rejection(jsonrpc.CodeInvalidRequest, "the id of a request must be a string or a number, not null")}
	}
	if problem := refuse(req); problem != nil {
		return item{data: data, message: msg, reject: &jsonrpc.Response{ID: req.ID, Error: problem}}
	}
	return item{data: data, message: msg}
}

// idOf returns the id of a request, the zero one if it has none.
func idOf(o jsonobj.Object) jsonrpc.ID {
	text, _ := jsonobj.String(o.Get("id"))
	if _, ok := verbatim.Value(text); !ok {
		return jsonrpc.ID{}
	}
	id, _ := jsonrpc.MakeID(text) // a string: cannot fail
	return id
}

func rejection(code int64, why string) *jsonrpc.Response {
	return &jsonrpc.Response{Error: &jsonrpc.Error{Code: code, Message: why}}
}

const (
	methodInitialize = "initialize"
	methodCancelled  = "notifications/cancelled"
)

// method describes the requests of a method.
type method struct{ notification, params bool }

// methods are the requests that the server answers in some version of the protocol, and the
// notifications that it accepts. The declared capabilities follow from them.
var methods = map[string]method{
	methodInitialize:           {params: true},
	"server/discover":          {},
	"ping":                     {},
	"tools/list":               {},
	"tools/call":               {params: true},
	"prompts/list":             {},
	"prompts/get":              {params: true},
	"resources/list":           {},
	"resources/templates/list": {},
	"resources/read":           {params: true},
	"subscriptions/listen":     {params: true},

	methodCancelled:                    {notification: true},
	"notifications/initialized":        {notification: true},
	"notifications/progress":           {notification: true},
	"notifications/roots/list_changed": {notification: true},
}

// refuse returns the error of a request that the server does not answer. Nobody waits for the
// answer to a notification, so unknown ones are not an error.
func refuse(req *jsonrpc.Request) *jsonrpc.Error {
	m, known := methods[req.Method]
	given := len(req.Params) > 0 && string(req.Params) != "null"
	switch {
	case !known && req.IsCall():
		return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %.100q", req.Method)}
	case !known:
		return nil
	case m.notification && req.IsCall():
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: req.Method + " is a notification: send it without an id"}
	case !m.notification && !req.IsCall():
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: req.Method + " needs an id"}
	case !given && m.params:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: req.Method + " needs params"}
	case given && req.Params[0] != '{':
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "params must be an object"}
	}
	return nil
}

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
