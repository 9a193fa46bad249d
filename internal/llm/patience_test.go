package llm

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/internal/llm/llmtest"
)

// answerOf returns a response with headers.
func answerOf(status int, body string, headers map[string]string) *http.Response {
	res := response(status, "", body)
	for name, value := range headers {
		res.Header.Set(name, value)
	}
	return res
}

// TestPatience: a call waits as long as the endpoint asks, or longer, and ends with its patience and
// not before.
func TestPatience(t *testing.T) {
	const busy = `{"error":{"message":"Too many requests"}}`
	for _, tt := range []struct {
		name     string
		patience time.Duration
		status   int
		body     string
		headers  map[string]string
		failures int // before it answers; all for -1
		least    time.Duration
		most     time.Duration
		gaveUp   string
	}{
		{"61 seconds", 5 * time.Minute, 429, busy, map[string]string{"Retry-After": "61"}, 1, 61 * time.Second, 61 * time.Second, ""},
		{"milliseconds first", 5 * time.Minute, 429, busy, map[string]string{"Retry-After-Ms": "1500", "Retry-After": "9"}, 1, 1500 * time.Millisecond, 1500 * time.Millisecond, ""},
		{"a fraction", 5 * time.Minute, 503, busy, map[string]string{"Retry-After": "2.5"}, 1, 2500 * time.Millisecond, 2500 * time.Millisecond, ""},
		{"a date", 5 * time.Minute, 429, busy, map[string]string{"Retry-After": "Sat, 01 Jan 2000 00:01:30 GMT"}, 1, 90 * time.Second, 90 * time.Second, ""},
		{"the body says it", 5 * time.Minute, 429, `[{"error":{"code":429,"message":"Quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"37s"}]}}]`, nil, 1, 37 * time.Second, 37 * time.Second, ""},
		{"no wait asked, over and over", 5 * time.Minute, 429, busy, map[string]string{"Retry-After": "0"}, 12, 20 * time.Second, 5 * time.Minute, ""},
		{"408", 5 * time.Minute, 408, busy, nil, 8, 5 * time.Second, 5 * time.Minute, ""},
		{"409", 5 * time.Minute, 409, busy, nil, 8, 5 * time.Second, 5 * time.Minute, ""},
		{"500", 5 * time.Minute, 500, busy, nil, 8, 5 * time.Second, 5 * time.Minute, ""},
		{"529", 5 * time.Minute, 529, busy, nil, 8, 5 * time.Second, 5 * time.Minute, ""},
		{"an error with a good status", 5 * time.Minute, 200, `{"error":"Rate limit"}`, nil, 8, 5 * time.Second, 5 * time.Minute, ""},
		{"always busy", 5 * time.Minute, 429, busy, nil, -1, 5 * time.Minute, 5 * time.Minute, "(--judge-patience 5m0s)"},
		{"a wait beyond the patience", time.Minute, 429, busy, map[string]string{"Retry-After": "61"}, -1, 0, 0, "gave up after 1 request"},
		{"asked again by the header", 5 * time.Minute, 400, busy, map[string]string{"X-Should-Retry": "true"}, 2, 0, time.Minute, ""},
		{"not asked again by the header", 5 * time.Minute, 500, busy, map[string]string{"X-Should-Retry": "false"}, -1, 0, 0, "Too many requests"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{reply: func(n int, _ *http.Request) (*http.Response, error) {
					if tt.failures < 0 || n <= tt.failures {
						return answerOf(tt.status, tt.body, maps.Clone(tt.headers)), nil
					}
					return response(200, "", okBody), nil
				}}
				o, err := newOpenAI(endpointConfig{Transport: s, Patience: tt.patience})
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				resp, err := o.Complete(t.Context(), ask("gpt-4o", "q"))
				if took := time.Since(start); took < tt.least || took > tt.most {
					t.Errorf("took %s", took)
				}
				if tt.gaveUp == "" {
					if err != nil || resp.Attempts != tt.failures+1 {
						t.Errorf("%d requests, %v", resp.Attempts, err)
					}
					return
				}
				if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Error(), tt.gaveUp) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestPatienceOfAnEndpointThatNeverWas: a connection that is refused is waited for only if the
// endpoint has been there. Otherwise its address may be wrong.
func TestPatienceOfAnEndpointThatNeverWas(t *testing.T) {
	for _, there := range []bool{false, true} {
		e := &endpoint{attempts: DefaultMaxAttempts, patience: time.Hour, reached: new(atomic.Bool)}
		e.reached.Store(there)
		_, again := e.delay(&Error{transient: true}, DefaultMaxAttempts, time.Second, 0)
		if again != there {
			t.Errorf("reached %t: again is %t", there, again)
		}
	}
}

// TestStatedErrors: an answer with a good status that states an error is that error, and is charged by
// the usage beside it alone.
func TestStatedErrors(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		status     int
		transient  bool
		tokens     int
		says       string
	}{
		{"number", `{"error":{"code":429,"message":"Too many"}}`, 429, true, 0, "Too many"},
		{"number as text", `{"error":{"code":"503","message":"Later"}}`, 503, true, 0, "Later"},
		{"word", `{"error":{"code":"rate_limit_exceeded","message":"Slow down"}}`, 429, true, 0, "Slow down"},
		{"type", `{"error":{"type":"overloaded_error","message":"Overloaded"}}`, 503, true, 0, "Overloaded"},
		{"status", `[{"error":{"status":"RESOURCE_EXHAUSTED","message":"Quota"}}]`, 429, true, 0, "Quota"},
		{"text", `{"error":"Rate limit"}`, 429, true, 0, "Rate limit"},
		{"no word for it", `{"error":"Unexpected endpoint"}`, 0, false, 0, "Unexpected endpoint"},
		{"bad key", `{"error":{"code":"invalid_api_key","message":"Bad key"}}`, 401, false, 0, "Bad key"},
		{"usage", `{"error":{"code":502,"message":"Broken"},"usage":{"prompt_tokens":7,"completion_tokens":2}}`, 502, true, 7, "Broken"},
		{"no tokens", `{"error":{"code":502,"message":"Broken"},"usage":{"prompt_tokens":0,"completion_tokens":0}}`, 502, true, 0, "Broken"},
		{"beside an empty choice", `{"choices":[{"finish_reason":"stop","message":{"content":null}}],"error":{"code":429,"message":"error code: 1015"}}`, 429, true, 0, "1015"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{reply: func(int, *http.Request) (*http.Response, error) { return response(200, "", tt.body), nil }}
				o, err := newOpenAI(endpointConfig{Transport: s})
				if err != nil {
					t.Fatal(err)
				}
				o.attempts = 1
				m, err := NewMeter(o, Prices{"m": {Dollar, Dollar}}, NewBudget(Dollar))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := m.Complete(t.Context(), ask("m", "q"))
				e, ok := errors.AsType[*Error](err)
				if !ok || e.Status != tt.status || e.transient != tt.transient || !strings.Contains(e.Message, tt.says) {
					t.Fatalf("%+v, %v", e, err)
				}
				if resp.Usage.InputTokens != tt.tokens || (resp.Cost != 0) != (tt.tokens > 0) {
					t.Errorf("%+v", resp)
				}
			})
		})
	}
	for name, body := range map[string]string{
		"null":                     `{"error":null,"choices":[{"finish_reason":"stop","message":{"content":"ok"}}]}`,
		"empty":                    `{"error":"","choices":[{"finish_reason":"stop","message":{"content":"ok"}}]}`,
		"warning beside an answer": `{"error":{"message":"beta"},"choices":[{"finish_reason":"stop","message":{"content":"ok"}}]}`,
		"parts":                    `{"choices":[{"finish_reason":"stop","message":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"no"}]},{"type":"text","text":"ok"}]}}]}`,
	} {
		s := &scripted{reply: func(int, *http.Request) (*http.Response, error) { return response(200, "", body), nil }}
		o, err := newOpenAI(endpointConfig{Transport: s})
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := o.Complete(t.Context(), ask("m", "q")); err != nil || resp.Text != "ok" {
			t.Errorf("%s: %+v, %v", name, resp, err)
		}
	}
}

// TestStatedErrorsOfAllKinds: embedders and rerankers repeat them too.
func TestStatedErrorsOfAllKinds(t *testing.T) {
	limited := llmtest.Reply{Body: `{"error":{"code":429,"message":"Too many"}}`}
	srv := llmtest.NewServer(t, llmtest.Script(limited, llmtest.Reply{}, limited, llmtest.Reply{}))
	e, err := newOpenAIEmbedder(endpointConfig{BaseURL: srv.URL}, "m", "")
	if err != nil {
		t.Fatal(err)
	}
	if vectors, err := e.Embed(t.Context(), []string{"a"}); err != nil || len(vectors) != 1 {
		t.Error(vectors, err)
	}
	r, err := newHTTPReranker(endpointConfig{BaseURL: srv.URL}, "m")
	if err != nil {
		t.Fatal(err)
	}
	if scores, err := r.Rerank(t.Context(), "a", []string{"a"}); err != nil || len(scores) != 1 {
		t.Error(scores, err)
	}
}
