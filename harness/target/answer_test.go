package target

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/protocol"
	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/sse"
)

// questionTime is more than any test's question needs.
const questionTime = 20 * time.Second

// wantFailure asks once more or less and wants a failure of the kind whose
// message has all of the parts.
func wantFailure(t *testing.T, target *Target, kind result.Kind, parts ...string) Answer {
	t.Helper()
	a, err := target.Ask(t.Context(), dataset.Question{Question: "who?"}, questionTime)
	f, ok := errors.AsType[*Failure](err)
	if !ok || f.Kind != kind {
		t.Fatalf("got error %v (%T), want a failure of kind %s", err, err, kind)
	}
	for _, part := range parts {
		if !strings.Contains(f.Message, part) {
			t.Errorf("message %q does not have %q", f.Message, part)
		}
	}
	if strings.ContainsAny(f.Message, "\n\r") || len(f.Message) > 4*maxErrorBody {
		t.Errorf("message %.100q of %d bytes does not fit a line", f.Message, len(f.Message))
	}
	return a
}

// TestAskStreams holds the streams that daemons send for the same answer.
func TestAskStreams(t *testing.T) {
	type answer struct {
		Text, Mode, Model string
		Citations         []json.RawMessage
		Retrieved         []result.Chunk
		Usage             *protocol.Usage
		Streamed          bool
	}
	cite := `{"chunkId":"c1","path":"p.md","title":"T","score":1}`
	none, no := []json.RawMessage{}, []result.Chunk{}
	for _, c := range []struct {
		name, body string
		want       answer
	}{
		{"specification", daemontest.Event("retrieve", `{"chunks":[{"chunk_id":"c1","document_id":"d","score":1,"preview":"pre"}],"mode":"auto","effective_mode":"hybrid"}`) +
			daemontest.Event("answer_delta", `{"delta":"An "}`) + daemontest.Event("answer_delta", `{"delta":"answer."}`) + daemontest.Event("citation", cite) +
			daemontest.Event("done", `{"ok":true,"answer":"An answer.","model":"m","usage":{"input_tokens":3,"output_tokens":4}}`),
			answer{"An answer.", "hybrid", "m", []json.RawMessage{json.RawMessage(cite)}, []result.Chunk{{ChunkID: "c1", DocumentID: "d", Score: 1, Text: "pre"}}, &protocol.Usage{InputTokens: 3, OutputTokens: 4}, true}},
		{"deltas only", daemontest.Event("answer_delta", `{"delta":"a"}`) + daemontest.Event("done", `{"ok":true}`), answer{"a", "", "", none, no, nil, true}},
		{"text key", daemontest.Event("answer_delta", `{"text":"a"}`) + daemontest.Event("done", `{}`), answer{"a", "", "", none, no, nil, true}},
		{"token event, content key", daemontest.Event("token", `{"content":"a"}`) + daemontest.Event("done", `{}`), answer{"a", "", "", none, no, nil, true}},
		{"token event, token key", daemontest.Event("token", `{"token":"a"}`) + daemontest.Event("done", `{}`), answer{"a", "", "", none, no, nil, true}},
		{"done replaces the deltas", daemontest.Event("token", `{"token":"draft"}`) + daemontest.Event("done", `{"answer":"final"}`), answer{"final", "", "", none, no, nil, true}},
		{"an empty answer replaces them too", daemontest.Event("token", `{"token":"draft"}`) + daemontest.Event("done", `{"answer":""}`), answer{"", "", "", none, no, nil, true}},
		{"an answer of null does not", daemontest.Event("token", `{"token":"kept"}`) + daemontest.Event("done", `{"answer":null}`), answer{"kept", "", "", none, no, nil, true}},
		{"an answer of another kind does not", daemontest.Event("token", `{"token":"kept"}`) + daemontest.Event("done", `{"answer":{"x":1}}`), answer{"kept", "", "", none, no, nil, true}},
		{"done only", daemontest.Event("done", `{"answer":"a"}`), answer{"a", "", "", none, no, nil, false}},
		{"null chunks", daemontest.Event("retrieve", `{"chunks":null,"topK":5,"mode":"auto"}`) + daemontest.Event("done", `{"answer":"a"}`), answer{"a", "", "", none, no, nil, false}},
		{"camelCase chunks", daemontest.Event("retrieve", `{"chunks":[{"chunkId":"c","documentId":"d","path":"p","score":2,"text":"","title":"T","summary":"s"}]}`) + daemontest.Event("done", `{"answer":"a"}`),
			answer{"a", "", "", none, []result.Chunk{{ChunkID: "c", DocumentID: "d", Path: "p", Title: "T", Score: 2, Text: "s"}}, nil, false}},
		{"ids, comments, CRLF, no space", ": hello\r\nid: 1\r\nevent:token\r\ndata:{\"token\":\"a\"}\r\n\r\nid:2\r\nevent:done\r\ndata:{\"ok\":true}\r\n\r\n", answer{"a", "", "", none, no, nil, true}},
		{"data over several lines", "event: done\ndata: {\"answer\":\ndata: \"a\"}\n\n", answer{"a", "", "", none, no, nil, false}},
		{"a second retrieve event", daemontest.Event("retrieve", `{"chunks":[{"chunk_id":"c"}],"mode":"bm25"}`) + daemontest.Event("retrieve", `{"chunks":[],"mode":"hybrid"}`) + daemontest.Event("done", `{"answer":"a"}`),
			answer{"a", "", "", none, []result.Chunk{{ChunkID: "c"}}, nil, false}},
		{"unknown events", daemontest.Event("ping", `keepalive`) + daemontest.Event("thought", `{`) + daemontest.Event("done", `{"answer":"a"}`) + daemontest.Event("late", `x`), answer{"a", "", "", none, no, nil, false}},
		{"nothing after done counts", daemontest.Event("done", `{"answer":"a"}`) + daemontest.Event("error", `{"message":"late"}`), answer{"a", "", "", none, no, nil, false}},
		{"usage of OpenAI", daemontest.Event("done", `{"answer":"a","usage":{"prompt_tokens":3,"completion_tokens":4}}`), answer{"a", "", "", none, no, &protocol.Usage{InputTokens: 3, OutputTokens: 4}, false}},
		{"impossible usage", daemontest.Event("done", `{"answer":"a","usage":{"inputTokens":-3,"outputTokens":1e300}}`), answer{"a", "", "", none, no, &protocol.Usage{OutputTokens: 1e9}, false}},
		{"bytes that are not UTF-8", daemontest.Event("token", "{\"token\":\"a\xff\"}") + daemontest.Event("citation", "{\"path\":\"\xff\"}") + daemontest.Event("done", `{}`),
			answer{"a\ufffd", "", "", []json.RawMessage{json.RawMessage("{\"path\":\"\ufffd\"}")}, no, nil, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) { daemontest.Stream(w, c.body) })
			a, err := targetOf(t, s).Ask(t.Context(), dataset.Question{Question: "who?"}, questionTime)
			if err != nil {
				t.Fatal(err)
			}
			got := answer{a.Text, a.EffectiveMode, a.Model, a.Citations, a.Retrieved, a.Usage, a.FirstDelta > 0}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if a.Latency <= 0 || a.FirstDelta > a.Latency || a.Attempts != 1 {
				t.Errorf("latency %v, first delta %v, attempts %d", a.Latency, a.FirstDelta, a.Attempts)
			}
		})
	}
}

