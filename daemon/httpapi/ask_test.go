package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
	"evalctl/internal/sse"
)

// events reads a stream to its end and joins what each event says.
func events(t *testing.T, resp *http.Response) (names []string, answer string, last []byte) {
	t.Helper()
	defer resp.Body.Close()
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

// startOpenAI is a daemon that reads with a provider speaking OpenAI's wire
// format.
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
	const question = `{"question":"Where does Ana live?"}`
	tests := []struct {
		name   string
		reply  llmtest.Reply
		names  string // all but answer_delta
		answer string
		last   string // what the last event must hold
	}{
		{"whole", llmtest.Reply{Text: "She lives in Oslo [1].", Input: 100, Output: 6},
			"retrieve citation done", "She lives in Oslo [1].", `"model":"gpt-4o-mini","usage":{"input_tokens":100,"output_tokens":6}`},
		{"cut by the connection", llmtest.Reply{Text: "She lives in Oslo [1].", CutAfter: 2},
			"retrieve error", "She lives ", `{"code":"bad_gateway","message":`},
		{"ended without a finish reason", llmtest.Reply{Text: "She lives in Oslo.", FinishReason: llmtest.NoFinishReason},
			"retrieve error", "She lives in Oslo.", `"code":"bad_gateway"`},
		{"out of tokens", llmtest.Reply{Text: "She lives in", FinishReason: "length"},
			"retrieve error", "She lives in", `finish reason length","retryable":false`},
		{"wrong key", llmtest.Reply{Status: 401, Body: `{"error":{"message":"bad key"}}`},
			"retrieve error", "", `"retryable":false`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := startOpenAI(t, tt.reply)
			names, answer, last := events(t, s.do(t, "POST", "/v1/brains/eval/ask", question))
			if got := strings.Join(names, " "); got != tt.names || answer != tt.answer || !strings.Contains(string(last), tt.last) {
				t.Errorf("got %s, answer %q, last %s", got, answer, last)
			}
			if strings.Contains(string(last)+s.log.String(), "key-123") {
				t.Error("the key is out")
			}
		})
	}
}

// waiting tells when its context ended.
type waiting struct {
	llm.Provider
	ended chan error
}

func (w waiting) Stream(ctx context.Context, _ llm.Request, emit func(string) error) (llm.Response, error) {
	if err := emit("Well"); err != nil {
		return llm.Response{}, err
	}
	<-ctx.Done()
	w.ended <- context.Cause(ctx)
	return llm.Response{}, ctx.Err()
}

func TestReaderStopsWhenTheClientLeaves(t *testing.T) {
	reader := waiting{ended: make(chan error, 1)}
	s := start(t, reader, "waiting")
	s.put(t, "ana.md", "Ana lives in Oslo.")
	resp := s.do(t, "POST", "/v1/brains/eval/ask", `{"question":"Ana"}`)
	if _, err := sse.NewReader(resp.Body, 0).Next(); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if err := <-reader.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the reader's context ended with %v", err)
	}
}

func TestStopEndsStreamsAndReadiness(t *testing.T) {
	reader := waiting{ended: make(chan error, 1)}
	s := start(t, reader, "waiting")
	s.put(t, "ana.md", "Ana lives in Oslo.")
	resp := s.do(t, "POST", "/v1/brains/eval/ask", `{"question":"Ana"}`)
	s.api.Stop()
	names, answer, last := events(t, resp)
	if strings.Join(names, " ") != "retrieve error" || answer != "Well" || !strings.Contains(string(last), `"code":"shutting_down"`) {
		t.Errorf("got %s, answer %q, last %s", names, answer, last)
	}
	if err := <-reader.ended; !errors.Is(err, errShuttingDown) {
		t.Errorf("the reader's context ended with %v", err)
	}
	if got := s.expect(t, 200, "GET", "/healthz", ""); !strings.Contains(got, `"ready":false`) {
		t.Errorf("health is %s", got)
	}
	s.expect(t, 204, "PUT", "/v1/brains/eval/documents?path=b.md", "x", "Content-Type", octets)
}
