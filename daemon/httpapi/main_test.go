package httpapi

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evalctl/daemon/brain"
	"evalctl/daemon/client"
	"evalctl/daemon/fetch"
	"evalctl/daemon/mcpserver"
	"evalctl/daemon/memory"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
	"evalctl/internal/longtest"
)

func TestMain(m *testing.M) {
	longtest.Parallel(8) // most parallel tests wait
	longtest.TempInMemory()
	goleak.VerifyTestMain(m)
}

var epoch = time.Date(2024, 5, 1, 12, 0, 0, 123_456_789, time.UTC)

// server is an API on a real socket. Its clocks stand still.
type server struct {
	api    *API
	brains *brain.Service
	url    string
	client *http.Client
	log    *awaittest.Log
}

func start(t testing.TB, reader llm.Provider, model string) *server {
	t.Helper()
	s := startWith(t, reader, model, nil)
	s.expect(t, 201, "POST", "/v1/brains", `{"id":"eval"}`)
	return s
}

// startWith starts a server without brains. Keys may be nil.
func startWith(t testing.TB, reader llm.Provider, model string, keys *Keys) *server {
	t.Helper()
	return startConfig(t, brain.Config{}, memory.Config{Reader: reader, Model: model}, keys)
}

// startConfig is startWith with configurations of the services.
func startConfig(t testing.TB, cfg brain.Config, m memory.Config, keys *Keys) *server {
	t.Helper()
	now := func() time.Time { return epoch }
	cfg.Now, m.Now = now, now
	cfg.OpenStore = func(context.Context, brain.Record) (*store.Store, error) {
		return memstore.Open(&store.Options{Now: now}), nil
	}
	return serve(t, keys, cfg, m)
}

// serve is startConfig with a store of the caller's choice.
func serve(t testing.TB, keys *Keys, cfg brain.Config, m memory.Config) *server {
	t.Helper()
	if cfg.Catalog == nil {
		cfg.Catalog = new(brain.MemoryCatalog)
	}
	cfg.SearchWait = cmp.Or(cfg.SearchWait, time.Hour)
	brains, err := brain.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if m.Fetcher == nil {
		m.Fetcher = fetch.New(fetch.Options{AllowPrivate: true}) // the pages of tests are on loopback
	}
	memories, err := memory.New(m)
	if err != nil {
		t.Fatal(err)
	}
	log := &awaittest.Log{}
	api := New(Config{Brains: brains, Memory: memories, Options: Options{Keys: keys, Version: "test"}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	api.HandleMCP(toolsOf(t, api))
	srv := httptest.NewServer(api)
	t.Cleanup(func() {
		api.Stop()
		srv.Close()
		memories.Close()
		if err := brains.Close(); err != nil {
			t.Error(err)
		}
	})
	return &server{api: api, brains: brains, url: srv.URL, client: srv.Client(), log: log}
}

// toolsOf returns the handler of the memory_* tools of an API.
func toolsOf(t testing.TB, api *API) http.Handler {
	t.Helper()
	c, err := client.New("http://localhost", &client.Options{HTTPClient: &http.Client{Transport: api.Local()}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := mcpserver.New(mcpserver.Config{Client: c})
	if err != nil {
		t.Fatal(err)
	}
	return s.Handler()
}

// open returns the store of a brain.
func (s *server) open(t testing.TB, id string) *store.Store {
	t.Helper()
	h, err := s.brains.Find(id)
	if err != nil {
		t.Fatal(err)
	}
	st, err := h.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// fakeReader answers without a model provider.
func fakeReader() memory.Config { return memory.Config{Reader: llm.NewFake(), Model: llm.FakeModel} }

func startFake(t testing.TB) *server { return start(t, llm.NewFake(), llm.FakeModel) }

// do sends a request with headers given as name, value pairs.
func (s *server) do(t testing.TB, method, target, body string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func (s *server) expect(t testing.TB, status int, method, target, body string, headers ...string) string {
	t.Helper()
	resp := s.do(t, method, target, body, headers...)
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != status {
		t.Fatalf("%s %.200s: got %d %s, want %d", method, target, resp.StatusCode, got, status)
	}
	return string(got)
}

// decoded is JSON that a server sent, as a value of a type.
func decoded[T any](t testing.TB, body string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return value
}

// wantProblem checks the code of a problem, and what its detail contains.
func wantProblem(t testing.TB, body, code, detail string) {
	t.Helper()
	if p := decoded[protocol.Problem](t, body); p.Code != code || !strings.Contains(p.Detail, detail) {
		t.Errorf("got %s, want %s with %q", body, code, detail)
	}
}

func (s *server) put(t testing.TB, path, text string) {
	t.Helper()
	s.expect(t, 204, "PUT", "/v1/brains/eval/documents?path="+path, text, "Content-Type", "application/octet-stream")
}

func zip(t testing.TB, data []byte) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
