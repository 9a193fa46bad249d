package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/protocol"
)

// tool calls a tool and returns the status, and the JSON of the result or of the problem.
func (s *server) tool(t testing.TB, name, args string, headers ...string) (int, string) {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, args)
	resp := s.do(t, "POST", "/mcp", body, append([]string{"Content-Type", "application/json"}, headers...)...)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if _, event, ok := strings.Cut(text, "\ndata: "); ok {
		var reply struct {
			Result struct{ StructuredContent json.RawMessage }
		}
		if err := json.Unmarshal([]byte(event), &reply); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		text = string(reply.Result.StructuredContent)
	}
	return resp.StatusCode, text
}

func TestToolsActAsTheCaller(t *testing.T) {
	s := startKeyed(t)
	for _, tc := range []struct {
		key, tool, args string
		want            string
	}{
		{"reader", "memory_list_brains", `{}`, `"id":"second"`},
		{"other", "memory_list_brains", `{}`, `"items":[{"id":"old"`},
		{"searcher", "memory_search", `{"query":"kettle","brain":"eval"}`, `"content":"The kettle is green."`},
		{"searcher", "memory_search", `{"query":"kettle"}`, `"content":"The kettle is green."`},
		{"searcher", "memory_search", `{"query":"kettle","brain":"theirs"}`, `"code":"no_brain"`},
		{"searcher", "memory_remember", `{"content":"x","brain":"eval"}`, `"code":"forbidden"`},
		{"reader", "memory_remember", `{"content":"x","brain":"eval"}`, `"code":"forbidden","message":"key reader lacks the scope documents:write"`},
		{"writer", "memory_remember", `{"content":"x","brain":"eval"}`, `"path":"x.md"`},
		{"writer", "memory_remember", `{"content":"x","brain":"theirs"}`, `"code":"no_brain"`},
		{"writer", "memory_create_brain", `{"name":"New"}`, `"id":"new"`},
		{"reader", "memory_ask", `{"query":"What colour is the kettle?","brain":"eval"}`, `"answer":"The kettle is green."`},
		// The header of the request decides, whatever it is on the way to the daemon.
		{"listed", "memory_search", `{"query":"kettle","brain":"second"}`, `"code":"no_brain"`},
	} {
		status, got := s.tool(t, tc.tool, tc.args, as(tc.key)...)
		if status != 200 || !strings.Contains(got, tc.want) {
			t.Errorf("%s as %s: got %d %s, want %s", tc.tool, tc.key, status, got, tc.want)
		}
	}
	if status, got := s.tool(t, "memory_list_brains", `{}`); status != 401 || !strings.Contains(got, "unauthorized") {
		t.Errorf("without a token: %d %s", status, got)
	}
	if status, got := s.tool(t, "memory_list_brains", `{}`, as("stranger")...); status != 403 || !strings.Contains(got, "forbidden") {
		t.Errorf("with an unknown token: %d %s", status, got)
	}
}

// TestToolsAreChargedOnce uses a key for two requests at once: each call of a tool sends two
// requests to the API itself.
func TestToolsAreChargedOnce(t *testing.T) {
	s := startKeyed(t)
	for i, want := range []int{200, 200, 429} {
		if status, got := s.tool(t, "memory_search", `{"query":"kettle"}`, as("slow")...); status != want {
			t.Errorf("call %d: got %d %s, want %d", i, status, got, want)
		}
	}
}

func TestMCPRejects(t *testing.T) {
	t.Parallel()
	s := startFake(t)
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	json := []string{"Content-Type", "application/json"}
	for name, tc := range map[string]struct {
		method, body string
		headers      []string
		status       int
		code         string
	}{
		"GET":             {"GET", "", nil, 405, "method_not_allowed"},
		"DELETE":          {"DELETE", "", nil, 405, "method_not_allowed"},
		"form":            {"POST", list, []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type"},
		"accepts no JSON": {"POST", list, append(json, "Accept", "text/html"), 400, "validation_error"},
		"unknown version": {"POST", list, append(json, "MCP-Protocol-Version", "1999-01-01"), 400, "validation_error"},
		"web page":        {"POST", list, append(json, "Origin", "https://evil.example"), 403, "forbidden"},
		"too large":       {"POST", strings.Repeat(" ", maxRecordBody+1), json, 413, "payload_too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			resp := s.do(t, tc.method, "/mcp", tc.body, tc.headers...)
			defer resp.Body.Close()
			var p protocol.Problem
			if err := jsonOf(resp.Body, &p); err != nil || resp.StatusCode != tc.status || p.Code != tc.code {
				t.Errorf("got %d %+v, %v", resp.StatusCode, p, err)
			}
			if tc.status == 405 && resp.Header.Get("Allow") != "POST" {
				t.Errorf("allows %q", resp.Header.Get("Allow"))
			}
		})
	}
	if status, body := s.raw(t, "POST", "/mcp", "evil.example", "Content-Type: application/json\r\n", list); status != 403 {
		t.Errorf("another host gets %d %s", status, body)
	}
}

