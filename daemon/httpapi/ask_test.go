package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
	"evalctl/internal/sse"
)

// events reads a stream to its end. It returns the names of all events but answer_delta, the
// answer, and the data of the last event.
func events(t *testing.T, resp *http.Response) (names []string, answer string, last []byte) {
	t.Helper()
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != protocol.TypeEvents {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("got %d %s: %s", resp.StatusCode, got, body)
	}
	reader := sse.NewReader(resp.Body, 0)
	for {
		e, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return names, answer, last
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Name == protocol.EventDelta {
			var d protocol.DeltaEvent
			if err := json.Unmarshal(e.Data, &d); err != nil {
				t.Fatal(err)
			}
			answer += d.Delta
		} else {
			names = append(names, e.Name)
		}
		last = append(last[:0], e.Data...)
	}
}

// TestRetrieveEventMatchesItsSchema uses chunks with duplicates.
func TestRetrieveEventMatchesItsSchema(t *testing.T) {
	s := startSearch(t, search.Config{})
	resp := s.do(t, "POST", "/v1/brains/eval/ask", `{"question":"Who lives in Rome?"}`)
	defer resp.Body.Close()
	e, err := sse.NewReader(resp.Body, 0).Next()
	if err != nil || e.Name != protocol.EventRetrieve || !strings.Contains(string(e.Data), `"duplicates":[{"chunk_id":"b2.md#0","document_id":"b2.md","path":"b2.md"}]`) {
		t.Fatalf("got %s %s, %v", e.Name, e.Data, err)
	}
	readDocument(t).check(t, schemaRef("RetrieveEvent"), string(e.Data))
}

// startOpenAI starts a daemon whose reader is a provider with OpenAI's wire format.
func startOpenAI(t *testing.T, reply llmtest.Reply) *server {
	t.Helper()
	stub := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply { return reply })
	provider, err := llm.Open(llm.Config{Provider: llm.ProviderOpenAI, Model: "gpt-4o-mini", BaseURL: stub.URL, APIKey: "key-123"})
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, provider, "gpt-4o-mini")
	s.put(t, "ana.md", "Ana lives in Oslo.")
	return s
}

func TestAskOverAnOpenAIProvider(t *testing.T) {
	t.Parallel()
	const question = `{"question":"Where does Ana live?"}`
	// frame is a frame of the provider's stream.
	frame := func(delta string) string {
		return `data: {"choices":[{"index":0,"delta":{"content":"` + delta + `"},"finish_reason":null}]}` + "\n\n"
	}
	const end = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	const badGateway = `{"code":"bad_gateway","message":`
	tests := []struct {
		name   string
		reply  llmtest.Reply
		names  string // of all events but answer_delta
		answer string
		last   string // part of the last event
	}{
		{"whole", llmtest.Reply{Text: "She lives in Oslo [1].", Input: 100, Output: 6},
			"retrieve citation done", "She lives in Oslo.", `"usage":{"input_tokens":100,"output_tokens":6}`},
		{"without usage", llmtest.Reply{Text: "She lives in Oslo."},
			"retrieve done", "She lives in Oslo.", `"output_tokens":5}`}, // estimated
		{"markers cut by deltas", llmtest.Reply{Body: frame("[") + frame("1") + frame("] Oslo") + frame(" [") + frame("1]") + frame(".") + end},
			"retrieve citation done", "Oslo.", `{"ok":true,"answer":"Oslo.",`},
		{"invalid UTF-8", llmtest.Reply{Body: frame("Os\xff") + frame("\xc3") + frame("lo") + end},
			"retrieve done", "Os\ufffd\ufffdlo", "{\"ok\":true,\"answer\":\"Os\ufffd\ufffdlo\","},
		{"cut by the connection", llmtest.Reply{Text: "She lives in Oslo [1].", CutAfter: 2},
			"retrieve error", "She lives", badGateway},
		{"cut within a frame", llmtest.Reply{Body: frame("She") + frame(" lives")[:30]},
			"retrieve error", "She", badGateway},
		{"cut within a marker", llmtest.Reply{Body: frame("Oslo [1")},
			"retrieve error", "Oslo", badGateway},
		{"ended without a finish reason", llmtest.Reply{Text: "She lives in Oslo.", FinishReason: llmtest.NoFinishReason},
			"retrieve error", "She lives in Oslo.", badGateway},
		{"not a stream", llmtest.Reply{Body: "<html>"},
			"retrieve error", "", badGateway},
		{"out of tokens", llmtest.Reply{Text: "She lives in", FinishReason: "length"},
			"retrieve error", "She lives in", `finish reason length","retryable":false`},
		{"filtered", llmtest.Reply{Text: "She", FinishReason: "content_filter"},
			"retrieve error", "She", `finish reason content_filter","retryable":false`},
		{"empty", llmtest.Reply{Body: end},
			"retrieve error", "", `gave no answer: gpt-4o-mini returned no text, with finish reason \"stop\"","retryable":true`},
		{"only markers", llmtest.Reply{Text: "[1] [1]"},
			"retrieve error", "", `"retryable":true`},
		{"wrong key", llmtest.Reply{Status: 401, Body: `{"error":{"message":"bad key"}}`},
			"retrieve error", "", `"retryable":false`},
		{"rate limit", llmtest.Reply{Status: 429, RetryAfter: "3600", Body: `{"error":{"message":"slow down"}}`},
			"retrieve error", "", `{"code":"rate_limited","message":`},
		{"server error", llmtest.Reply{Status: 500, Body: "<html>"},
			"retrieve error", "", badGateway},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // some replies are asked for again after a while
			s := startOpenAI(t, tt.reply)
			resp := s.do(t, "POST", "/v1/brains/eval/ask", question)
			defer resp.Body.Close()
			names, answer, last := events(t, resp)
			if got := strings.Join(names, " "); got != tt.names || answer != tt.answer || !strings.Contains(string(last), tt.last) {
				t.Errorf("got %s, answer %q, last %s", got, answer, last)
			}
			var done protocol.DoneEvent
			if strings.HasSuffix(tt.names, "done") && (json.Unmarshal(last, &done) != nil || done.Answer != answer) {
				t.Errorf("the deltas are %q, and done is %s", answer, last)
			}
			retryable := strings.Contains(string(last), `"retryable":true`)
			if final := strings.Contains(tt.last, `"retryable":false`) || tt.name == "wrong key"; strings.HasSuffix(tt.names, "error") && retryable == final {
				t.Errorf("last is %s", last)
			}
			if strings.Contains(string(last)+s.log.String(), "key-123") {
				t.Error("the key is in a response or the log")
			}
		})
	}
}

