package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/time/rate"

	"evalctl/internal/llm/llmtest"
)

const secret = "sk-secret-0123456789"

func openStub(t *testing.T, replies ...llmtest.Reply) (*openAIProvider, *llmtest.Server) {
	t.Helper()
	srv := llmtest.NewServer(t, llmtest.Script(replies...))
	o, err := newOpenAI(endpointConfig{BaseURL: srv.URL, APIKey: secret})
	if err != nil {
		t.Fatal(err)
	}
	return o, srv
}

func TestRequestOnTheWire(t *testing.T) {
	ok := llmtest.Reply{Text: "yes"}
	for _, tt := range []struct {
		name         string
		model        string
		temperature  float64
		json, stream bool
		has, hasNot  []string
	}{
		{"judge", "gpt-4o", 0, true, false,
			[]string{`"temperature":0}`, `"response_format":{"type":"json_object"}`, `"max_tokens":100`, `"stream":false`},
			[]string{"max_completion_tokens", "stream_options"}},
		{"reader", "gpt-4o", 0, false, true,
			[]string{`"temperature":0}`, `"stream":true`, `"stream_options":{"include_usage":true}`}, []string{"response_format"}},
		{"exact temperature", "llama3", 0.7, false, false, []string{`"temperature":0.7}`}, nil},
		{"reasoning", "gpt-5-mini", 0, true, false, []string{`"max_completion_tokens":100`}, []string{"temperature", `"max_tokens"`}},
		{"reasoning stream", "o4-mini", 0.5, false, true, []string{`"max_completion_tokens":100`}, []string{"temperature"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, srv := openStub(t, ok)
			r := ask(tt.model, `<b>"hi" & bye`)
			r.Temperature, r.JSON = tt.temperature, tt.json
			var err error
			if tt.stream {
				_, err = o.Complete(t.Context(), streamed(r, func(string) error { return nil }))
			} else {
				_, err = o.Complete(t.Context(), r)
			}
			if err != nil {
				t.Fatal(err)
			}
			call := srv.Calls()[0]
			for _, s := range tt.has {
				if !bytes.Contains(call.Body, []byte(s)) {
					t.Errorf("no %s in %s", s, call.Body)
				}
			}
			for _, s := range tt.hasNot {
				if bytes.Contains(call.Body, []byte(s)) {
					t.Errorf("%s in %s", s, call.Body)
				}
			}
			if call.Path != "/v1/chat/completions" || call.Header.Get("Authorization") != "Bearer "+secret {
				t.Errorf("path %s, headers %v", call.Path, call.Header)
			}
			if want := []llmtest.Message{{Role: "user", Content: `<b>"hi" & bye`}}; !cmp.Equal(call.Messages, want) {
				t.Error(cmp.Diff(want, call.Messages))
			}
		})
	}
}

// usual is how requests of ask are sent.
var usual = Manner{Dialect: Dialect{Limit: LimitTokens, Temperature: true}, MaxTokens: 100, Usual: true}

func TestCompleteAnswer(t *testing.T) {
	o, _ := openStub(t,
		llmtest.Reply{Text: "a b", Input: 11, Output: 7},
		llmtest.Reply{Text: "12345", FinishReason: "length"})
	got, err := o.Complete(t.Context(), ask("gpt-4o", "12345678"))
	want := Response{Text: "a b", Model: "gpt-4o", FinishReason: "stop", Usage: Usage{InputTokens: 11, OutputTokens: 7}, Attempts: 1, Asked: usual}
	if err != nil || got != want {
		t.Error(err, cmp.Diff(want, got))
	}
	got, err = o.Complete(t.Context(), ask("gpt-4o", "12345678"))
	want = Response{Text: "12345", Model: "gpt-4o", FinishReason: "length", Usage: Usage{3, 2, true}, Attempts: 1, Asked: usual}
	if err != nil || got != want {
		t.Error(err, cmp.Diff(want, got))
	}
}

