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
	"evalctl/internal/awaittest"
	"evalctl/internal/sse"
)

// questionTime is more than any test's question needs.
const questionTime = 2 * time.Minute

// wantFailure asks a question and checks that it fails with this kind and a message that has all of
// the parts.
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
		t.Errorf("message %.100q of %d bytes is not one line", f.Message, len(f.Message))
	}
	return a
}

// TestAskStreams checks that the streams of different daemons are read alike.
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
	text := func(text string, streamed bool) answer {
		return answer{Text: text, Citations: none, Retrieved: no, Streamed: streamed}
	}
	for _, c := range []struct {
		name, body string
		want       answer
	}{
		{"specification",
			event("retrieve", `{"chunks":[{"chunk_id":"c1","document_id":"d","score":1,`+
				`"preview":"pre"}],"mode":"auto","effective_mode":"hybrid"}`) +
				event("answer_delta", `{"delta":"An "}`) +
				event("answer_delta", `{"delta":"answer."}`) + event("citation", cite) +
				event("done", `{"ok":true,"answer":"An answer.","model":"m",`+
					`"usage":{"input_tokens":3,"output_tokens":4}}`),
			answer{
				"An answer.", "hybrid", "m", []json.RawMessage{json.RawMessage(cite)},
				[]result.Chunk{{ChunkID: "c1", DocumentID: "d", Score: 1, Text: "pre"}},
				&protocol.Usage{InputTokens: 3, OutputTokens: 4}, true,
			}},
		{"deltas only", event("answer_delta", `{"delta":"a"}`) + event("done", `{"ok":true}`),
			text("a", true)},
		{"text key", event("answer_delta", `{"text":"a"}`) + event("done", `{}`), text("a", true)},
		{"token event, content key", event("token", `{"content":"a"}`) + event("done", `{}`),
			text("a", true)},
		{"token event, token key", event("token", `{"token":"a"}`) + event("done", `{}`),
			text("a", true)},
		{"done replaces the deltas",
			event("token", `{"token":"draft"}`) + event("done", `{"answer":"final"}`),
			text("final", true)},
		{"an empty answer replaces the deltas",
			event("token", `{"token":"draft"}`) + event("done", `{"answer":""}`), text("", true)},
		{"an answer of null does not replace them",
			event("token", `{"token":"kept"}`) + event("done", `{"answer":null}`),
			text("kept", true)},
		{"an answer of another type does not replace them",
			event("token", `{"token":"kept"}`) + event("done", `{"answer":{"x":1}}`),
			text("kept", true)},
		{"done only", event("done", `{"answer":"a"}`), text("a", false)},
		{"halves of a character",
			event("answer_delta", `{"delta":"a\ud83d"}`) + event("ping", `x`) +
				event("answer_delta", `{"delta":"\ude00b\ud83d"}`) + event("done", `{}`),
			text("a😀b\ufffd", true)},
		{"null chunks",
			event("retrieve", `{"chunks":null,"topK":5,"mode":"auto"}`) +
				event("done", `{"answer":"a"}`),
			text("a", false)},
		{"camelCase chunks",
			event("retrieve", `{"chunks":[{"chunkId":"c","documentId":"d","path":"p","score":2,`+
				`"text":"","title":"T","summary":"s"}]}`) +
				event("done", `{"answer":"a"}`),
			answer{Text: "a", Citations: none, Retrieved: []result.Chunk{
				{ChunkID: "c", DocumentID: "d", Path: "p", Title: "T", Score: 2, Text: "s"},
			}}},
		{"ids, comments, CRLF, no space",
			": hello\r\nid: 1\r\nevent:token\r\ndata:{\"token\":\"a\"}\r\n\r\n" +
				"id:2\r\nevent:done\r\ndata:{\"ok\":true}\r\n\r\n",
			text("a", true)},
		{"data on several lines", "event: done\ndata: {\"answer\":\ndata: \"a\"}\n\n",
			text("a", false)},
		{"a second retrieve event",
			event("retrieve", `{"chunks":[{"chunk_id":"c"}],"mode":"bm25"}`) +
				event("retrieve", `{"chunks":[],"mode":"hybrid"}`) +
				event("done", `{"answer":"a"}`),
			answer{Text: "a", Citations: none, Retrieved: []result.Chunk{{ChunkID: "c"}}}},
		{"unknown events",
			event("ping", `keepalive`) + event("thought", `{`) +
				event("done", `{"answer":"a"}`) + event("late", `x`),
			text("a", false)},
		{"events after done are ignored",
			event("done", `{"answer":"a"}`) + event("error", `{"message":"late"}`),
			text("a", false)},
		{"usage of OpenAI",
			event("done", `{"answer":"a","usage":{"prompt_tokens":3,"completion_tokens":4}}`),
			answer{Text: "a", Citations: none, Retrieved: no,
				Usage: &protocol.Usage{InputTokens: 3, OutputTokens: 4}}},
		{"usage in the spelling of JavaScript",
			event("done", `{"answer":"a","usage":{"promptTokens":3,"completionTokens":4}}`),
			answer{Text: "a", Citations: none, Retrieved: no,
				Usage: &protocol.Usage{InputTokens: 3, OutputTokens: 4}}},
		{"usage without counts", event("done", `{"answer":"a","usage":{"total_tokens":7}}`), text("a", false)},
		{"usage with one count", event("done", `{"answer":"a","usage":{"inputTokens":null,"outputTokens":4}}`), text("a", false)},
		{"impossible usage",
			event("done", `{"answer":"a","usage":{"inputTokens":-3,"outputTokens":4}}`),
			text("a", false)},
		{"impossible usage, too large",
			event("done", `{"answer":"a","usage":{"inputTokens":3,"outputTokens":1e300}}`),
			text("a", false)},
		{"invalid UTF-8",
			event("token", "{\"token\":\"a\xff\"}") + event("citation", "{\"path\":\"\xff\"}") +
				event("done", `{}`),
			answer{Text: "a\ufffd", Retrieved: no, Streamed: true,
				Citations: []json.RawMessage{json.RawMessage("{\"path\":\"\ufffd\"}")}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := streaming(t, c.body)
			asks := targetOf(t, s)
			a, err := asks.Ask(t.Context(), dataset.Question{Question: "who?"}, questionTime)
			if err != nil {
				t.Fatal(err)
			}
			got := answer{
				a.Answer, a.EffectiveMode, a.Model, a.Citations, a.Retrieved, a.Usage, a.FirstDelta > 0,
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if a.Latency <= 0 || a.FirstDelta > a.Latency || a.Attempts != 1 {
				t.Errorf("latency %v, first delta %v, attempts %d",
					a.Latency, a.FirstDelta, a.Attempts)
			}
		})
	}
}

