package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"evalctl/internal/httpclient"
	"evalctl/internal/jsonobj"
	"evalctl/internal/printable"
)

const (
	// maxTools limits the tools of a server.
	maxTools = 1000
	// maxToolName limits the name of a tool, in bytes. The protocol asks for 128 characters at most.
	maxToolName = 256
)

// checkTool returns an error for a tool that comes after n others.
func checkTool(n int, name string) error {
	switch {
	case n >= maxTools:
		return fmt.Errorf("the server lists more than %d tools", maxTools)
	case len(name) > maxToolName:
		return fmt.Errorf("the name of tool %d has %d bytes, the limit is %d: %s",
			n+1, len(name), maxToolName, printable.Line(name, 60))
	}
	return nil
}

// admit returns an error for a message that would take too much memory or time to decode, and for
// a reply that is not in UTF-8: decoding would replace its characters. The memory of the message
// counts as intake.Hold of ctx.
func admit(ctx context.Context, message []byte) error {
	o, err := jsonobj.Parse(message)
	if err != nil {
		return nil //nolint:nilerr // whoever decodes it says so
	}
	if isReply(o) && !utf8.Valid(message) {
		return errors.New("the message is not in UTF-8")
	}
	n := 0
	for range jsonobj.Elements(o.Object("result").Get("tools")) {
		if err := checkTool(n, ""); err != nil {
			return err
		}
		n++
	}
	return httpclient.Decodable(ctx, message)
}

// isReply reports whether a message is a reply. Lines of a log may have an id too.
func isReply(o jsonobj.Object) bool {
	return o.Get("id") != nil && o.Get("method") == nil && (o.Get("result") != nil || o.Get("error") != nil)
}

// refusal returns the message that replaces a reply that admit refuses, nil if message is not a
// reply.
func refusal(message []byte, problem error) []byte {
	o, err := jsonobj.Parse(message)
	if err != nil || !isReply(o) {
		return nil
	}
	reply, err := jsonrpc.DecodeMessage(append(append([]byte(`{"jsonrpc":"2.0","result":{},"id":`), o.Get("id")...), '}'))
	if err != nil {
		return nil
	}
	response, ok := reply.(*jsonrpc.Response)
	if !ok {
		return nil
	}
	data, err := jsonrpc.EncodeMessage(abort(response.ID, Error{Code: CodeRefused, Message: problem.Error()}))
	if err != nil {
		return nil
	}
	return data
}
