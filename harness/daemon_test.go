package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// call is one request that a stub daemon got.
type call struct {
	method, path string
	header       http.Header
	raw          []byte
	body         map[string]any // nil when raw is no JSON object
}

// stub is a daemon under the test's control, on a real socket.
type stub struct {
	*httptest.Server
	mu    sync.Mutex
	calls []call
}

// newStub answers every request with answer. Calls are kept in order of arrival.
func newStub(tb testing.TB, answer func(w http.ResponseWriter, r *http.Request, c call)) *stub {
	tb.Helper()
	s := &stub{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		c := call{method: r.Method, path: r.URL.RequestURI(), header: r.Header.Clone(), raw: raw}
		_ = json.Unmarshal(raw, &c.body)
		s.mu.Lock()
		s.calls = append(s.calls, c)
		s.mu.Unlock()
		answer(w, r, c)
	}))
	tb.Cleanup(s.Close)
	return s
}

// seen gives the calls so far.
func (s *stub) seen() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]call(nil), s.calls...)
}

// asked gives the questions so far, in order of arrival.
func (s *stub) asked() []string {
	var out []string
	for _, c := range s.seen() {
		if strings.HasSuffix(c.path, "/ask") {
			out = append(out, c.body["question"].(string))
		}
	}
	return out
}

func (s *stub) endpoint(tb testing.TB, token string) *Endpoint {
	tb.Helper()
	e, err := NewEndpoint(s.URL, token, "evalctl-test", 16)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Close)
	return e
}

func (s *stub) target(tb testing.TB) *Target {
	return &Target{Endpoint: s.endpoint(tb, ""), Brains: map[string]string{"": "eval"}, Scenario: AskBasic, Mode: "auto", TopK: 5, Dialect: Auto}
}

// stream answers with an event stream, as it is given.
func stream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
}

// event is one frame in the specification's form.
func event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

// answerTo is the whole stream of a daemon that answers "question 7" with
// "answer 7".
func answerTo(question string) string {
	n := strings.TrimPrefix(question, "question ")
	return event("retrieve", `{"chunks":[{"chunk_id":"c`+n+`","document_id":"raw/documents/d`+n+`.md","score":1.5,"preview":"text `+n+`"}],"mode":"auto","effective_mode":"bm25"}`) +
		event("answer_delta", `{"delta":"answer "}`) +
		event("answer_delta", `{"delta":"`+n+`"}`) +
		event("citation", `{"chunk_id":"c`+n+`","document_id":"d`+n+`","quote":"text `+n+`"}`) +
		event("done", `{"ok":true,"answer":"answer `+n+`","model":"fake","usage":{"input_tokens":10,"output_tokens":2}}`)
}

// answering is a daemon that answers every question at once.
func answering(tb testing.TB) *stub {
	return newStub(tb, func(w http.ResponseWriter, _ *http.Request, c call) {
		stream(w, answerTo(c.body["question"].(string)))
	})
}

// hangUp closes the connection without another byte.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// playDaemon serves until its process is ended. It says its URL on stdout,
// answers after DELAY, flushing each event unless WHOLE is set, and never
// answers a question that says hang.
func playDaemon() error {
	delay, err := time.ParseDuration(os.Getenv("DELAY"))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Question string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if strings.Contains(body.Question, "hang") {
			<-r.Context().Done()
			return
		}
		time.Sleep(delay)
		w.Header().Set("Content-Type", "text/event-stream")
		for frame := range strings.SplitAfterSeq(answerTo(body.Question), "\n\n") {
			_, _ = io.WriteString(w, frame)
			if os.Getenv("WHOLE") == "" {
				_ = http.NewResponseController(w).Flush()
			}
		}
	}))
}