// TestScenarioCheck: limits are counted in characters.
func TestScenarioCheck(t *testing.T) {
	long := func(n int) dataset.Question { return dataset.Question{ID: "q", Question: strings.Repeat("ü", n)} }
	for _, c := range []struct {
		s    result.Scenario
		q    dataset.Question
		want string
	}{
		{result.AskBasic, long(8192), ""}, {result.AskAugmented, long(8193), `question "q" has 8193 characters and the protocol's limit is 8192`},
		{result.SearchOnly, long(4096), ""}, {result.SearchOnly, long(4097), "limit is 4096"},
		{result.AskBasic, dataset.Question{ID: "q", Question: " \t"}, `question "q" has no text`},
	} {
		if err := CheckQuestion(c.s, c.q); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.s, err, c.want)
		}
	}
}

// TestAskFailures holds what is no answer, and that the text so far is kept.
func TestAskFailures(t *testing.T) {
	start := daemontest.Event("token", `{"token":"so far"}`)
	for _, c := range []struct {
		name, body string
		kind       result.Kind
		attempts   int
		want       []string
		text       string
	}{
		{"error event", start + daemontest.Event("error", `{"code":"rate_limited","message":"slow down","retryable":true}`), result.KindDaemon, 1, []string{"error event: rate_limited: slow down"}, "so far"},
		{"error event, then done", start + daemontest.Event("error", `{"message":"boom"}`) + daemontest.Event("done", `{"ok":true,"answer":"x"}`), result.KindDaemon, 1, []string{"error event: boom"}, "so far"},
		{"error event in plain text", start + daemontest.Event("error", "went\ndata: wrong"), result.KindDaemon, 1, []string{"error event: went wrong"}, "so far"},
		{"error event with a long message", daemontest.Event("error", `{"message":"`+strings.Repeat(`x\n`, 1<<15)+`"}`), result.KindDaemon, 1, []string{"error event: x x x"}, ""},
		{"ok false", start + daemontest.Event("done", `{"ok":false,"message":"no model"}`), result.KindDaemon, 1, []string{"done event with ok false: no model"}, "so far"},
		{"no done", start, result.KindIncomplete, maxAttempts, []string{"the stream ended without done, after 6 bytes of answer"}, "so far"},
		{"cut inside an event", start + "event: done\ndata: {\"answer\":\"cut", result.KindIncomplete, maxAttempts, []string{"the stream ended without done"}, "so far"},
		{"done without its blank line", start + "event: done\ndata: {\"answer\":\"x\"}\n", result.KindIncomplete, maxAttempts, []string{"the stream ended without done"}, "so far"},
		{"empty", "", result.KindIncomplete, maxAttempts, []string{"the stream ended without done, after 0 bytes"}, ""},
		{"delta is no JSON", start + daemontest.Event("answer_delta", `text`), result.KindProtocol, 1, []string{"answer_delta event is not a JSON object: text"}, "so far"},
		{"done is null", start + daemontest.Event("done", `null`), result.KindProtocol, 1, []string{"done event is not a JSON object: null"}, "so far"},
		{"chunks are no list", daemontest.Event("retrieve", `{"chunks":{}}`), result.KindProtocol, 1, []string{`retrieve event: "chunks" is not a list of chunks`}, ""},
		{"event past the limit", start + "event: token\ndata: " + strings.Repeat("x", sse.MaxEvent), result.KindProtocol, 1, []string{"event too large"}, "so far"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // the waits between attempts add up
			s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) { daemontest.Stream(w, c.body) })
			a := wantFailure(t, targetOf(t, s), c.kind, c.want...)
			if a.Text != c.text || a.Attempts != c.attempts || len(s.Calls()) != c.attempts {
				t.Errorf("kept %q after %d attempts (%d arrived), want %q after %d", a.Text, a.Attempts, len(s.Calls()), c.text, c.attempts)
			}
		})
	}
}