func TestStreamAnswer(t *testing.T) {
	o, _ := openStub(t,
		llmtest.Reply{Text: "one two three", Input: 11, Output: 7},
		llmtest.Reply{Text: "one two three", FinishReason: "content_filter"})
	var got []string
	collect := func(s string) error { got = append(got, s); return nil }
	resp, err := o.Complete(t.Context(), streamed(ask("gpt-4o", "q"), collect))
	want := Response{Text: "one two three", Model: "gpt-4o", FinishReason: "stop", Usage: Usage{InputTokens: 11, OutputTokens: 7}, Attempts: 1, Asked: usual}
	if err != nil || resp != want || !cmp.Equal(got, []string{"one ", "two ", "three"}) {
		t.Error(err, got, cmp.Diff(want, resp))
	}
	resp, err = o.Complete(t.Context(), streamed(ask("gpt-4o", "q"), collect))
	if err != nil || resp.FinishReason != "content_filter" || !resp.Usage.Estimated {
		t.Error(err, resp)
	}
}

// TestStreamHalves checks that a character whose halves are in two pieces is one.
func TestStreamHalves(t *testing.T) {
	piece := func(text string) string { return `data: {"choices":[{"delta":{"content":"` + text + `"}}]}` + "\n\n" }
	o, _ := openStub(t, llmtest.Reply{Body: piece(`a\ud83d`) + piece(`\ude00b`) + piece("\xf0\x9f\x98") + piece("\x80") + piece(`\ud83d`) +
		`data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"})
	var got []string
	resp, err := o.Complete(t.Context(), streamed(ask("gpt-4o", "q"), func(s string) error { got = append(got, s); return nil }))
	if err != nil || resp.Text != "a😀b😀\ufffd" || !cmp.Equal(got, []string{"a", "😀b", "😀", "\ufffd"}) {
		t.Errorf("%+v, %q, %v", resp, got, err)
	}
}

// TestFieldsOfOtherTypes: a field that nothing needs may have any type, as some gateways send
// it. The answer is paid for, and is returned with the tokens that were counted.
func TestFieldsOfOtherTypes(t *testing.T) {
	const usage = `,"usage":{"prompt_tokens":11,"completion_tokens":7}`
	for _, odd := range []string{
		`"created":1748694614.850598`, `"created":"2025-05-16"`, `"id":5,"object":[],"system_fingerprint":{}`,
		`"prompt_filter_results":"none"`, `"model":null`, `"service_tier":1,"model":7`,
	} {
		plain := `{` + odd + `,"choices":[{"index":"0","logprobs":1,"content_filter_results":[],"finish_reason":"stop",` +
			`"message":{"role":1,"content":"a b","refusal":false,"tool_calls":"","reasoning_content":{}}}]` + usage + `}`
		chunk := `data: {` + odd + `,"choices":[{"index":"0","logprobs":1,"finish_reason":"stop",` +
			`"delta":{"role":1,"content":"a b","tool_calls":""}}]` + usage + `}` + "\n\ndata: [DONE]\n\n"
		o, _ := openStub(t, llmtest.Reply{Body: plain}, llmtest.Reply{Body: chunk})
		for _, r := range []Request{ask("m", "q"), streamed(ask("m", "q"), func(string) error { return nil })} {
			got, err := o.Complete(t.Context(), r)
			want := Response{Text: "a b", Model: "m", FinishReason: "stop", Usage: Usage{InputTokens: 11, OutputTokens: 7}, Attempts: 1, Asked: usual}
			if err != nil || got != want {
				t.Error(odd, err, cmp.Diff(want, got))
			}
		}
	}
}

// TestParts: the text of an answer in parts is that of its parts of text.
func TestParts(t *testing.T) {
	o, _ := openStub(t, llmtest.Reply{Body: `{"choices":[{"message":{"content":[` +
		`{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a "},{"type":"text","text":"b","index":"1"}]}}]}`})
	if got, err := o.Complete(t.Context(), ask("m", "q")); err != nil || got.Text != "a b" {
		t.Errorf("%+v, %v", got, err)
	}
}

// More keep-alive comments than the client library tolerates by itself.
func TestStreamManyComments(t *testing.T) {
	body := strings.Repeat(": keep-alive\n\n", 400) +
		`data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	o, _ := openStub(t, llmtest.Reply{Body: body})
	resp, err := o.Complete(t.Context(), streamed(ask("gpt-4o", "q"), func(string) error { return nil }))
	if err != nil || resp.Text != "hi" {
		t.Error(resp, err)
	}
}

func TestUnusableAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		stream bool
		reply  llmtest.Reply
		text   string
	}{
		{"no choices", false, llmtest.Reply{Body: `{"choices":[]}`}, "no choices"},
		{"a text of another type", false, llmtest.Reply{Body: `{"choices":[{"message":{"content":5}}]}`}, "cannot unmarshal number"},
		{"not JSON", false, llmtest.Reply{Body: `<html>`}, "not the JSON"},
		{"too large", false, llmtest.Reply{Body: strings.Repeat(" ", maxAnswerBytes+1)}, "larger than"},
		{"cut", true, llmtest.Reply{Text: "one two three", CutAfter: 2}, "EOF"},
		{"no finish reason", true, llmtest.Reply{Text: "one two", FinishReason: llmtest.NoFinishReason}, "before the answer did"},
		{"error text frame", true, llmtest.Reply{Body: "data: {\"error\":\"overloaded\"}\n\n"}, "JSON"},
		{"bad frame", true, llmtest.Reply{Body: "data: {\n\n"}, "JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, _ := openStub(t, tt.reply)
			o.attempts = 1
			var resp Response
			var err error
			if tt.stream {
				resp, err = o.Complete(t.Context(), streamed(ask("gpt-4o", "q"), func(string) error { return nil }))
			} else {
				resp, err = o.Complete(t.Context(), ask("gpt-4o", "q"))
			}
			e, ok := errors.AsType[*Error](err)
			if !ok || !e.Billed || !strings.Contains(e.Message, tt.text) || resp.Text != "" {
				t.Errorf("got %+v, %+v (%v)", resp, e, err)
			}
		})
	}
}

func TestEmitErrorEndsTheStream(t *testing.T) {
	o, srv := openStub(t, llmtest.Reply{Text: "one two three"})
	stop := errors.New("enough")
	_, err := o.Complete(t.Context(), streamed(ask("gpt-4o", "q"), func(string) error { return stop }))
	if err != stop || len(srv.Calls()) != 1 { //nolint:errorlint // as it is
		t.Errorf("got %v after %d calls", err, len(srv.Calls()))
	}
}

func TestContextEndIsReturnedAsItIs(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	srv := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply {
		cancel() // the request has arrived
		return llmtest.Reply{Hang: true}
	})
	o, err := newOpenAI(endpointConfig{BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Complete(ctx, ask("gpt-4o", "q")); err != context.Canceled { //nolint:errorlint // as it is
		t.Errorf("got %v", err)
	}
}

func TestMaxTokensMustBeGiven(t *testing.T) {
	o, srv := openStub(t)
	if _, err := o.Complete(t.Context(), Request{Model: "gpt-4o"}); err == nil || len(srv.Calls()) != 0 {
		t.Errorf("got %v after %d calls", err, len(srv.Calls()))
	}
}

func TestLimiterIsWaitedForBeforeEachAttempt(t *testing.T) {
	o, srv := openStub(t, llmtest.Reply{Status: 429, RetryAfter: "0"}, llmtest.Reply{Text: "late"})
	o.limiter = rate.NewLimiter(rate.Every(time.Hour), 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// The limiter fails at once if the wait would exceed the deadline.
	_, err := o.Complete(ctx, ask("gpt-4o", "q"))
	if !errors.Is(err, context.DeadlineExceeded) || len(srv.Calls()) != 1 {
		t.Errorf("got %v after %d calls", err, len(srv.Calls()))
	}
}

func TestBodyIsOneJSONObject(t *testing.T) {
	o, srv := openStub(t, llmtest.Reply{Text: "ok"})
	if _, err := o.Complete(t.Context(), ask("gpt-4o", "a\u2028\x00\"}")); err != nil {
		t.Fatal(err)
	}
	call := srv.Calls()[0]
	if !json.Valid(call.Body) || call.Messages[0].Content != "a\u2028\x00\"}" {
		t.Errorf("%q", call.Body)
	}
	if got := call.Header.Get("Content-Type"); got != "application/json" {
		t.Error(got)
	}
}

// TestPlainAnswerCalledAStream: a plain answer with the media type of a stream is read.
func TestPlainAnswerCalledAStream(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"a b"},"finish_reason":"stop"}]}`)
	}))
	defer s.Close()
	o, err := newOpenAI(endpointConfig{BaseURL: s.URL, APIKey: secret})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := o.Complete(t.Context(), ask("m", "q")); err != nil || got.Text != "a b" {
		t.Errorf("%+v, %v", got, err)
	}
}
