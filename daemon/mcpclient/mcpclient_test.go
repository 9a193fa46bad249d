package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"evalctl/daemon/mcpclient"
	"evalctl/internal/awaittest"
)

// TestMain also is the command of the tests: a server on stdio.
func TestMain(m *testing.M) {
	if os.Getenv("MCPCLIENT_TEST_SERVER") != "" {
		err := newServer().Run(context.Background(), &mcp.StdioTransport{})
		if err != nil && !strings.Contains(err.Error(), "EOF") {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if text := os.Getenv("MCPCLIENT_TEST_SPEAKER"); text != "" {
		speakerOf(text).serve(os.Stdin, os.Stdout)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// newServer has the tool echo, which reports progress as its arguments say, fail, which fails as
// its arguments say, and exit, which ends the process without a reply.
func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "7"}, nil)
	object := json.RawMessage(`{"type":"object"}`)
	s.AddTool(&mcp.Tool{Name: "echo", Description: "echoes", InputSchema: object},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args struct {
				Progress []float64
				Total    float64
				Stray    bool
			}
			if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
				return nil, err
			}
			token := req.Params.GetProgressToken()
			if args.Stray {
				token = "stray"
			}
			for _, n := range args.Progress {
				err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: token, Progress: n, Total: args.Total, Message: fmt.Sprint("m", n),
				})
				if err != nil {
					return nil, err
				}
			}
			return &mcp.CallToolResult{
				Content:           []mcp.Content{&mcp.TextContent{Text: "done"}},
				StructuredContent: map[string]any{"token": token},
			}, nil
		})
	s.AddTool(&mcp.Tool{Name: "fail", InputSchema: object},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args struct {
				Text       string
				Structured json.RawMessage
				RPC        *jsonrpc.Error
			}
			if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
				return nil, err
			}
			if args.RPC != nil {
				return nil, args.RPC
			}
			return &mcp.CallToolResult{
				IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: args.Text}},
				StructuredContent: args.Structured,
			}, nil
		})
	s.AddTool(&mcp.Tool{Name: "exit", InputSchema: object},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: req.Params.GetProgressToken(), Message: "last words",
			})
			os.Exit(0)
			return nil, nil
		})
	s.AddTool(&mcp.Tool{Name: "wait", InputSchema: object},
		func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
	return s
}

// target returns the target of a server and its options.
func stdioTarget(t *testing.T) (string, mcpclient.Options) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return "stdio:'" + exe + "'", mcpclient.Options{Env: []string{"MCPCLIENT_TEST_SERVER=1"}, Stderr: os.Stderr}
}

func httpTarget(t *testing.T) (string, mcpclient.Options) {
	s := newServer()
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(401)
			fmt.Fprint(w, `{"status":401,"code":"unauthorized","detail":"send a token"}`)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, mcpclient.Options{Token: "secret"}
}

func eachTransport(t *testing.T, run func(t *testing.T, target string, opts mcpclient.Options)) {
	t.Run("stdio", func(t *testing.T) {
		target, opts := stdioTarget(t)
		run(t, target, opts)
	})
	t.Run("http", func(t *testing.T) {
		target, opts := httpTarget(t)
		run(t, target, opts)
	})
}

func connect(t *testing.T, target string, opts mcpclient.Options) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), target, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

func TestToolsAndCalls(t *testing.T) {
	eachTransport(t, func(t *testing.T, target string, opts mcpclient.Options) {
		c := connect(t, target, opts)
		want := stateless
		if opts.Token != "" { // the server over HTTP has sessions, which only older versions have
			want = "2025-11-25"
		}
		if name, version, protocol := c.Server(); name != "test" || version != "7" || protocol != want {
			t.Errorf("server is %s %s %s", name, version, protocol)
		}
		tools, err := c.Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(tools) != 4 || tools[0].Name != "echo" || tools[0].Description != "echoes" ||
			string(tools[0].InputSchema) != `{"type":"object"}` || string(tools[0].Annotations) != "null" {
			t.Errorf("tools are %s", tools)
		}
		r, err := c.Call(t.Context(), "echo", map[string]any{}, nil)
		if err != nil || r.Text != "done" || string(r.Structured) != `{"token":null}` || r.Failure != nil {
			t.Errorf("got %+v, %v", r, err)
		}
		_, err = c.Call(t.Context(), "unknown", nil, nil)
		if e, ok := errors.AsType[*mcpclient.Error](err); !ok || e.Code != "-32602" || e.Aborted {
			t.Errorf("an unknown tool is %v", err)
		}
	})
}

