package mcpclient_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/daemon/mcpclient"
)

// TestStructuredContentAsSent checks that structured content keeps its digits and the order of
// its keys on each transport.
func TestStructuredContentAsSent(t *testing.T) {
	const content = `{"id":9007199254740993,"b":1.10,"a":[-0,1e400]}`
	check := func(t *testing.T, target string, opts mcpclient.Options) {
		c := connect(t, target, opts)
		r, err := c.Call(t.Context(), "fail", map[string]any{"structured": json.RawMessage(content)}, nil)
		if err != nil || string(r.Structured) != content {
			t.Errorf("got %s, %v", r.Structured, err)
		}
	}
	eachTransport(t, check)
	server := func(*http.Request) *mcp.Server { return newServer() }
	for name, h := range map[string]http.Handler{
		"json": mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{JSONResponse: true}),
		"old":  mcp.NewSSEHandler(server, nil),
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(h)
			t.Cleanup(srv.Close)
			check(t, srv.URL, mcpclient.Options{})
		})
	}
}

// replies is a client whose calls all have the same result.
func replies(t *testing.T, result string) *mcpclient.Client {
	return answers(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":2,"result":%s}`, result)
	})
}

func TestResults(t *testing.T) {
	for result, want := range map[string]mcpclient.Result{
		`{"content":[{"type":"future","data":7},{"type":"text","text":"a"},{"x":1},{"type":"text","text":"b"}]}`: {Texts: []string{"a", "b"}},
		`{"content":[{"type":"image","data":"?"},{"type":"text","text":"a"}],"structuredContent":null}`:          {Texts: []string{"a"}},
		`{"content":[{"type":"text"}]}`: {Texts: []string{""}},
		`{"structuredContent":[1]}`:     {Structured: json.RawMessage("[1]")},
		`{"content":null,"isError":true,"structuredContent":{"code":"x"}}`: {
			Structured: json.RawMessage(`{"code":"x"}`), Failure: &mcpclient.Failure{Code: "x"}},
		`{"resultType":"input_required","inputRequests":{}}`: {Failure: &mcpclient.Failure{Code: "input_required", Retryable: true}},
		`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}}}}`: {
			Failure: &mcpclient.Failure{Code: "input_required"}},
	} {
		got, err := replies(t, result).Call(t.Context(), "x", nil, nil)
		if err != nil || !slices.Equal(got.Texts, want.Texts) || string(got.Structured) != string(want.Structured) ||
			(got.Failure == nil) != (want.Failure == nil) {
			t.Errorf("%s: got %+v, %v", result, got, err)
		} else if f := got.Failure; f != nil && (f.Code != want.Failure.Code || f.Retryable != want.Failure.Retryable) {
			t.Errorf("%s: got %+v", result, f)
		}
	}
}

// malformed reports whether an error is not a lost connection, and is in the protocol's terms.
func malformed(err error) bool {
	e, ok := errors.AsType[*mcpclient.Error](err)
	return ok && e.Code == mcpclient.CodeMalformed && !e.Aborted && !strings.Contains(e.Message, "json") && !strings.Contains(e.Message, "Go ")
}

func TestMalformedResults(t *testing.T) {
	if _, err := replies(t, `{"tools":"find"}`).Tools(t.Context()); !malformed(err) {
		t.Errorf("list of tools: got %v", err)
	}
	for _, result := range []string{
		`null`, `[]`, `"found"`, `7`, `{"content":"found"}`, `{"content":{"type":"text","text":"found"}}`, `{"content":["found"]}`,
		`{"content":[{"type":"text","text":7}]}`, `{"content":[],"isError":"true"}`,
	} {
		if _, err := replies(t, result).Call(t.Context(), "x", nil, nil); !malformed(err) {
			t.Errorf("%s: got %v", result, err)
		}
	}
}
