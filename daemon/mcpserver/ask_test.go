package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"evalctl/daemon/client"
	"evalctl/daemon/mcpclient"
	"evalctl/daemon/mcpserver"
	"evalctl/internal/awaittest"
)

// asking is a daemon with one brain whose answers are those of a function.
func asking(t testing.TB, answer func(w http.ResponseWriter, r *http.Request)) string {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/brains", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"items":[{"id":"one","slug":"one","name":"One","visibility":"private"}]}`)
	})
	mux.HandleFunc("POST /v1/brains/one/ask", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		answer(w, r)
	})
	url := stub(t, mux)
	mux.Handle("/mcp", handler(t, url))
	return url
}

// handler returns the tools of the daemon at url over HTTP.
func handler(t testing.TB, url string) http.Handler {
	return newServer(t, url, "").Handler()
}

func TestAskStreams(t *testing.T) {
	url := asking(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "event: retrieve\ndata: {\"chunks\":[{\"chunk_id\":\"c\",\"document_id\":\"d\",\"score\":1,\"preview\":\"p\"}]}\n\n")
		fmt.Fprint(w, "event: retrieve\ndata: {\"chunks\":[]}\n\n") // the first one counts
		for _, delta := range []string{"Gre", "en ", "", "té\n"} {
			fmt.Fprintf(w, "event: answer_delta\ndata: {\"delta\":%q}\n\n", delta)
		}
		fmt.Fprint(w, "event: citation\ndata: {\"type\":\"citation\",\"chunk_id\":\"c\",\"quote\":\"q\",\"answer_start\":0,\"answer_end\":3}\n\n")
		fmt.Fprint(w, "event: done\ndata: {\"ok\":true,\"answer\":\"Green té\\n\"}\n\n")
	})
	for transport := range transports {
		c := connect(t, transport, url)
		for _, token := range []any{"tok en", 7} {
			var messages []string
			var tokens []string
			r, err := c.CallToken(t.Context(), "memory_ask", object{"query": "x"}, token, func(p mcpclient.Progress) {
				messages = append(messages, p.Message)
				tokens = append(tokens, string(p.Token))
			})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(messages, []string{"Gre", "en ", "", "té\n"}) || tokens[3] != map[any]string{7: "7"}[token] && tokens[3] != `"tok en"` {
				t.Errorf("%s: progress is %q, %s", transport, messages, tokens)
			}
			const want = `{"answer":"Green té\n","citations":[{"answer_end":3,"answer_start":0,"chunk_id":"c","document_id":"","quote":"q","type":"citation"}],` +
				`"retrieved":[{"chunk_id":"c","document_id":"d","preview":"p","score":1}]}`
			if string(r.Structured) != want || r.Text != "Green té\n" {
				t.Errorf("%s: result is %s", transport, r.Structured)
			}
		}
		_, err := c.CallToken(t.Context(), "memory_ask", object{"query": "x"}, "", func(mcpclient.Progress) {
			t.Errorf("%s: a notification for the empty token", transport)
		})
		if err != nil {
			t.Error(err)
		}
		if r := call(t, c, "memory_ask", object{"query": "x"}); r.Text != "Green té\n" {
			t.Errorf("%s: result is %+v", transport, r)
		}
		if n := c.Stray(); n != 0 {
			t.Errorf("%s: %d notifications without a token", transport, n)
		}
	}
}

