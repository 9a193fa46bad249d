package mapping

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

const noteMapping = `name: x
remember: {tool: add, arguments: {t: '{text}'}, reply: {id: $.id}}
search: {tool: find, arguments: {q: '{query}'}, reply: {items: '$[*]', text: $}}
delete: {tool: forget, arguments: {k: '{id}'}}
`

// openMCP opens an MCP server at a URL. call answers the calls of tools.
func openMCP(t *testing.T, call func(w http.ResponseWriter, id json.RawMessage, tool string, args json.RawMessage)) *Service {
	t.Helper()
	return openWeb(t, noteMapping, func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "application/json")
		var reply any
		switch m.Method {
		case "initialize":
			reply = map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "s", "version": "1"}}
		case "tools/list":
			var tools []any
			for _, name := range []string{"add", "find", "forget"} {
				tools = append(tools, map[string]any{"name": name, "inputSchema": map[string]any{"type": "object"}})
			}
			reply = map[string]any{"tools": tools}
		case "tools/call":
			call(w, m.ID, m.Params.Name, m.Params.Arguments)
			return
		default:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": reply})
	})
}

// TestStatusOverMCP checks that a status of an MCP server at a URL has the effects of any other: a
// busy server is asked again when it says, and one that refuses the call is not.
func TestStatusOverMCP(t *testing.T) {
	for _, c := range []struct {
		status int
		header string
		retry  bool
		after  time.Duration
	}{
		{http.StatusTooManyRequests, "7", true, 7 * time.Second}, {http.StatusServiceUnavailable, "", true, 0},
		{http.StatusUnauthorized, "7", false, 0}, {http.StatusInternalServerError, "", false, 0},
	} {
		s := openMCP(t, func(w http.ResponseWriter, _ json.RawMessage, _ string, _ json.RawMessage) {
			w.Header().Set("Retry-After", c.header)
			w.WriteHeader(c.status)
		})
		_, err := s.Store("").Search(t.Context(), "b", "q", 3)
		f, ok := target.AsFailure(err)
		if !ok || f.Kind != result.KindStatus || f.Status != c.status || f.Retryable() != c.retry || f.RetryAfter() != c.after {
			t.Errorf("%d: got %+v, %v", c.status, f, err)
		}
	}
}

// TestBusyMCPServer checks that a refused write is repeated, and that the end of a session is not
// taken for the end of a text.
func TestBusyMCPServer(t *testing.T) {
	calls := map[string]int{}
	s := openMCP(t, func(w http.ResponseWriter, id json.RawMessage, tool string, _ json.RawMessage) {
		switch calls[tool]++; {
		case tool == "forget":
			w.WriteHeader(http.StatusNotFound)
		case calls[tool] == 1:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"{\"id\":\"n1\"}"}]}}`, id)
		}
	})
	st := create(t, s, "b")
	if err := st.Write(t.Context(), "b", []dataset.Doc{{Path: "a.md", Data: []byte("one")}}, 1); err != nil || calls["add"] != 2 {
		t.Errorf("%d writes, %v", calls["add"], err)
	}
	if err := st.Remove(t.Context(), "b", "b"); err == nil {
		t.Error("a text that could not be deleted counts as deleted")
	}
}

// TestMCPReplyInOtherEncoding checks that such a reply is a failure, which is not repeated.
func TestMCPReplyInOtherEncoding(t *testing.T) {
	s := openMCP(t, func(w http.ResponseWriter, id json.RawMessage, _ string, _ json.RawMessage) {
		fmt.Fprintf(w, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"caf\xe9\"}]}}", id)
	})
	_, err := s.Store("").Search(t.Context(), "b", "q", 3)
	if f, ok := target.AsFailure(err); !ok || f.Kind != result.KindProtocol || f.Retryable() {
		t.Errorf("got %v", err)
	}
}

// TestLargeNumberAsID checks that a text is deleted by the digits of its id: others would be of
// another text.
func TestLargeNumberAsID(t *testing.T) {
	var deleted string
	s := openMCP(t, func(w http.ResponseWriter, id json.RawMessage, tool string, args json.RawMessage) {
		if tool == "forget" {
			deleted = string(args)
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":{"id":1780000000000000001}}}`, id)
	})
	st := create(t, s, "b")
	if err := st.Write(t.Context(), "b", []dataset.Doc{{Path: "a.md", Data: []byte("one")}}, 1); err != nil {
		t.Fatal(err)
	}
	if err := st.Remove(t.Context(), "b", "b"); err != nil || deleted != `{"k":1780000000000000001}` {
		t.Errorf("sent %s, %v", deleted, err)
	}
}

// TestMalformedMCPResult checks that a result in another form than the protocol's is a failure,
// which is not repeated.
func TestMalformedMCPResult(t *testing.T) {
	s := openMCP(t, func(w http.ResponseWriter, id json.RawMessage, _ string, _ json.RawMessage) {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":"found"}}`, id)
	})
	_, err := s.Store("").Search(t.Context(), "b", "q", 3)
	if f, ok := target.AsFailure(err); !ok || f.Kind != result.KindProtocol || f.Retryable() {
		t.Errorf("got %v", err)
	}
}