func TestProgress(t *testing.T) {
	eachTransport(t, func(t *testing.T, target string, opts mcpclient.Options) {
		c := connect(t, target, opts)
		many := make([]float64, 500)
		for i := range many {
			many[i] = float64(i)
		}
		var got []string
		r, err := c.Call(t.Context(), "echo", map[string]any{"Progress": many}, func(p mcpclient.Progress) {
			got = append(got, p.Message)
		})
		if err != nil || len(got) != 500 || got[499] != "m499" || string(r.Structured) != `{"token":"call-1"}` {
			t.Errorf("got %d notifications, %+v, %v", len(got), r, err)
		}
		var tokens []string
		r, err = c.CallToken(t.Context(), "echo", map[string]any{"Progress": []int{0}}, 42,
			func(p mcpclient.Progress) { tokens = append(tokens, string(p.Token)) })
		if err != nil || len(tokens) != 1 || tokens[0] != "42" || string(r.Structured) != `{"token":42}` {
			t.Errorf("got the tokens %s, %+v, %v", tokens, r, err)
		}
		if r, err := c.Call(t.Context(), "echo", map[string]any{}, func(mcpclient.Progress) {}); err != nil || r.Text != "done" {
			t.Errorf("a silent tool: %+v, %v", r, err)
		}
		for _, args := range []map[string]any{
			{"Progress": []int{1}}, {"Progress": []int{0, 2}}, {"Progress": []int{0, 0}},
			{"Progress": []int{0}, "Total": 3},
		} {
			r, err := c.Call(t.Context(), "echo", args, func(mcpclient.Progress) {})
			e, ok := errors.AsType[*mcpclient.Error](err)
			if !ok || e.Code != mcpclient.CodeProgress || r.Text != "done" {
				t.Errorf("%v: %+v, %v", args, r, err)
			}
		}
		before := c.Stray()
		if _, err := c.Call(t.Context(), "echo", map[string]any{"Progress": []int{0}, "Stray": true},
			func(mcpclient.Progress) { t.Error("a notification of another token arrived") }); err != nil {
			t.Error(err)
		}
		if before != 0 || c.Stray() != 1 {
			t.Errorf("%d, then %d stray notifications", before, c.Stray())
		}
	})
}

func TestFailures(t *testing.T) {
	eachTransport(t, func(t *testing.T, target string, opts mcpclient.Options) {
		c := connect(t, target, opts)
		for _, tc := range []struct {
			text       string
			structured any
			want       mcpclient.Failure
		}{
			{"no_brain: none", map[string]any{"code": "no_brain", "message": "none"}, mcpclient.Failure{Code: "no_brain", Message: "none"}},
			{`{"code":"bad_gateway","message":"cut","retryable":true}`, nil, mcpclient.Failure{Code: "bad_gateway", Message: "cut", Retryable: true}},
			{"it broke", nil, mcpclient.Failure{Message: "it broke"}},
		} {
			r, err := c.Call(t.Context(), "fail", map[string]any{"text": tc.text, "structured": tc.structured}, nil)
			if err != nil || r.Failure == nil || *r.Failure != tc.want {
				t.Errorf("%s: %+v, %v", tc.text, r.Failure, err)
			}
		}
		for data, want := range map[string]string{`{"code":"no_brain"}`: "no_brain", `{"code":5}`: "-32000", `"x"`: "-32000", `null`: "-32000"} {
			_, err := c.Call(t.Context(), "fail", map[string]any{"rpc": &jsonrpc.Error{
				Code: -32000, Message: "none", Data: json.RawMessage(data),
			}}, nil)
			if e, ok := errors.AsType[*mcpclient.Error](err); !ok || e.Code != want || e.Message != "none" || e.Aborted {
				t.Errorf("%s: %v", data, err)
			}
		}
	})
}

func TestCancel(t *testing.T) {
	eachTransport(t, func(t *testing.T, target string, opts mcpclient.Options) {
		c := connect(t, target, opts)
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
		if _, err := c.Call(ctx, "wait", nil, nil); !errors.Is(err, why) {
			t.Errorf("got %v", err)
		}
		if r, err := c.Call(t.Context(), "echo", map[string]any{}, nil); err != nil || r.Text != "done" {
			t.Errorf("then: %+v, %v", r, err)
		}
	})
}