// endless repeats a frame.
type endless struct{ frame, rest string }

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		e.rest = e.frame
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// TestReadAnswerBoundsWhatItKeeps of a daemon that never ends its answer; text
// and citations count together.
func TestReadAnswerBoundsWhatItKeeps(t *testing.T) {
	half := strings.Repeat("x", maxAnswer/2)
	frames := daemontest.Event("token", `{"token":"`+half+`"}`) + daemontest.Event("citation", `{"quote":"`+half+`"}`)
	var a Answer
	err := readAnswer(t.Context(), sse.NewReader(&endless{frame: frames}, sse.MaxEvent), &a, time.Now())
	if f, ok := AsFailure(err); !ok || f.Kind != result.KindProtocol || f.Message != "the answer is longer than 16 MiB" || f.retry {
		t.Errorf("got %v", err)
	}
	if a.Text != half || len(a.Citations) != 1 {
		t.Errorf("kept %d bytes and %d citations", len(a.Text), len(a.Citations))
	}
}

func TestAskWantsAnEventStream(t *testing.T) {
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"answer":"not\nstreamed"}`)
	})
	wantFailure(t, targetOf(t, s), result.KindProtocol, `POST ask answered "application/json" instead of text/event-stream`, `{"answer":"not\nstreamed"}`)
}

// TestAskDoesNotWaitForTheEndAfterDone has a daemon that keeps its stream open.
func TestAskDoesNotWaitForTheEndAfterDone(t *testing.T) {
	gone := make(chan struct{})
	s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
		daemontest.Stream(w, daemontest.Event("done", `{"answer":"a"}`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	a, err := targetOf(t, s).Ask(t.Context(), dataset.Question{Question: "who?"}, questionTime)
	if err != nil || a.Text != "a" {
		t.Fatalf("got %+v, %v", a, err)
	}
	<-gone // the daemon was let go
}

// TestAskUsesConnectionsAgain, also after streams, errors and searches.
func TestAskUsesConnectionsAgain(t *testing.T) {
	var remotes sync.Map
	s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
		remotes.Store(r.RemoteAddr, true)
		if c.Body["question"] == "refused" {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		daemontest.Stream(w, daemontest.AnswerTo("question 1"))
	})
	target := targetOf(t, s)
	for _, q := range []string{"a", "refused", "b", "c"} {
		_, _ = target.Ask(t.Context(), dataset.Question{Question: q}, questionTime)
	}
	n := 0
	remotes.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("4 questions in turn took %d connections", n)
	}
}