func jsonOf(r io.Reader, into any) error { return json.NewDecoder(r).Decode(into) }

func TestMCPWithoutHandler(t *testing.T) {
	s := startFake(t)
	s.api.HandleMCP(nil)
	s.expect(t, 404, "POST", "/mcp", `{}`, "Content-Type", "application/json")
}

// TestMCPLongest sends the longest note, which exceeds the limits of a PUT.
func TestMCPLongest(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one large text at a time: nothing is concurrent that other tests do not run")
	}
	s := startFake(t)
	note := strings.Repeat("é", protocol.MaxDocumentContent-2) + `\n\n`
	status, got := s.tool(t, "memory_remember", `{"path":"long.md","title":"long","content":"`+note+`"}`)
	if status != 200 || !strings.Contains(got, `"path":"long.md"`) {
		t.Errorf("got %d %.300s", status, got)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_remember","arguments":{"content":"%s"}}}`, note)
	zipped := s.expect(t, 200, "POST", "/mcp", zip(t, []byte(body)), "Content-Type", "application/json", "Content-Encoding", "gzip")
	if !strings.Contains(zipped, `"byte_size"`) {
		t.Errorf("compressed: %.300s", zipped)
	}
}

// TestLocal sends requests in the process.
func TestLocal(t *testing.T) {
	s := startFake(t)
	s.put(t, "a.md", "# A\n\nThe kettle is green.")
	send := func(ctx context.Context, method, path, accept, body string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		return s.api.Local().RoundTrip(req)
	}
	resp, err := send(t.Context(), "GET", "/v1/brains/eval/documents/read?path=a.md", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(data), "green") || resp.StatusCode != 200 {
		t.Errorf("read %d %s, %v", resp.StatusCode, data, err)
	}
	resp, err = send(t.Context(), "GET", "/v1/brains/none", "", "")
	if err != nil || resp.StatusCode != 404 || resp.Header.Get("Content-Type") != protocol.TypeProblem {
		t.Errorf("a missing brain is %+v, %v", resp, err)
	}

	// The change stream never ends by itself. Closing the body ends it.
	resp, err = send(t.Context(), "GET", "/v1/brains/eval/events", protocol.TypeEvents, "")
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("got %+v, %v", resp, err)
	}
	ready := make([]byte, 200)
	if n, err := resp.Body.Read(ready); err != nil || !strings.Contains(string(ready[:n]), "event: ready") {
		t.Errorf("read %q, %v", ready[:n], err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}

	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	resp, err = send(ctx, "GET", "/v1/brains/eval/events", protocol.TypeEvents, "")
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, why) {
		t.Errorf("a cancelled stream ends with %v", err)
	}
	resp.Body.Close()
	if _, err := send(ctx, "GET", "/healthz", "", ""); !errors.Is(err, why) {
		t.Errorf("a cancelled request is %v", err)
	}
}

// TestLocalBrokenResponse reads a response that the handler cannot complete.
func TestLocalBrokenResponse(t *testing.T) {
	s := startFake(t)
	s.api.handle(route{pattern: "GET /broken", scope: scopeOpen, serve: func(_ *API, w http.ResponseWriter, _ *http.Request) error {
		fmt.Fprint(w, "half")
		panic("bug")
	}})
	for _, accept := range []string{"", protocol.TypeEvents} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://localhost/broken", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		resp, err := s.api.Local().RoundTrip(req)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("accept %q: got %v", accept, err)
		}
	}
}
