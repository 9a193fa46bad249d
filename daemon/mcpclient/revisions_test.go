package mcpclient_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/daemon/mcpclient"
	"evalctl/internal/awaittest"
)

// speaker is a server that speaks one version of the protocol, and what it does with a request that
// it does not know.
type speaker struct {
	version string
	unknown string // "error", "null", "silent" or "ends"
	slow    time.Duration
}

const stateless = "2026-07-28"

// answer returns the reply to a message, "" for none. ok is false if the server ends.
func (s speaker) answer(message []byte) (reply string, ok bool) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Meta map[string]any `json:"_meta"`
		}
	}
	if json.Unmarshal(message, &m) != nil || m.ID == nil || m.Method == "" {
		return "", true
	}
	result := func(text string) (string, bool) {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, text), true
	}
	if s.version == stateless && m.Method != "initialize" && m.Params.Meta[mcp.MetaKeyProtocolVersion] != stateless {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no version"}}`, m.ID), true
	}
	switch {
	case m.Method == "initialize" && s.version < stateless:
		return result(`{"protocolVersion":"` + s.version + `","capabilities":{"tools":{}},"serverInfo":{"name":"one","version":"7"}}`)
	case m.Method == "server/discover" && s.version >= stateless:
		return result(`{"resultType":"complete","supportedVersions":["` + s.version + `"],"capabilities":{"tools":{}},` +
			`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"one","version":"7"}}}`)
	case m.Method == "ping" && s.version < stateless:
		return result(`{}`)
	case m.Method == "tools/list":
		return result(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"find","inputSchema":{"type":"object"}}]}`)
	case m.Method == "tools/call":
		return result(`{"resultType":"complete","content":[{"type":"text","text":"found"}]}`)
	case s.unknown == "ends":
		return "", false
	case s.unknown == "silent":
		return "", true
	case s.unknown == "null":
		return result(`null`)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID), true
}

// serve answers lines until the input ends.
func (s speaker) serve(in io.Reader, out io.Writer) {
	time.Sleep(s.slow)
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		reply, ok := s.answer(line)
		if !ok {
			return
		}
		if reply != "" {
			fmt.Fprintln(out, reply)
		}
	}
}

func (s speaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	reply, ok := s.answer(body)
	switch {
	case !ok:
		http.Error(w, "Bad Request: no session", http.StatusBadRequest)
	case reply == "":
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, reply)
	}
}

// speakerOf reads what String of the variable of a process says.
func speakerOf(text string) (s speaker) {
	words := strings.Split(text, " ")
	s.version, s.unknown = words[0], words[1]
	s.slow, _ = time.ParseDuration(words[2])
	return s
}

// TestVersions connects to servers that speak one version of the protocol each, whatever they do with
// what they do not know.
func TestVersions(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range mcp.SupportedProtocolVersions() {
		for _, unknown := range []string{"error", "null", "silent", "ends"} {
			for _, slow := range []time.Duration{0, 1200 * time.Millisecond} {
				if version == stateless && unknown == "ends" {
					continue // initialize is sent only to one that is slow, after server/discover
				}
				s := speaker{version, unknown, slow}
				check := func(t *testing.T, target string, opts mcpclient.Options) {
					t.Parallel()
					c := connect(t, target, opts)
					if name, v, protocol := c.Server(); name != "one" || v != "7" || protocol != version {
						t.Errorf("server is %s %s, MCP %s", name, v, protocol)
					}
					if tools, err := c.Tools(t.Context()); err != nil || len(tools) != 1 {
						t.Errorf("tools are %v, %v", tools, err)
					}
					if r, err := c.Call(t.Context(), "find", map[string]any{"a": 1}, nil); err != nil || r.Text != "found" {
						t.Errorf("got %+v, %v", r, err)
					}
					if err := c.Ping(t.Context()); err != nil {
						t.Errorf("ping: %v", err)
					}
				}
				t.Run(fmt.Sprintf("%s %s %v stdio", version, unknown, slow), func(t *testing.T) {
					check(t, "stdio:'"+exe+"'", mcpclient.Options{Stderr: os.Stderr,
						Env: []string{fmt.Sprintf("MCPCLIENT_TEST_SPEAKER=%s %s %v", version, unknown, slow)}})
				})
				if slow == 0 {
					t.Run(fmt.Sprintf("%s %s http", version, unknown), func(t *testing.T) {
						srv := httptest.NewServer(s)
						t.Cleanup(srv.Close)
						check(t, srv.URL, mcpclient.Options{})
					})
				}
			}
		}
	}
}

// TestNoVersion: the error says which versions there are, and what the server answers.
func TestNoVersion(t *testing.T) {
	for version, want := range map[string][]string{
		"2099-01-01": {"no version of MCP is agreed on", "evalctl speaks 2026-07-28, 2025-11-25", "server/discover: the server speaks MCP 2099-01-01", "initialize: -32601: Method not found"},
		"1999-01-01": {"server/discover: -32601: Method not found", "initialize: the server speaks MCP 1999-01-01"},
	} {
		srv := httptest.NewServer(speaker{version, "error", 0})
		defer srv.Close()
		_, err := mcpclient.Connect(t.Context(), srv.URL, mcpclient.Options{})
		if err == nil || slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(err.Error(), w) }) {
			t.Errorf("%s: got %v", version, err)
		}
	}
}

// TestOldTransport connects to servers of the transport of version 2024-11-05.
func TestOldTransport(t *testing.T) {
	s := newServer()
	h := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	c := connect(t, srv.URL, mcpclient.Options{Token: "secret"})
	if tools, err := c.Tools(t.Context()); err != nil || len(tools) != 4 {
		t.Errorf("tools are %v, %v", tools, err)
	}
	if r, err := c.Call(t.Context(), "echo", map[string]any{}, nil); err != nil || r.Text != "done" {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := mcpclient.Connect(t.Context(), srv.URL, mcpclient.Options{}); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a token: %v", err)
	}
}

// TestOldTransportEnds: a call fails when the stream ends, or when its message is not accepted.
func TestOldTransportEnds(t *testing.T) {
	for accepts, code := range map[bool]string{true: mcpclient.CodeConnectionClosed, false: "503 Service Unavailable"} {
		replies := make(chan string, 9)
		s := speaker{version: "2024-11-05"}
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && r.URL.Path == "/messages" {
				body, _ := io.ReadAll(r.Body)
				if strings.Contains(string(body), "tools/call") {
					if !accepts {
						w.WriteHeader(http.StatusServiceUnavailable)
						return
					}
					close(replies)
				} else if reply, _ := s.answer(body); reply != "" {
					replies <- reply
				}
				w.WriteHeader(http.StatusAccepted)
				return
			}
			if r.Method != http.MethodGet {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: endpoint\ndata: /messages?session=1\n\n")
			_ = http.NewResponseController(w).Flush()
			for {
				select {
				case reply, ok := <-replies:
					if !ok {
						return
					}
					fmt.Fprintf(w, "data: %s\n\n", reply)
					_ = http.NewResponseController(w).Flush()
				case <-r.Context().Done():
					return
				}
			}
		}))
		c, err := mcpclient.Connect(t.Context(), srv.URL+"/sse", mcpclient.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if name, _, protocol := c.Server(); name != "one" || protocol != "2024-11-05" {
			t.Errorf("server is %s, MCP %s", name, protocol)
		}
		_, err = c.Call(t.Context(), "find", map[string]any{}, nil)
		if e, ok := errors.AsType[*mcpclient.Error](err); !ok || !e.Aborted || e.Code != code {
			t.Errorf("accepts %t: got %v", accepts, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		srv.Close()
	}
}

// TestOldTransportElsewhere: a token is not sent to another host that the server names.
func TestOldTransportElsewhere(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other host was asked") }))
	defer other.Close()
	for _, endpoint := range []string{other.URL + "/messages", "//" + strings.TrimPrefix(other.URL, "http://") + "/x", "ftp://127.0.0.1/x", "http://%zz"} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", endpoint)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}))
		if _, err := mcpclient.Connect(t.Context(), srv.URL, mcpclient.Options{Token: "secret"}); err == nil {
			t.Errorf("%s: connected", endpoint)
		}
		srv.Close()
	}
}

// TestIDsOfTheServer: the answer to a request of the server has its id, byte for byte.
func TestIDsOfTheServer(t *testing.T) {
	for _, id := range []string{`9007199254740993`, `-9223372036854775809`, `1764338400123456789`, `3.5`, `1e3`, `"\u0061"`, `7`} {
		theirs, in := pipe(t)
		out, ours := pipe(t)
		answered := make(chan string, 1)
		go func() {
			s := speaker{version: "2025-06-18"}
			for lines := bufio.NewReader(theirs); ; {
				line, err := lines.ReadBytes('\n')
				if err != nil {
					return
				}
				if strings.Contains(string(line), `"result"`) {
					answered <- string(line)
				}
				if strings.Contains(string(line), "notifications/initialized") {
					fmt.Fprintf(ours, `{"jsonrpc":"2.0","id":%s,"method":"ping"}`+"\n", id)
				}
				if reply, _ := s.answer(line); reply != "" {
					fmt.Fprintln(ours, reply)
				}
			}
		}()
		c, err := mcpclient.Pipe(t.Context(), in, out, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := awaittest.Receive(t, "the answer", answered); !strings.Contains(got, `"id":`+id+`,`) {
			t.Errorf("%s: got %s", id, got)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