// waiting is a reader that sends one delta and waits for the end of its context, whose cause it
// sends to ended.
type waiting struct {
	llm.Provider
	ended chan error
}

func (w waiting) Complete(ctx context.Context, r llm.Request) (llm.Response, error) {
	if err := r.Emit("Well"); err != nil {
		return llm.Response{}, err
	}
	<-ctx.Done()
	w.ended <- context.Cause(ctx)
	return llm.Response{}, ctx.Err()
}

// askWaiting returns when the delta of a waiting reader has arrived.
func askWaiting(t *testing.T, s *server) (*http.Response, *sse.Reader) {
	t.Helper()
	s.put(t, "ana.md", "Ana lives in Oslo.")
	resp := s.do(t, "POST", "/v1/brains/eval/ask", `{"question":"Ana"}`)
	reader := sse.NewReader(resp.Body, 0)
	for _, want := range []string{protocol.EventRetrieve, protocol.EventDelta} {
		if e, err := reader.Next(); err != nil || e.Name != want {
			t.Fatalf("got event %q, %v, want %s", e.Name, err, want)
		}
	}
	return resp, reader
}

func TestReaderStopsWhenTheClientDisconnects(t *testing.T) {
	reader := waiting{ended: make(chan error, 1)}
	s := start(t, reader, "waiting")
	resp, _ := askWaiting(t, s)
	resp.Body.Close()
	if err := awaittest.Receive(t, "reader.ended", reader.ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the reader's context ended with %v", err)
	}
}

// TestProviderRequestEndsWithTheClient: when the client disconnects, the request to the model
// provider is canceled, whether it has sent nothing yet or a part of its answer.
func TestProviderRequestEndsWithTheClient(t *testing.T) {
	for name, delta := range map[string]string{
		"before the answer": "",
		"within the answer": `data: {"choices":[{"index":0,"delta":{"content":"Well"},"finish_reason":null}]}` + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			asked, canceled := make(chan struct{}), make(chan struct{})
			provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body) // the server notices the end of the connection only then
				if delta != "" {
					w.Header().Set("Content-Type", protocol.TypeEvents)
					_, _ = io.WriteString(w, delta)
					_ = http.NewResponseController(w).Flush()
				}
				close(asked)
				<-r.Context().Done()
				close(canceled)
			}))
			defer provider.Close()
			reader, err := llm.Open(llm.Config{Provider: llm.ProviderOpenAI, Model: "m", BaseURL: provider.URL, APIKey: "k"})
			if err != nil {
				t.Fatal(err)
			}
			s := start(t, reader, "m")
			s.put(t, "ana.md", "Ana lives in Oslo.")
			resp := s.do(t, "POST", "/v1/brains/eval/ask", `{"question":"Ana"}`)
			events := sse.NewReader(resp.Body, 0)
			if e, err := events.Next(); err != nil || e.Name != protocol.EventRetrieve {
				t.Fatalf("got event %q, %v", e.Name, err)
			}
			if delta != "" {
				if e, err := events.Next(); err != nil || string(e.Data) != `{"delta":"Well"}` {
					t.Fatalf("got event %q %s, %v", e.Name, e.Data, err)
				}
			}
			awaittest.Receive(t, "asked", asked)
			resp.Body.Close()
			awaittest.Receive(t, "canceled", canceled)
		})
	}
}

func TestStopEndsStreamsAndReadiness(t *testing.T) {
	reader := waiting{ended: make(chan error, 1)}
	s := start(t, reader, "waiting")
	resp, stream := askWaiting(t, s)
	defer resp.Body.Close()
	s.api.Stop()
	if e, err := stream.Next(); err != nil || e.Name != protocol.EventError || !strings.Contains(string(e.Data), `"code":"shutting_down"`) {
		t.Errorf("got event %q %s, %v", e.Name, e.Data, err)
	}
	if e, err := stream.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the error: event %q, %v", e.Name, err)
	}
	if err := awaittest.Receive(t, "reader.ended", reader.ended); !errors.Is(err, errShuttingDown) {
		t.Errorf("the reader's context ended with %v", err)
	}
	if got := s.expect(t, 200, "GET", "/healthz", ""); !strings.Contains(got, `"ready":false`) {
		t.Errorf("health is %s", got)
	}
	s.expect(t, 204, "PUT", "/v1/brains/eval/documents?path=b.md", "x", "Content-Type", octets)
}