// TestScenarioCheck checks that limits are counted in characters.
func TestScenarioCheck(t *testing.T) {
	long := func(n int) dataset.Question {
		return dataset.Question{ID: "q", Question: strings.Repeat("ü", n)}
	}
	for _, c := range []struct {
		s    result.Scenario
		q    dataset.Question
		want string
	}{
		{result.AskBasic, long(8192), ""},
		{result.AskAugmented, long(8193),
			`question "q" has 8193 characters and the protocol's limit is 8192`},
		{result.SearchOnly, long(4096), ""}, {result.SearchOnly, long(4097), "limit is 4096"},
		{result.AskBasic, dataset.Question{ID: "q", Question: " \t"}, `question "q" has no text`},
	} {
		err := checkQuestion(c.s, c.q)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.s, err, c.want)
		}
	}
}

// TestAskFailures checks which streams are not an answer, and that the text so far is kept.
func TestAskFailures(t *testing.T) {
	start := event("token", `{"token":"so far"}`)
	for _, c := range []struct {
		name, body string
		kind       result.Kind
		attempts   int
		want       []string
		text       string
	}{
		{"error event",
			start + event("error", `{"code":"rate_limited","message":"slow down",`+
				`"retryable":true}`),
			result.KindDaemon, 1, []string{"error event: rate_limited: slow down"}, "so far"},
		{"error event, then done",
			start + event("error", `{"message":"boom"}`) + event("done", `{"ok":true,"answer":"x"}`),
			result.KindDaemon, 1, []string{"error event: boom"}, "so far"},
		{"error event in plain text", start + event("error", "went\ndata: wrong"),
			result.KindDaemon, 1, []string{"error event: went wrong"}, "so far"},
		{"error event with a long message",
			event("error", `{"message":"`+strings.Repeat(`x\n`, 1<<15)+`"}`),
			result.KindDaemon, 1, []string{"error event: x x x"}, ""},
		{"ok false", start + event("done", `{"ok":false,"message":"no model"}`),
			result.KindDaemon, 1, []string{"done event with ok false: no model"}, "so far"},
		{"ok false, and no more", start + event("done", `{"ok":false}`),
			result.KindDaemon, 1, []string{"done event with ok false: it says no more"}, "so far"},
		{"done without data", start + "event: done\ndata:\n\n", result.KindProtocol, 1,
			[]string{"done event is not a JSON object: it has no data"}, "so far"},
		{"no done", start, result.KindIncomplete, maxAttempts,
			[]string{"the stream ended without done, after 6 bytes of answer"}, "so far"},
		{"cut off inside an event", start + "event: done\ndata: {\"answer\":\"cut",
			result.KindIncomplete, maxAttempts, []string{"the stream ended without done"}, "so far"},
		{"done without its blank line", start + "event: done\ndata: {\"answer\":\"x\"}\n",
			result.KindIncomplete, maxAttempts, []string{"the stream ended without done"}, "so far"},
		{"empty", "", result.KindIncomplete, maxAttempts,
			[]string{"the stream ended without done, after 0 bytes"}, ""},
		{"delta is not JSON", start + event("answer_delta", `text`), result.KindProtocol, 1,
			[]string{"answer_delta event is not a JSON object: text"}, "so far"},
		{"done is null", start + event("done", `null`), result.KindProtocol, 1,
			[]string{"done event is not a JSON object: null"}, "so far"},
		{"chunks are not a list", event("retrieve", `{"chunks":{}}`), result.KindProtocol, 1,
			[]string{`retrieve event: "chunks" is not a list of chunks`}, ""},
		{"event past the limit", start + "event: token\ndata: " + strings.Repeat("x", sse.MaxEvent),
			result.KindProtocol, 1, []string{"event too large"}, "so far"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // the waits between attempts add up
			s := streaming(t, c.body)
			a := wantFailure(t, targetOf(t, s), c.kind, c.want...)
			if a.Answer != c.text || a.Attempts != c.attempts || len(s.Calls()) != c.attempts {
				t.Errorf("kept %q after %d attempts (%d arrived), want %q after %d",
					a.Answer, a.Attempts, len(s.Calls()), c.text, c.attempts)
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

// TestAnswerLimit checks the limit on the text and citations of an answer that never ends.
func TestAnswerLimit(t *testing.T) {
	half := strings.Repeat("x", maxAnswer/2)
	frames := event("token", `{"token":"`+half+`"}`) + event("citation", `{"quote":"`+half+`"}`)
	var a Answer
	stream := sse.NewReader(&endless{frame: frames}, sse.MaxEvent)
	err := readAnswer(t.Context(), stream, &a, time.Now())
	if f, ok := AsFailure(err); !ok || f.Kind != result.KindProtocol ||
		f.Message != "the answer is longer than 16 MiB" || f.retry {
		t.Errorf("got %v", err)
	}
	if a.Answer != half || len(a.Citations) != 1 {
		t.Errorf("kept %d bytes and %d citations", len(a.Answer), len(a.Citations))
	}
}

func TestAskNeedsAnEventStream(t *testing.T) {
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"answer":"not\nstreamed"}`)
	})
	wantFailure(t, targetOf(t, s), result.KindProtocol,
		`POST ask answered "application/json" instead of text/event-stream`,
		`{"answer":"not\nstreamed"}`)
	for contentType, ok := range map[string]bool{"Text/Event-Stream; charset=UTF-8": true, "text/event-streams": false} {
		s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
			w.Header().Set("Content-Type", contentType)
			_, _ = io.WriteString(w, event("done", `{"answer":"a"}`))
		})
		if _, err := targetOf(t, s).Ask(t.Context(), dataset.Question{Question: "q"}, time.Minute); (err == nil) != ok {
			t.Errorf("%s: %v", contentType, err)
		}
	}
}

// TestStreamOpenAfterDone checks that a daemon that keeps its stream open after done is not waited
// for.
func TestStreamOpenAfterDone(t *testing.T) {
	disconnected := make(chan struct{})
	s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
		daemontest.Stream(w, event("done", `{"answer":"a"}`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(disconnected)
	})
	a, err := targetOf(t, s).Ask(t.Context(), dataset.Question{Question: "who?"}, questionTime)
	if err != nil || a.Answer != "a" {
		t.Fatalf("got %+v, %v", a, err)
	}
	awaittest.Receive(t, "disconnected", disconnected)
}

// TestConnectionIsReused checks that a connection is reused after a stream and after an error.
func TestConnectionIsReused(t *testing.T) {
	var remotes sync.Map
	s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
		remotes.Store(r.RemoteAddr, true)
		if c.Body["question"] == "rejected" {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		daemontest.Stream(w, daemontest.AnswerTo("question 1"))
	})
	target := targetOf(t, s)
	for _, q := range []string{"a", "rejected", "b", "c"} {
		_, _ = target.Ask(t.Context(), dataset.Question{Question: q}, questionTime)
	}
	n := 0
	remotes.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("4 questions, one after the other, used %d connections", n)
	}
}

func checkQuestion(name result.Scenario, q dataset.Question) error {
	s, err := ScenarioOf(name)
	if err != nil {
		return err
	}
	return s.Check(q)
}

func TestUnknownScenario(t *testing.T) {
	s := daemontest.Answering(t)
	asks := targetOf(t, s)
	asks.Scenario = "ask-twice"
	_, err := asks.Ask(t.Context(), dataset.Question{Question: "who?"}, questionTime)
	if _, ok := AsFailure(err); ok || err == nil || len(s.Calls()) != 0 {
		t.Errorf("got %v after %d calls", err, len(s.Calls()))
	}
}

// TestSearchIsCut checks that a daemon that returns more passages than were asked for is not measured with
// them.
func TestSearchIsCut(t *testing.T) {
	target := targetOf(t, writing(t, `{"chunks":[{"path":"a","text":"one"},{"path":"b","text":"two"},{"path":"c","text":"three"}]}`))
	target.Scenario, target.TopK = result.SearchOnly, 2
	a, err := target.Ask(t.Context(), dataset.Question{Question: "q"}, time.Minute)
	if err != nil || len(a.Retrieved) != 2 || a.Answer != "one\ntwo" {
		t.Errorf("%+v, %v", a, err)
	}
}
