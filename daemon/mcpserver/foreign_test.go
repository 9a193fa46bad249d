package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/daemon/mcpclient"
	"evalctl/daemon/mcpserver"
)

// foreign is a daemon with one brain and a few endpoints. It knows brains only by their ids.
type foreign struct {
	mux      *http.ServeMux
	requests []string // method and path, with the body of messages and documents
	status   int      // of the endpoints that it does not have
}

func newForeign(t testing.TB) (*foreign, string) {
	f := &foreign{mux: http.NewServeMux(), status: http.StatusNotFound}
	f.answer("GET /v1/brains", `{"items":[{"id":"b-1","slug":"notes","name":"Notes","visibility":"private","color":"red"}],"next":null}`)
	return f, stub(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		f.requests = append(f.requests, r.Method+" "+r.URL.Path+" "+string(body))
		if h, pattern := f.mux.Handler(r); pattern != "" {
			h.ServeHTTP(w, r)
			return
		}
		http.Error(w, "what?", f.status)
	}))
}

func (f *foreign) answer(pattern, body string) {
	f.mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, body)
	})
}

// local connects to a server on pipes in this process.
func local(t testing.TB, s *mcpserver.Server) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.New(t.Context(), pipe(t, s))
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

// pipe serves one client on pipes.
func pipe(t testing.TB, s *mcpserver.Server) mcp.Transport {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := s.ServeStdio(context.Background(), fromClient, toClient)
		toClient.Close()
		served <- err
	}()
	t.Cleanup(func() {
		if err := <-served; err != nil {
			t.Errorf("ServeStdio: %v", err)
		}
	})
	return &mcp.IOTransport{Reader: fromServer, Writer: toServer}
}

func TestConsolidateFallsBack(t *testing.T) {
	for _, status := range []int{404, 405, 501} {
		f, url := newForeign(t)
		f.status = status
		c := local(t, newServer(t, url, ""))
		for _, brain := range []string{"", "b-1", "notes"} {
			r := call(t, c, "memory_consolidate", object{"brain": brain})
			if r.Failure == nil || r.Failure.Code != "not_implemented" {
				t.Errorf("%d, brain %q: %+v", status, brain, r)
			}
		}
		f.answer("POST /v1/brains/b-1/compile", `{"compiled":["a.md"]}`)
		for _, brain := range []string{"", "b-1", "notes"} {
			r := call(t, c, "memory_consolidate", object{"brain": brain})
			if r.Failure != nil || string(r.Structured) != `{"result":{"compiled":["a.md"]}}` {
				t.Errorf("%d, brain %q: %+v %s", status, brain, r.Failure, r.Structured)
			}
		}
		if r := call(t, c, "memory_consolidate", object{"brain": "other"}); r.Failure == nil || r.Failure.Code != "no_brain" {
			t.Errorf("another brain: %+v", r)
		}
	}
	f, url := newForeign(t)
	f.answer("POST /v1/brains/b-1/compile", `{"result":[1,2]}`)
	if r := call(t, local(t, newServer(t, url, "")), "memory_consolidate", nil); string(r.Structured) != `{"result":[1,2]}` {
		t.Errorf("got %s", r.Structured)
	}
}

func TestExtractFallsBack(t *testing.T) {
	f, url := newForeign(t)
	n := 0
	f.mux.HandleFunc("POST /v1/brains/b-1/sessions/s/messages", func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 6 {
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"code":"rate_limited","detail":"slow down"}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"m%d","session_id":"s","role":"user","content":"x","created_at":"2024-05-01T00:00:00Z","metadata":{"actor_id":"ana"}}`, n)
	})
	c := local(t, newServer(t, url, "notes"))
	messages := []object{{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}, {"role": "tool", "content": "three"}}
	r := call(t, c, "memory_extract", object{"messages": messages, "session_id": "s", "actor_id": "ana"})
	if r.Failure != nil || strings.Contains(string(r.Structured), "metadata") || strings.Count(string(r.Structured), `"id":"m`) != 3 {
		t.Errorf("got %+v %s", r.Failure, r.Structured)
	}
	var metadata []string
	for _, request := range f.requests {
		if _, body, ok := strings.Cut(request, "POST /v1/brains/b-1/sessions/s/messages "); ok {
			var m struct{ Metadata json.RawMessage }
			if err := json.Unmarshal([]byte(body), &m); err != nil {
				t.Fatal(err)
			}
			metadata = append(metadata, string(m.Metadata))
		}
	}
	if want := []string{`{"actor_id":"ana","skip_extract":true}`, `{"actor_id":"ana","skip_extract":true}`, `{"actor_id":"ana"}`}; !slices.Equal(metadata, want) {
		t.Errorf("metadata of the messages: %s", metadata)
	}
	r = call(t, c, "memory_extract", object{"messages": messages, "session_id": "s"})
	if r.Failure == nil || r.Failure.Code != "rate_limited" || r.Failure.Message != "messages[2] failed, the 2 before were added: slow down" {
		t.Errorf("got %+v", r.Failure)
	}
}

