package httpapi

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
	"evalctl/internal/admission"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
	"evalctl/internal/sse"
)

// limit replaces the gates of a server that has no requests.
func (s *server) limit(cfg admission.Config) {
	for k := range s.api.gates {
		s.api.gates[k] = admission.New(cfg)
	}
}

// TestOverloaded: a daemon that can do no work rejects what is work, and goes on with what operators
// need.
func TestOverloaded(t *testing.T) {
	s := startKeyed(t)
	s.limit(admission.Config{})
	for _, tc := range []struct{ method, target, body string }{
		{"POST", "/v1/brains/eval/search", `{"query":"kettle"}`},
		{"GET", "/v1/brains/eval/search?q=kettle", ""},
		{"POST", "/v1/brains/eval/ask", `{"question":"kettle?"}`},
		{"PUT", "/v1/brains/eval/documents?path=b.md", "x"},
		{"GET", "/v1/brains/eval/documents?dir=", ""},
		{"POST", "/v1/brains/eval/consolidate", ""},
	} {
		headers := as("admin")
		if tc.method == "PUT" {
			headers = append(headers, "Content-Type", octets)
		}
		resp := s.do(t, tc.method, tc.target, tc.body, headers...)
		var p protocol.Problem
		err := json.NewDecoder(resp.Body).Decode(&p)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 503 || p.Code != protocol.CodeOverloaded || resp.Header.Get("Retry-After") != "1" {
			t.Errorf("%s %s: got %d %+v, Retry-After %q, %v", tc.method, tc.target, resp.StatusCode, p, resp.Header.Get("Retry-After"), err)
		}
	}
	if status, got := s.tool(t, "memory_search", `{"query":"kettle","brain":"eval"}`, as("reader")...); status != 200 || !strings.Contains(got, `"code":"overloaded"`) {
		t.Errorf("a tool: got %d %s", status, got)
	}
	s.expect(t, 200, "GET", "/healthz?ready", "")
	metrics := s.expect(t, 200, "GET", "/metrics", "", as("admin")...)
	for _, want := range []string{
		`evalctl_work_shed_total{kind="search"} 3`, `evalctl_work_shed_total{kind="ask"} 1`,
		`evalctl_work_shed_total{kind="write"} 1`, `evalctl_work_shed_total{kind="read"} 1`,
		`evalctl_work_shed_total{kind="ingest"} 1`,
		`evalctl_work_in_flight{kind="search"} 0`, `evalctl_work_queued{kind="search"} 0`,
		`evalctl_work_abandoned_total{kind="search"} 0`,
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("no metric %s", want)
		}
	}
	resp := s.do(t, "GET", "/v1/brains/eval/events", "", as("reader")...)
	defer resp.Body.Close()
	if e, err := sse.NewReader(resp.Body, sse.MaxEvent).Next(); err != nil || e.Name != protocol.EventReady {
		t.Errorf("the stream of changes begins with %+v, %v", e, err)
	}
}

// BenchmarkRejection compares the rejection of a search by a full gate with a handler that only
// responds with 503.
func BenchmarkRejection(b *testing.B) {
	s := startFake(b)
	s.limit(admission.Config{})
	logged := slog.New(slog.NewTextHandler(io.Discard, nil)) // as serve has it, but for the disk
	s.api.logger, s.api.refusals.logger = logged, logged
	bare := http.NewServeMux()
	bare.HandleFunc("POST /v1/brains/{id}/search", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", protocol.TypeProblem)
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"status":503,"title":"Overloaded","code":"overloaded"}`)
	})
	for _, handler := range []struct {
		name string
		http.Handler
	}{{"bare", bare}, {"daemon", s.api}} {
		b.Run(handler.name, func(b *testing.B) {
			b.ReportAllocs()
			body := strings.NewReader("")
			r := httptest.NewRequest("POST", "/v1/brains/eval/search", body)
			r.Host = "127.0.0.1"
			r.Header.Set("Content-Type", protocol.TypeJSON)
			for b.Loop() {
				body.Reset(`{"query":"who lives in the street behind the harbour office","top_k":10}`)
				w := discarding{header: http.Header{}}
				handler.ServeHTTP(&w, r)
				if w.status != http.StatusServiceUnavailable {
					b.Fatal(w.status)
				}
			}
		})
	}
}

// discarding is a response that remembers its status only.
type discarding struct {
	header http.Header
	status int
}

func (d *discarding) Header() http.Header         { return d.header }
func (d *discarding) Write(p []byte) (int, error) { return len(p), nil }
func (d *discarding) WriteHeader(status int)      { d.status = status }

// TestEveryKindHasAGate: a route of a kind that newGates does not know would be unlimited.
func TestEveryKindHasAGate(t *testing.T) {
	gates := newGates(2)
	for _, rt := range routes {
		if rt.kind != kindNone && gates[rt.kind] == nil {
			t.Errorf("%s: no gate for kind %q", rt.pattern, rt.kind)
		}
	}
}

// TestStreamsHoldNoSlot: with one slot for each kind and no queue, several answers are streamed at
// the same time, and a tool passes its gate once.
func TestStreamsHoldNoSlot(t *testing.T) {
	waits := waiting{llm.NewFake(), make(chan error, 3)}
	s := start(t, waits, llm.FakeModel)
	s.put(t, "a.md", "The kettle is green.")
	s.limit(admission.Config{Slots: 1})
	for range 3 {
		resp := s.do(t, "POST", "/v1/brains/eval/ask", `{"question":"What colour is the kettle?"}`)
		defer resp.Body.Close()
		if e, err := sse.NewReader(resp.Body, sse.MaxEvent).Next(); err != nil || e.Name != protocol.EventRetrieve {
			t.Fatalf("got %d %+v, %v", resp.StatusCode, e, err)
		}
	}
	for k, gate := range s.api.gates {
		awaittest.Until(t, "slots of kind "+string(k)+" are free", func() bool { return gate.Stats().InFlight == 0 })
	}
	if status, got := s.tool(t, "memory_search", `{"query":"kettle"}`); status != 200 || !strings.Contains(got, "green") {
		t.Errorf("got %d %s", status, got)
	}
}

// TestSlowBodyHoldsNoSlot: a client that is still sending its document keeps no other from writing.
func TestSlowBodyHoldsNoSlot(t *testing.T) {
	s := startFake(t)
	s.limit(admission.Config{Slots: 1, Queue: 1}) // a slot becomes free after the response
	slow := hold(t, s, "PUT", "/v1/brains/eval/documents?path=slow.md", octets, "slow")
	s.put(t, "fast.md", "x")
	if status, body := slow.finish(t); status != http.StatusNoContent {
		t.Errorf("got %d %s", status, body)
	}
	awaittest.Until(t, "the slots are free", func() bool { return s.api.gates[kindWrite].Stats().InFlight == 0 })
}

// TestTenantsShareTheSlots: one tenant occupies all that it may, and another one is served.
func TestTenantsShareTheSlots(t *testing.T) {
	s := startKeyed(t)
	s.limit(admission.Config{Slots: 2, PerTenant: 1})
	leave, err := s.api.gates[kindRead].Enter(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	const eval, theirs = "/v1/brains/eval/documents?dir=", "/v1/brains/theirs/documents?dir="
	if got := s.status(t, "GET", eval, "", as("reader")...); got != http.StatusServiceUnavailable {
		t.Errorf("the tenant that is busy gets %d", got)
	}
	s.expect(t, 200, "GET", theirs, "", as("other")...)
}
