// Package llmtest is a model provider for tests: a real HTTP server with OpenAI's chat completions,
// plain and streaming, OpenAI's embeddings, and the /rerank of Jina, Cohere and TEI. A script
// determines its responses.
package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Call is one request that arrived.
type Call struct {
	Path   string      `json:"-"`
	Header http.Header `json:"-"`
	// Body is the request body, byte for byte.
	Body []byte `json:"-"`
	// The fields below are parsed from Body.
	Model    string
	Stream   bool
	Messages []Message
	Input    []string // of /embeddings
	// Query belongs to /rerank, with Documents (Jina, Cohere) or Texts (TEI).
	Query            string
	Documents, Texts []string
}

// Message is one message of a Call.
type Message struct{ Role, Content string }

// Reply is a response of the server. The zero value is an empty answer that ended normally; for
// /embeddings, the Vector of each text; for /rerank, the share of the query's words in each text,
// best first.
type Reply struct {
	// Text is the answer. A stream sends it word by word.
	Text string
	// FinishReason is "stop" by default; NoFinishReason omits it.
	FinishReason string
	// Input and Output are the token counts. If both are 0, no usage is sent.
	Input, Output int
	// Usage, unless empty, is the JSON that is sent as the usage, such as a wrong one.
	Usage string
	// Status other than 0 and 200 rejects the request with Body.
	Status int
	// RetryAfter is the header of that name.
	RetryAfter string
	// Body, unless empty, is sent in place of a completion or a stream.
	Body string
	// CutAfter above 0 breaks the connection after that many words of a stream, HangAfter above 0
	// sends nothing further, as Hang does.
	CutAfter, HangAfter int
	// Latency is waited for before anything is sent.
	Latency time.Duration
	// Break closes the connection without a response.
	Break bool
	// Hang sends nothing until the client disconnects or the test ends.
	Hang bool
	// Drip, if above 0, is the time between spaces that are sent until the client disconnects.
	Drip time.Duration
}

// NoFinishReason as Reply.FinishReason omits the field.
const NoFinishReason = "-"

// Server is a running stub. URL is its base URL, "/v1" included.
type Server struct {
	URL string

	reply func(Call) Reply
	done  chan struct{}
	mu    sync.Mutex
	calls []Call
}

// NewServer starts a server that runs until the test ends. reply is called for each request,
// concurrently if requests are concurrent.
func NewServer(t testing.TB, reply func(Call) Reply) *Server {
	t.Helper()
	s := &Server{reply: reply, done: make(chan struct{})}
	srv := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		close(s.done)
		srv.CloseClientConnections()
		srv.Close()
	})
	s.URL = srv.URL + "/v1"
	return s
}

// Script responds to the n-th request with the n-th reply. Further requests get status 418, which
// no client retries.
func Script(replies ...Reply) func(Call) Reply {
	var mu sync.Mutex
	return func(Call) Reply {
		mu.Lock()
		defer mu.Unlock()
		if len(replies) == 0 {
			return Reply{Status: http.StatusTeapot, Body: "the script has ended"}
		}
		r := replies[0]
		replies = replies[1:]
		return r
	}
}

// Calls returns a copy of the requests so far, in order of arrival.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

func (s *Server) serve(w http.ResponseWriter, req *http.Request) {
	c := Call{Path: req.URL.Path, Header: req.Header}
	c.Body, _ = io.ReadAll(req.Body)
	// A body that is not JSON leaves the fields empty, which the test will notice.
	_ = json.Unmarshal(c.Body, &c)
	s.mu.Lock()
	s.calls = append(s.calls, c)
	s.mu.Unlock()

	r := s.reply(c)
	hang := func() {
		select {
		case <-req.Context().Done():
		case <-s.done:
		}
		panic(http.ErrAbortHandler)
	}
	if r.Latency > 0 {
		select {
		case <-time.After(r.Latency):
		case <-req.Context().Done():
			hang()
		}
	}
	switch {
	case r.Hang:
		hang()
	case r.Drip > 0:
		w.WriteHeader(http.StatusOK)
		for req.Context().Err() == nil {
			write(w, " ")
			select {
			case <-time.After(r.Drip):
			case <-s.done:
				hang()
			}
		}
	case r.Break:
		panic(http.ErrAbortHandler)
	case r.Status != 0 && r.Status != http.StatusOK:
		if r.RetryAfter != "" {
			w.Header().Set("Retry-After", r.RetryAfter)
		}
		w.WriteHeader(r.Status)
		write(w, r.Body)
	case strings.HasSuffix(c.Path, "/embeddings"):
		w.Header().Set("Content-Type", "application/json")
		embeddings(w, c, r)
	case strings.HasSuffix(c.Path, "/rerank"):
		w.Header().Set("Content-Type", "application/json")
		rerank(w, c, r)
	case c.Stream:
		w.Header().Set("Content-Type", "text/event-stream")
		stream(w, c, r, hang)
	case strings.HasSuffix(c.Path, "/models"):
		w.Header().Set("Content-Type", "application/json")
		write(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
	default:
		w.Header().Set("Content-Type", "application/json")
		plain(w, c, r)
	}
}

// write sends s at once. It fails only if the client has disconnected.
func write(w http.ResponseWriter, s string) {
	_, _ = io.WriteString(w, s)
	_ = http.NewResponseController(w).Flush()
}

type object map[string]any

func plain(w http.ResponseWriter, c Call, r Reply) {
	if r.Body != "" {
		write(w, r.Body)
		return
	}
	answer := object{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": c.Model,
		"choices": []object{{
			"index": 0, "finish_reason": finishReason(r),
			"message": object{"role": "assistant", "content": r.Text},
		}},
	}
	if u := usage(r); u != nil {
		answer["usage"] = u
	}
	b, _ := json.Marshal(answer)
	write(w, string(b))
}

func stream(w http.ResponseWriter, c Call, r Reply, hang func()) {
	if r.Body != "" {
		write(w, r.Body)
		return
	}
	send := func(choices []object, usage any) {
		frame := object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": c.Model,
			"choices": choices, "usage": usage}
		b, _ := json.Marshal(frame)
		write(w, fmt.Sprintf(": keep-alive\n\ndata: %s\n\n", b))
	}
	for i, word := range strings.SplitAfter(r.Text, " ") {
		if r.CutAfter > 0 && i == r.CutAfter {
			panic(http.ErrAbortHandler)
		}
		if r.HangAfter > 0 && i == r.HangAfter {
			hang()
		}
		send([]object{{"index": 0, "delta": object{"content": word}, "finish_reason": nil}}, nil)
	}
	if reason := finishReason(r); reason != nil {
		send([]object{{"index": 0, "delta": object{}, "finish_reason": reason}}, nil)
	}
	if u := usage(r); u != nil {
		send([]object{}, u)
	}
	write(w, "data: [DONE]\n\n")
}

func finishReason(r Reply) any {
	switch r.FinishReason {
	case "":
		return "stop"
	case NoFinishReason:
		return nil
	}
	return r.FinishReason
}

func usage(r Reply) any {
	if r.Usage != "" {
		return json.RawMessage(r.Usage)
	}
	if r.Input == 0 && r.Output == 0 {
		return nil
	}
	return object{"prompt_tokens": r.Input, "completion_tokens": r.Output, "total_tokens": r.Input + r.Output}
}