// TestConsolidatePassesThrough reads the structured content of memory_consolidate as it is on the
// wire, before foreign daemons whose result has any form.
func TestConsolidatePassesThrough(t *testing.T) {
	for body, want := range map[string]string{
		`{"result":{"compiled":2,"tookMs":1.50,"DocID":12345678901234567890}}`: `{"result":{"compiled":2,"tookMs":1.50,"DocID":12345678901234567890}}`,
		`{"compiled":[],"promoted":[],"pruned":[],"newKey":{"aB":null}}`:       `{"result":{"compiled":[],"promoted":[],"pruned":[],"newKey":{"aB":null}}}`,
		`{"jobId":"j","result":[1e400,-0.0]}`:                                  `{"jobId":"j","result":[1e400,-0.0]}`,
		`{"Result":1}`:                                                         `{"result":{"Result":1}}`,
		`{"result":{"compiled":7,"promoted":"x","pruned":null}}`:               `{"result":{"compiled":7,"promoted":"x","pruned":null}}`,
		`[{"a":1}]`: `{"result":[{"a":1}]}`,
		`"done"`:    `{"result":"done"}`,
		`null`:      `{"result":null}`,
		``:          `{"result":null}`,
	} {
		for _, endpoint := range []string{"consolidate", "compile"} {
			f, url := newForeign(t)
			f.answer("POST /v1/brains/b-1/"+endpoint, body)
			s := newForeignServer(t, url, "b-1")
			got := replies(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_consolidate","arguments":{}}}`)
			if text := strings.Join(got, "\n"); !strings.Contains(text, `"structuredContent":`+want+`}`) {
				t.Errorf("%s %s: got %s", endpoint, body, text)
			}
		}
	}
}

// TestIngestPassesExtraKeysThrough: in the response to an ingest, only fields of the protocol are
// renamed.
func TestIngestPassesExtraKeysThrough(t *testing.T) {
	f, url := newForeign(t)
	f.answer("POST /v1/brains/b-1/documents/ingest/url",
		`{"documentId":"d","Path":"p.md","chunkCount":2,"durationMS":5,"pageCount":3,"source":{"MimeType":"x","n":1.50}}`)
	got := replies(t, newForeignServer(t, url, "b-1"),
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_ingest_url","arguments":{"url":"http://example.com"}}}`)
	text := strings.Join(got, "\n")
	for _, want := range []string{
		`"document_id":"d"`, `"path":"p.md"`, `"chunk_count":2`, `"duration_ms":5`, `"pageCount":3`, `"source":{"MimeType":"x","n":1.50}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got %s, want %s in it", text, want)
		}
	}
}

// TestSearchesSayWhatRan: the tools that search pass on which mode ran, and why it is a lower one.
func TestSearchesSayWhatRan(t *testing.T) {
	const state = `"effective_mode":"bm25","degraded":"the embedder is gone"`
	f, url := newForeign(t)
	f.answer("POST /v1/brains/b-1/search", `{"chunks":[],`+state+`}`)
	f.answer("POST /v1/brains/b-1/sessions/s/recall", `{"chunks":[],`+state+`}`)
	f.mux.HandleFunc("POST /v1/brains/b-1/ask", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: retrieve\ndata: {\"chunks\":[],"+state+"}\n\nevent: done\ndata: {\"ok\":true,\"answer\":\"Tea.\"}\n\n")
	})
	c := local(t, newServer(t, url, ""))
	for _, one := range []struct {
		tool string
		args object
		text string
	}{
		{"memory_search", object{"query": "tea"}, "no hits\n\nthe search fell back to bm25: the embedder is gone"},
		{"memory_recall", object{"query": "tea", "session_id": "s"}, "no hits\n\nthe search fell back to bm25: the embedder is gone"},
		{"memory_ask", object{"query": "tea"}, "Tea."},
	} {
		if r := call(t, c, one.tool, one.args); !strings.Contains(string(r.Structured), state) || r.Text != one.text {
			t.Errorf("%s: got %s, text %q", one.tool, r.Structured, r.Text)
		}
	}
}