// TestAskFails ends streams in every way but done.
func TestAskFails(t *testing.T) {
	const delta = "event: answer_delta\ndata: {\"delta\":\"Gre\"}\n\n"
	for name, tc := range map[string]struct {
		stream string
		want   mcpclient.Failure
		text   bool // the failure is the text, without structured content
		deltas int  // before the failure
	}{
		"error event": {
			delta + "event: error\ndata: {\"code\":\"rate_limited\",\"message\":\"slow \\\"down\\\"\",\"retryable\":true}\n\n" + delta,
			mcpclient.Failure{Code: "rate_limited", Message: `slow "down"`, Retryable: true}, true, 1,
		},
		"error first": {
			"event: error\ndata: {\"code\":\"x_y\",\"message\":\"m\",\"retryable\":false}\n\n",
			mcpclient.Failure{Code: "x_y", Message: "m"}, true, 0,
		},
		"cut": {delta, mcpclient.Failure{Code: "bad_gateway", Retryable: true}, true, 1},
		"not ok": {
			delta + "event: done\ndata: {\"ok\":false}\n\n",
			mcpclient.Failure{Code: "bad_gateway", Retryable: true}, true, 1,
		},
		"no JSON": {delta + "event: answer_delta\ndata: {\n\n", mcpclient.Failure{Code: "bad_gateway", Retryable: true}, true, 1},
		"nothing": {"", mcpclient.Failure{Code: "bad_gateway"}, false, 0},
	} {
		url := asking(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, tc.stream) })
		for transport := range transports {
			t.Run(name+" "+transport, func(t *testing.T) {
				c := connect(t, transport, url)
				count := 0
				r, err := c.Call(t.Context(), "memory_ask", object{"query": "x"}, func(mcpclient.Progress) { count++ })
				if err != nil || r.Failure == nil {
					t.Fatalf("got %+v, %v", r, err)
				}
				f := *r.Failure
				if tc.want.Message == "" {
					f.Message = ""
				}
				if f != tc.want || tc.text != (r.Structured == nil) || count != tc.deltas {
					t.Errorf("got %+v after %d notifications, structured content %s", *r.Failure, count, r.Structured)
				}
			})
		}
	}
}

// TestAskIsCancelled cancels a call in the middle of its answer.
func TestAskIsCancelled(t *testing.T) {
	for transport := range transports {
		t.Run(transport, func(t *testing.T) {
			ended := make(chan struct{})
			url := asking(t, func(w http.ResponseWriter, r *http.Request) {
				defer close(ended)
				fmt.Fprint(w, "event: answer_delta\ndata: {\"delta\":\"Gre\"}\n\n")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			})
			c := connect(t, transport, url)
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("enough")
			_, err := c.Call(ctx, "memory_ask", object{"query": "x"}, func(mcpclient.Progress) { cancel(why) })
			if !errors.Is(err, why) {
				t.Errorf("got %v", err)
			}
			awaittest.Receive(t, "ended", ended) // the daemon's request ends too
		})
	}
}

func newServer(t testing.TB, url, brain string) *mcpserver.Server {
	t.Helper()
	s, err := mcpserver.New(mcpserver.Config{Client: newClient(t, url), DefaultBrain: brain})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newForeignServer is newServer for a daemon that may speak another dialect.
func newForeignServer(t testing.TB, url, brain string) *mcpserver.Server {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(url, &client.Options{HTTPClient: &http.Client{Transport: mcpserver.Translate(transport)}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := mcpserver.New(mcpserver.Config{Client: c, DefaultBrain: brain})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestProgressComesBeforeReply reads the messages of an ask as they are written. On stdio, the
// reply follows when the client has answered the ping after the progress.
func TestProgressComesBeforeReply(t *testing.T) {
	url := asking(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "event: answer_delta\ndata: {\"delta\":\"Green\"}\n\nevent: answer_delta\ndata: {\"delta\":\" tea\"}\n\nevent: done\ndata: {\"ok\":true}\n\n")
	})
	ask := func(id, meta string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"memory_ask",` + meta + `"arguments":{"query":"x"}}}`
	}
	w := newPipeWire(t, url, "2025-11-25")
	for _, id := range []string{"1", "2"} {
		w.send(ask(id, `"_meta":{"progressToken":7},`))
		for i, want := range []string{`"message":"Green"`, `"message":" tea"`, `"id":"settle-` + id + `","method":"ping"`} {
			if got := awaittest.Receive(t, "w.lines", w.lines); !strings.Contains(got, want) {
				t.Fatalf("message %d is %s, want %s", i, got, want)
			}
		}
		w.send(`{"jsonrpc":"2.0","id":"settle-` + id + `","result":{}}`)
		if got := awaittest.Receive(t, "w.lines", w.lines); !strings.Contains(got, `"id":`+id+`,"result"`) {
			t.Errorf("got %s", got)
		}
	}
	w.send(ask("3", ""))
	if got := w.end(); len(got) != 1 || !strings.Contains(got[0], `"answer":"Green tea"`) {
		t.Errorf("without progress: %s", got)
	}
	// Over HTTP, clients pass on each message before they read the next.
	web := newWebWire(t, url, "2025-11-25")
	web.send(ask("1", `"_meta":{"progressToken":7},`))
	if got := web.receive(); len(got) != 3 || !strings.Contains(got[1], " tea") || !strings.Contains(got[2], `"id":1,"result"`) {
		t.Errorf("over HTTP: %s", got)
	}
}
