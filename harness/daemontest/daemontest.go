// Package daemontest provides daemons controlled by a test: HTTP servers, on a socket or in memory,
// with answers given by the test.
package daemontest

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Call is one request received by a Daemon.
type Call struct {
	Method, Path string
	Header       http.Header
	Raw          []byte
	Body         map[string]any // nil if Raw is not a JSON object
}

// Daemon is a daemon on a socket that records its requests. It ends with the test.
type Daemon struct {
	*httptest.Server
	mu    sync.Mutex
	calls []Call
}

// New starts a daemon that answers every request with answer, concurrently.
func New(tb testing.TB, answer func(w http.ResponseWriter, r *http.Request, c Call)) *Daemon {
	tb.Helper()
	d := &Daemon{}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		c := Call{Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone(), Raw: raw}
		_ = json.Unmarshal(raw, &c.Body)
		d.mu.Lock()
		d.calls = append(d.calls, c)
		d.mu.Unlock()
		answer(w, r, c)
	}))
	tb.Cleanup(d.Close)
	return d
}

// Answering starts a daemon that answers every question with AnswerTo.
func Answering(tb testing.TB) *Daemon {
	return New(tb, func(w http.ResponseWriter, _ *http.Request, c Call) {
		Stream(w, AnswerTo(c.Body["question"].(string)))
	})
}

// Calls returns the requests so far, in order of arrival.
func (d *Daemon) Calls() []Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Call(nil), d.calls...)
}

// Asked returns the questions so far, in order of arrival.
func (d *Daemon) Asked() []string {
	var out []string
	for _, c := range d.Calls() {
		if strings.HasSuffix(c.Path, "/ask") {
			out = append(out, c.Body["question"].(string))
		}
	}
	return out
}

// Stream answers with text as an event stream.
func Stream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
}

// Event returns one frame of an event stream in the specification's form.
func Event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

// AnswerTo returns the whole stream of a daemon that answers "question 7" with "answer 7".
func AnswerTo(question string) string {
	n := strings.TrimPrefix(question, "question ")
	return Event("retrieve", `{"chunks":[{"chunk_id":"c`+n+`","document_id":"raw/documents/d`+n+`.md",`+
		`"score":1.5,"preview":"text `+n+`"}],"mode":"auto","effective_mode":"bm25"}`) +
		Event("answer_delta", `{"delta":"answer "}`) +
		Event("answer_delta", `{"delta":"`+n+`"}`) +
		Event("citation", `{"chunk_id":"c`+n+`","document_id":"d`+n+`","quote":"text `+n+`"}`) +
		Event("done", `{"ok":true,"answer":"answer `+n+`","model":"fake",`+
			`"usage":{"input_tokens":10,"output_tokens":2}}`)
}

// HangUp closes the connection without sending anything more.
func HangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
