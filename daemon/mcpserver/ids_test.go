package mcpserver_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"evalctl/daemon"
	"evalctl/internal/awaittest"
)

// idKinds are the ids of MCP's schema, a string or a number, and those that JSON has besides.
var idKinds = map[string]bool{
	`1`: true, `0`: true, `-7`: true, `1.0`: true, `3.5`: true, `1e3`: true, `9007199254740993`: true,
	`-9007199254740993`: true, `1764338400123456789`: true, `9223372036854775807`: true,
	`9223372036854775808`: true, `-9223372036854775809`: true, `18446744073709551616`: true, `1e400`: true,
	`""`: true, `"a"`: true, `"1"`: true, `"\u0061\ud800"`: true, `"<é>"`: true,
	`null`: false, `true`: false, `false`: false, `[1]`: false, `{"a":1}`: false,
}

// TestIDsAreVerbatim: the reply to a request has its id, byte for byte, also if it is an error, and a
// request with another value as its id is an invalid one.
func TestIDsAreVerbatim(t *testing.T) {
	url, _ := startDaemon(t, daemon.Config{})
	for id, valid := range idKinds {
		for name, connect := range wires(t, url) {
			for method, outcome := range map[string]string{
				"ping": `"result":{}`, "nothing": `"code":-32601`, "tools/call": `"code":-32602`,
			} {
				w := connect("2025-11-25")
				w.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"}`)
				want := []string{`"id":` + id + `,`, outcome}
				if !valid {
					want = []string{`"code":-32600`}
				}
				got := strings.Join(w.end(), "\n")
				for _, part := range want {
					if !strings.Contains(got, part) {
						t.Errorf("%s: id %s, %s: got %s, want %s", name, id, method, got, part)
					}
				}
			}
		}
	}
}