func TestAbortOfCommand(t *testing.T) {
	target, opts := stdioTarget(t)
	c, err := mcpclient.Connect(t.Context(), target, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var last string
	_, err = c.Call(t.Context(), "exit", nil, func(p mcpclient.Progress) { last = p.Message })
	e, ok := errors.AsType[*mcpclient.Error](err)
	if !ok || e.Code != mcpclient.CodeConnectionClosed || !e.Aborted || last != "last words" {
		t.Errorf("got %v after %q", err, last)
	}
}

// answers serves initialize, and the handler for every call and list of tools.
func answers(t *testing.T, call http.HandlerFunc) *mcpclient.Client {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var msg struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&msg); err != nil {
			w.WriteHeader(400)
			return
		}
		switch msg.Method {
		case "initialize":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}`, msg.ID)
		case "tools/call", "tools/list":
			call(w, r)
		default:
			w.WriteHeader(202)
		}
	}))
	t.Cleanup(srv.Close)
	return connect(t, srv.URL, mcpclient.Options{})
}

func TestAbortOverHTTP(t *testing.T) {
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		code   string
	}{
		"problem": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(429)
			fmt.Fprint(w, `{"code":"rate_limited"}`)
		}, "rate_limited"},
		"text": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "nope", 500) }, "500 Internal Server Error"},
		"json-rpc error": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"bad"}}`)
		}, "-32600"},
		"stream without reply": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","+
				"\"params\":{\"progressToken\":\"call-1\",\"progress\":0,\"message\":\"half\"}}\n\n")
		}, mcpclient.CodeConnectionClosed},
		"no body": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) }, mcpclient.CodeConnectionClosed},
		"latin-1": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"caf\xe9\"}]}}")
		}, mcpclient.CodeRefused},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			panic(http.ErrAbortHandler)
		}, mcpclient.CodeConnectionClosed},
	} {
		t.Run(name, func(t *testing.T) {
			c := answers(t, tc.answer)
			_, err := c.Call(t.Context(), "x", nil, func(mcpclient.Progress) {})
			if e, ok := errors.AsType[*mcpclient.Error](err); !ok || e.Code != tc.code || !e.Aborted {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestOnlyRepliesInUTF8 has servers that send a notification and a log line that are not in UTF-8.
// Only the characters of replies count, so the calls succeed, and the line is noise.
func TestOnlyRepliesInUTF8(t *testing.T) {
	const notification = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"caf\xe9\"}}"
	call := func(c *mcpclient.Client) {
		t.Helper()
		if r, err := c.Call(t.Context(), "find", nil, nil); err != nil || r.Text != "found" {
			t.Errorf("got %+v, %v", r, err)
		}
	}
	call(answers(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\ndata: %s\n\n", notification, `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"found"}]}}`)
	}))
	theirs, in := pipe(t)
	out, ours := pipe(t)
	const line = "{\"id\":1,\"msg\":\"caf\xe9\"}"
	go func() {
		fmt.Fprintf(ours, "%s\n%s\n", line, notification)
		speaker{version: "2025-06-18"}.serve(theirs, ours)
	}()
	noise := make(chan string, 9)
	c, err := mcpclient.Pipe(t.Context(), in, out, false, func(line []byte) { noise <- string(line) })
	if err != nil {
		t.Fatal(err)
	}
	if got := awaittest.Receive(t, "the line", noise); got != line {
		t.Errorf("noise is %q", got)
	}
	call(c)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestConnectFailures(t *testing.T) {
	target, _ := httpTarget(t)
	_, err := mcpclient.Connect(t.Context(), target, mcpclient.Options{Token: "wrong"})
	if e, ok := errors.AsType[*mcpclient.Error](err); !ok || e.Code != "unauthorized" {
		t.Errorf("a wrong token is %v", err)
	}
	moved := httptest.NewServer(http.RedirectHandler("/mcp/?key=s3cret", http.StatusTemporaryRedirect))
	defer moved.Close()
	for target, says := range map[string]string{
		moved.URL:                "307 Temporary Redirect: it leads to " + moved.URL + "/mcp/: redirects are not followed",
		"stdio:":                 "the command is empty",
		"stdio:'":                "Unterminated",
		"stdio:/does/not/exist":  "start /does/not/exist",
		"stdio:false":            "connection_closed",
		"127.0.0.1:1":            "or stdio:COMMAND",
		"http://127.0.0.1:1/mcp": "connection refused",
	} {
		if _, err := mcpclient.Connect(t.Context(), target, mcpclient.Options{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", target, err)
		}
	}
}
