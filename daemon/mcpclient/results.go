package mcpclient

import (
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/internal/jsonobj"
	"evalctl/internal/verbatim"
)

// kept returns the result of a tool as one that the SDK carries unchanged: it would round the
// numbers of structured content, such as ids, and refuse a result with content of a type that it
// does not know. Other results are returned as they are.
func kept(result json.RawMessage) json.RawMessage {
	o, err := jsonobj.Parse(result)
	ofTool := o.Get("content") != nil || o.Get("structuredContent") != nil || o.Get("isError") != nil
	if err != nil || !ofTool || o.Text("resultType") == "input_required" {
		return result
	}
	return append(append([]byte(`{"content":[],"structuredContent":`), jsonobj.Quote(verbatim.Text(result))...), '}')
}

// resultOf reads the result of a tool. Content other than texts is skipped.
func resultOf(reply *mcp.CallToolResult) (r Result, err error) {
	text, _ := reply.StructuredContent.(string)
	raw, ok := verbatim.Value(text)
	if !ok { // it has no content
		return Result{}, nil
	}
	o, err := jsonobj.Parse(raw)
	if err != nil {
		return Result{}, err
	}
	content := o.Get("content")
	if len(content) > 0 && content[0] != '[' && string(content) != "null" {
		return Result{}, errors.New("its content is not a list")
	}
	for item := range jsonobj.Elements(content) {
		part, err := jsonobj.Parse(item)
		if err != nil {
			return Result{}, errors.New("its content is not a list of objects")
		}
		if text, ok := jsonobj.String(part.Get("text")); ok && part.Text("type") == "text" {
			r.Texts = append(r.Texts, text)
		}
	}
	if len(r.Texts) > 0 {
		r.Text = r.Texts[0]
	}
	if structured := o.Get("structuredContent"); string(structured) != "null" {
		r.Structured = structured
	}
	switch string(o.Get("isError")) {
	case "", "null", "false":
	case "true":
		r.Failure = failureOf(r)
	default:
		return Result{}, errors.New("its isError is not a truth value")
	}
	return r, nil
}