// TestCancelledIDs: a cancellation names the call by the id that it has.
func TestCancelledIDs(t *testing.T) {
	asked, stopped := make(chan struct{}, 10), make(chan struct{}, 10)
	url := asking(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not see that the client has gone
		asked <- struct{}{}
		<-r.Context().Done()
		stopped <- struct{}{}
	})
	for name, connect := range wires(t, url) {
		for _, id := range []string{`9007199254740993`, `9223372036854775808`, `3.5`, `"\u0061"`} {
			w := connect("2025-11-25")
			w.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"memory_ask","arguments":{"query":"slow"}}}`)
			awaittest.Receive(t, "asked", asked)
			w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
			awaittest.Receive(t, "stopped", stopped)
			if got := outcomes(t, w.end()); len(got) != 0 {
				t.Errorf("%s: id %s: got %s", name, id, got)
			}
		}
	}
}

// TestCodes: what cannot be answered gets the code of JSON-RPC that says why, over both transports.
func TestCodes(t *testing.T) {
	url, _ := startDaemon(t, daemon.Config{})
	type sent struct {
		message string
		id      string
		code    int
		silent  bool // on a pipe: nobody waits for the answer to a notification
	}
	for _, s := range []sent{
		{message: `{`, code: -32700},
		{message: `nonsense`, code: -32700},
		{message: "{\"a\":\"\xff\"}", code: -32700},
		{message: `{"jsonrpc":"2.0","id":1,"method":"ping"`, code: -32700},
		{message: `5`, code: -32600},
		{message: `{}`, code: -32600},
		{message: `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, code: -32600},
		{message: `{"jsonrpc":"1.0","id":1,"method":"ping"}`, id: `1`, code: -32600},
		{message: `{"id":"a","method":"ping"}`, id: `"a"`, code: -32600},
		{message: `{"jsonrpc":"2.0","id":1,"method":5}`, id: `1`, code: -32600},
		{message: `{"jsonrpc":"2.0","id":null,"method":"ping"}`, code: -32600},
		{message: `{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}`, id: `1`, code: -32600},
		{message: `{"jsonrpc":"2.0","method":"tools/list"}`, code: -32600, silent: true},
		{message: `{"jsonrpc":"2.0","id":1,"method":"x"}`, id: `1`, code: -32601},
		{message: `{"jsonrpc":"2.0","id":1,"method":""}`, id: `1`, code: -32601},
		{message: `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}`, id: `1`, code: -32601},
		{message: `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{}}`, id: `1`, code: -32601},
		{message: `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, id: `1`, code: -32602},
		{message: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`, id: `1`, code: -32602},
		{message: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, id: `1`, code: -32602},
		{message: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":"x"}`, id: `1`, code: -32602},
		{message: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, id: `1`, code: -32602},
		{message: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`, id: `1`, code: -32602},
		{message: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_forget"}}`, id: `1`, code: -32602},
		{message: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":5}}`, id: `1`, code: -32602},
		{message: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`, id: `1`, code: -32602},
		{message: `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x"}}`, id: `1`, code: -32602},
	} {
		for name, connect := range wires(t, url) {
			w := connect("2025-11-25")
			w.send(s.message)
			var got []string
			for _, message := range w.end() {
				var r struct {
					ID    json.RawMessage
					Error struct{ Code int }
				}
				if err := json.Unmarshal([]byte(message), &r); err != nil || r.Error.Code != s.code || string(r.ID) != s.id {
					t.Errorf("%s: %s: got %s, want id %s and code %d", name, s.message, message, s.id, s.code)
				}
				got = append(got, message)
			}
			if silent := s.silent && name == "stdio"; (len(got) != 1) != silent {
				t.Errorf("%s: %s: got %d replies: %s", name, s.message, len(got), got)
			}
		}
	}
}

// TestDeclared: a server declares the capabilities of the methods that it answers, and no others.
func TestDeclared(t *testing.T) {
	url, _ := startDaemon(t, daemon.Config{})
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	ask := func(method string) string {
		return strings.Join(exchange(t, url, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+meta+`}}`), "\n")
	}
	var discovered struct {
		Result struct{ Capabilities map[string]any }
	}
	if err := json.Unmarshal([]byte(ask("server/discover")), &discovered); err != nil {
		t.Fatal(err)
	}
	for capability, methods := range map[string][]string{
		"tools": {"tools/list"}, "prompts": {"prompts/list", "prompts/get"},
		"resources":   {"resources/list", "resources/templates/list", "resources/read"},
		"completions": {"completion/complete"}, "logging": {"logging/setLevel"},
	} {
		_, declared := discovered.Result.Capabilities[capability]
		for _, method := range methods {
			if answered := !strings.Contains(ask(method), `"code":-32601`); answered != declared {
				t.Errorf("%s: answered %t, and %s declared %t", method, answered, capability, declared)
			}
		}
	}
	if got := slices.Sorted(func(yield func(string) bool) {
		for c := range discovered.Result.Capabilities {
			if !yield(c) {
				return
			}
		}
	}); !slices.Equal(got, []string{"prompts", "resources", "tools"}) {
		t.Errorf("declared are %s", got)
	}
}

// TestSubscriptionIDs: the acknowledgement and the result of a subscription name its request by the
// id that it has.
func TestSubscriptionIDs(t *testing.T) {
	url, _ := startDaemon(t, daemon.Config{})
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for _, id := range []string{`7`, `"a"`} {
		listen := `{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{` + meta + `,"notifications":{}}}`
		w := newPipeWire(t, url, "2026-07-28")
		w.send(listen)
		for name, messages := range map[string][]string{"stdio": w.end(), "http": exchange(t, url, listen)} {
			got := strings.Join(messages, "\n")
			for part, times := range map[string]int{`"id":` + id + `,`: 1, `/subscriptionId":` + id + `}`: 2, "verbatim": 0} {
				if strings.Count(got, part) != times {
					t.Errorf("%s: id %s: got %s, want %s in it %d times", name, id, got, part, times)
				}
			}
		}
	}
}
