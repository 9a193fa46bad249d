package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/ledger"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
)

// TestCompletion: our client gets through the gateway what the provider answers, and the provider
// gets the request as it was sent, with its own key.
func TestCompletion(t *testing.T) {
	reply := llmtest.Reply{Text: "one two three", Input: 10, Output: 5}
	r := start(t, new(llm.Dollar), nil, llmtest.Script(reply, reply))
	p := r.client()
	want := llm.Response{Text: "one two three", Model: "m", FinishReason: "stop",
		Usage: llm.Usage{InputTokens: 10, OutputTokens: 5}, Attempts: 1,
		Asked: llm.Manner{Dialect: llm.Dialect{Limit: llm.LimitTokens, Temperature: true}, MaxTokens: 100, Usual: true}}
	if got, err := p.Complete(t.Context(), ask("q")); err != nil || got != want {
		t.Error(err, cmp.Diff(want, got))
	}
	var pieces []string
	got, err := p.Complete(t.Context(), streamed(ask("q"), func(s string) error { pieces = append(pieces, s); return nil }))
	if err != nil || got != want || !cmp.Equal(pieces, []string{"one ", "two ", "three"}) {
		t.Error(err, pieces, cmp.Diff(want, got))
	}
	for _, call := range r.vendor.Calls() {
		if call.Path != "/v1/chat/completions" || call.Header.Get("Authorization") != "Bearer "+secret ||
			!strings.Contains(string(call.Body), `"max_tokens":100`) || strings.Contains(string(call.Body), r.Key()) {
			t.Errorf("%s %v %s", call.Path, call.Header, call.Body)
		}
	}
	if total, lost := r.spent(); total != 30*token || lost != 0 {
		t.Errorf("spent %s, lost %s", total, lost)
	}
	c := r.ledger.Accounting("go")
	if c.ActorUSD != 30*token || c.Tokens["m"].Requests != 2 || c.Tokens["m"].OutputTokens != 10 {
		t.Errorf("%+v", c)
	}
}

func TestEmbeddings(t *testing.T) {
	r := start(t, new(llm.Dollar), nil, llmtest.Script(
		llmtest.Reply{Usage: `{"prompt_tokens":7,"total_tokens":7}`}, llmtest.Reply{}))
	e, err := llm.OpenEmbedder(llm.EmbedConfig{Provider: llm.ProviderOpenAI, Model: "e", BaseURL: r.URL(), APIKey: r.Key()})
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Embed(t.Context(), []string{"a", "bc"})
	if err != nil || !cmp.Equal(got, [][]float32{llmtest.Vector("a"), llmtest.Vector("bc")}) {
		t.Error(got, err)
	}
	// Without a count, the worst case is charged.
	if _, err := e.Embed(t.Context(), []string{"a", "bc"}); err != nil {
		t.Error(err)
	}
	body := r.vendor.Calls()[1].Body
	want := (7 + llm.USD(len(body)) + requestTokens) * token
	if total, lost := r.spent(); total != want || lost != want-7*token {
		t.Errorf("spent %s, want %s, lost %s", total, want, lost)
	}
	if c := r.ledger.Accounting(""); c.EmbedUSD != want || c.Tokens["e"].Estimated != 1 {
		t.Errorf("%+v", c)
	}
}

// TestFailures: what the daemon gets, and what is charged.
func TestFailures(t *testing.T) {
	worst := (llm.USD(len(`{"model":"m","max_tokens":100,"messages":[]}`)) + requestTokens + 100) * token
	for name, tt := range map[string]struct {
		reply       llmtest.Reply
		status      int
		body        string
		total, lost llm.USD
	}{
		"rejected":      {llmtest.Reply{Status: 400, Body: `{"error":"too long ` + secret + `"}`}, 400, `{"error":"too long [API key]"}`, 0, 0},
		"rate limit":    {llmtest.Reply{Status: 429, RetryAfter: "7", Body: "slow"}, 429, "slow", 0, 0},
		"error in 200":  {llmtest.Reply{Body: `{"error":{"code":429,"message":"slow"}}`}, 200, "slow", 0, 0},
		"counted there": {llmtest.Reply{Body: `{"error":{"code":502,"message":"slow"},"usage":{"prompt_tokens":3,"completion_tokens":4}}`}, 200, "slow", 7 * token, 0},
		"counted, 429":  {llmtest.Reply{Status: 429, Body: `{"usage":{"prompt_tokens":3,"completion_tokens":4}}`}, 429, "usage", 7 * token, 0},
		"counted, 500":  {llmtest.Reply{Status: 500, Body: `{"usage":{"prompt_tokens":3,"completion_tokens":4}}`}, 500, "usage", 7 * token, 0},
		"counted wrong": {llmtest.Reply{Status: 429, Body: `{"usage":{"prompt_tokens":-3}}`}, 429, "usage", worst, worst},
		"unavailable":   {llmtest.Reply{Status: 503}, 503, "", 0, 0},
		"timeout":       {llmtest.Reply{Status: 504, Body: "late"}, 504, "late", worst, worst},
		"redirect":      {llmtest.Reply{Status: 302}, 302, "", 0, 0},
		"broken":        {llmtest.Reply{Break: true}, 502, `"code":"upstream"`, worst, worst},
		"not JSON":      {llmtest.Reply{Body: "<html>"}, 200, "<html>", worst, worst},
		"no answer":     {llmtest.Reply{Body: "{}"}, 200, "{}", worst, worst},
		"uncounted":     {llmtest.Reply{Text: "a"}, 200, `"content":"a"`, worst, worst},
		"negative":      {llmtest.Reply{Text: "a", Usage: `{"prompt_tokens":-1,"completion_tokens":-5}`}, 200, "", worst, worst},
		"text usage":    {llmtest.Reply{Text: "a", Usage: `{"prompt_tokens":"many"}`}, 200, "", worst, worst},
		"list usage":    {llmtest.Reply{Text: "a", Usage: `[]`}, 200, "", worst, worst},
		"too much":      {llmtest.Reply{Text: "a", Usage: `{"prompt_tokens":5000,"completion_tokens":1}`}, 200, "", worst, worst},
		"overflow":      {llmtest.Reply{Text: "a", Usage: `{"prompt_tokens":3,"completion_tokens":1e400}`}, 200, "", worst, worst},
		"reasoning":     {llmtest.Reply{Text: "a", Usage: `{"prompt_tokens":3,"completion_tokens":4,"total_tokens":57}`}, 200, "", 57 * token, 0},
		"cut by itself": {llmtest.Reply{Text: "a", FinishReason: "length", Input: 3, Output: 4}, 200, "", 7 * token, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, new(llm.Dollar), nil, llmtest.Script(tt.reply))
			res, body := r.post("/v1/chat/completions", `{"model":"m","max_tokens":100,"messages":[]}`)
			if res.StatusCode != tt.status || !strings.Contains(body, tt.body) || res.Header.Get("Retry-After") != tt.reply.RetryAfter {
				t.Errorf("%s: %v %s", res.Status, res.Header, body)
			}
			if strings.Contains(body, secret) {
				t.Error("the daemon gets the provider's key")
			}
			if total, lost := r.spent(); total != tt.total || lost != tt.lost {
				t.Errorf("spent %s, lost %s; want %s, %s", total, lost, tt.total, tt.lost)
			}
			if n := len(r.vendor.Calls()); n != 1 || r.Err() != nil {
				t.Errorf("%d requests, %v", n, r.Err())
			}
		})
	}
}

// TestUnreachable: a provider that was never reached has charged nothing.
func TestUnreachable(t *testing.T) {
	r := start(t, new(llm.Dollar), nil, nil)
	r.upstream = "http://127.0.0.1:1/v1"
	res, body := r.post("/v1/chat/completions", `{"model":"m","messages":[]}`)
	if res.StatusCode != 502 || !strings.Contains(body, "http://127.0.0.1:1/v1 did not answer") {
		t.Errorf("%s %s", res.Status, body)
	}
	if total, _ := r.spent(); total != 0 {
		t.Errorf("spent %s", total)
	}
}

// TestCutStream: the daemon sees that the answer is incomplete, and the worst case is charged
// unless the usage of the whole answer had arrived.
func TestCutStream(t *testing.T) {
	for name, tt := range map[string]struct {
		reply llmtest.Reply
		lost  bool
		err   string // of our client, "" for none
	}{
		"cut":              {llmtest.Reply{Text: "one two three", CutAfter: 2, Input: 10, Output: 5}, true, "EOF"},
		"no finish reason": {llmtest.Reply{Body: "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"}, true, "before the answer did"},
		"running count": {llmtest.Reply{Body: "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n"},
			true, "before the answer did"},
		"running count to the end": {llmtest.Reply{Body: "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n" +
			"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"}, true, ""},
		"count with the end": {llmtest.Reply{Body: "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n" +
			"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n"}, false, ""},
		"error frame": {llmtest.Reply{Body: "data: {\"error\":{\"message\":\"broken\"}}\n\n"}, true, "broken"},
		"bad frame":   {llmtest.Reply{Body: "data: {\n\n"}, true, "JSON"},
		"uncounted":   {llmtest.Reply{Text: "one two"}, true, ""},
		"negative":    {llmtest.Reply{Text: "one two", Usage: `{"prompt_tokens":-1,"completion_tokens":5}`}, true, ""},
		"text":        {llmtest.Reply{Text: "one two", Usage: `"many"`}, true, ""},
		"reasoning":   {llmtest.Reply{Text: "one two", Usage: `{"prompt_tokens":3,"total_tokens":9}`}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			// Our client repeats what broke off, so the script ends after the first reply.
			r := start(t, new(llm.Dollar), nil, llmtest.Script(tt.reply))
			_, err := r.client().Complete(t.Context(), streamed(ask("q"), func(string) error { return nil }))
			if (err == nil) != (tt.err == "") || err != nil && tt.err != "JSON" && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %v", err)
			}
			total, lost := r.spent()
			if total == 0 || (lost > 0) != tt.lost || tt.lost && lost != total {
				t.Errorf("spent %s, lost %s", total, lost)
			}
		})
	}
}

// TestDisconnect: a stream arrives as it is sent, and a daemon that disconnects ends the request to
// the provider.
func TestDisconnect(t *testing.T) {
	r := start(t, new(llm.Dollar), nil, llmtest.Script(llmtest.Reply{Text: "one two three", HangAfter: 2, Input: 1, Output: 1}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var pieces []string
	_, err := r.client().Complete(ctx, streamed(ask("q"), func(s string) error {
		if pieces = append(pieces, s); len(pieces) == 2 {
			cancel() // the provider hangs: these have arrived before the end of the answer
		}
		return nil
	}))
	if !errors.Is(err, context.Canceled) || !cmp.Equal(pieces, []string{"one ", "two "}) {
		t.Error(pieces, err)
	}
	total, lost := r.spent() // returns only once the request to the provider has ended
	if total == 0 || lost != total {
		t.Errorf("spent %s, lost %s", total, lost)
	}
}

// TestClose: a request that the provider never answers is settled when the gateway is closed.
func TestClose(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	r := start(t, new(llm.Dollar), nil, func(llmtest.Call) llmtest.Reply {
		close(arrived)
		return llmtest.Reply{Hang: true}
	})
	failed := make(chan error)
	go func() {
		_, err := r.client().Complete(t.Context(), ask("q"))
		failed <- err
	}()
	awaittest.Receive(t, "arrived", arrived)
	if total, lost := r.spent(); total == 0 || lost != total {
		t.Errorf("spent %s, lost %s", total, lost)
	}
	if err := awaittest.Receive(t, "failed", failed); err == nil {
		t.Error("the daemon got an answer")
	}
	if _, err := http.Get(r.URL() + "/models"); err == nil {
		t.Error("the gateway still listens")
	}
}

// TestCap: sixteen daemons spend a whole cap and not more, and then every request is rejected with
// a status that is not repeated.
func TestCap(t *testing.T) {
	t.Parallel()
	const limit = 20_000 * token
	var mu sync.Mutex
	var bill llm.USD
	n := 0
	r := start(t, new(llm.USD(limit)), nil, func(llmtest.Call) llmtest.Reply {
		mu.Lock()
		defer mu.Unlock()
		n++
		switch n % 5 {
		case 1:
			return llmtest.Reply{Status: 429, RetryAfter: "0"}
		case 2:
			bill += 500 * token
			return llmtest.Reply{Break: true}
		}
		in, out := 1+n%500, n%100
		bill += llm.USD(in+out) * token
		return llmtest.Reply{Text: "a", Input: in, Output: out}
	})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			p := r.client()
			for {
				_, err := p.Complete(t.Context(), ask(strings.Repeat("x", 500)))
				if e, ok := errors.AsType[*llm.Error](err); ok && e.Status == http.StatusPaymentRequired {
					return
				}
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	awaittest.Receive(t, "r.Failed", r.Failed())
	calls := len(r.vendor.Calls())
	res, body := r.post("/v1/chat/completions", `{"model":"m","max_tokens":1,"messages":[]}`)
	if res.StatusCode != 402 || !strings.Contains(body, `"code":"insufficient_quota"`) || !strings.Contains(body, "--max-cost-usd") {
		t.Errorf("%s %s", res.Status, body)
	}
	if !errors.Is(r.Err(), llm.ErrBudgetExceeded) || len(r.vendor.Calls()) != calls {
		t.Errorf("%v, %d further requests", r.Err(), len(r.vendor.Calls())-calls)
	}
	mu.Lock()
	defer mu.Unlock()
	if total, _ := r.spent(); total > limit || bill > total {
		t.Errorf("bill %s, spent %s of %s", bill, total, llm.USD(limit))
	}
}

// TestUnpriced: without a cap, the model is listed; under a cap, nothing is sent.
func TestUnpriced(t *testing.T) {
	const body = `{"model":"house-model","messages":[]}`
	r := start(t, new(llm.Dollar), nil, nil)
	res, text := r.post("/v1/chat/completions", body)
	if res.StatusCode != 400 || !strings.Contains(text, "--price model=in/out") || len(r.vendor.Calls()) != 0 {
		t.Errorf("%s %s", res.Status, text)
	}
	awaittest.Receive(t, "r.Failed", r.Failed())
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), `"house-model"`) {
		t.Errorf("got %v", err)
	}
	r = start(t, nil, nil, llmtest.Script(llmtest.Reply{Text: "a"}))
	if res, text := r.post("/v1/chat/completions", body); res.StatusCode != 200 {
		t.Errorf("%s %s", res.Status, text)
	}
	if r.spent(); !cmp.Equal(r.ledger.Accounting("").Unpriced, []string{"house-model"}) {
		t.Errorf("%+v", r.ledger.Accounting(""))
	}
	if sent := string(r.vendor.Calls()[0].Body); sent != body {
		t.Errorf("without a cap the request was changed: %s", sent)
	}
}

// TestRejectedCallers: nobody else on the machine can spend.
func TestRejectedCallers(t *testing.T) {
	r := start(t, new(llm.Dollar), nil, nil)
	const path, body = "/v1/chat/completions", `{"model":"m","messages":[]}`
	for name, tt := range map[string]struct {
		method, path string
		change       func(*http.Request)
		status       int
		code         string
	}{
		"no key":      {"POST", path, func(q *http.Request) { q.Header.Del("Authorization") }, 401, "invalid_api_key"},
		"another key": {"POST", path, func(q *http.Request) { q.Header.Set("Authorization", "Bearer "+secret) }, 401, "invalid_api_key"},
		"rebinding":   {"POST", path, func(q *http.Request) { q.Host = "attacker.example" }, 403, "wrong_host"},
		"other path":  {"POST", "/v1/responses", func(*http.Request) {}, 404, "not_found"},
		"traversal":   {"POST", "/v1/chat/completions/../../files", func(*http.Request) {}, 404, "not_found"},
		"method":      {"GET", path, func(*http.Request) {}, 405, "method_not_allowed"},
		"list method": {"POST", "/v1/models", func(*http.Request) {}, 405, "method_not_allowed"},
	} {
		res, text := r.do(tt.method, tt.path, body, tt.change)
		var problem struct {
			Error struct{ Message, Type, Code string }
		}
		if err := json.Unmarshal([]byte(text), &problem); err != nil || res.StatusCode != tt.status ||
			problem.Error.Code != tt.code || problem.Error.Message == "" {
			t.Errorf("%s: %s %s", name, res.Status, text)
		}
	}
	if n := len(r.vendor.Calls()); n != 0 || r.Err() != nil {
		t.Errorf("%d requests, %v", n, r.Err())
	}
	if !strings.HasPrefix(r.URL(), "http://127.0.0.1:") {
		t.Error(r.URL())
	}
}

func TestRequestLimit(t *testing.T) {
	r := start(t, new(llm.Dollar), nil, nil)
	res, body := r.post("/v1/embeddings", strings.Repeat(" ", maxRequest+1))
	if res.StatusCode != 413 || !strings.Contains(body, "33554432") {
		t.Errorf("%s %s", res.Status, body)
	}
}

// TestModels: a daemon that lists the models finds those of its arm, and the provider is not asked.
func TestModels(t *testing.T) {
	r := start(t, new(llm.USD(0)), nil, nil)
	r.config.Model, r.config.Embedding = "m", "e"
	for _, path := range []string{"/v1/models", "/v1/v1/models", "/models"} {
		res, body := r.do(http.MethodGet, path, "", func(*http.Request) {})
		want := `{"object":"list","data":[{"id":"m","object":"model","owned_by":"evalctl"},{"id":"e","object":"model","owned_by":"evalctl"}]}`
		if res.StatusCode != 200 || body != want {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
	}
	if n := len(r.vendor.Calls()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// TestUsageEvent: the event that only has the usage reaches callers that asked for it.
func TestUsageEvent(t *testing.T) {
	reply := llmtest.Reply{Text: "hi", Input: 10, Output: 5}
	r := start(t, nil, nil, llmtest.Script(reply, reply, reply))
	for options, want := range map[string]bool{
		``: false, `,"stream_options":{"include_usage":false}`: false, `,"stream_options":{"include_usage":true}`: true,
	} {
		_, body := r.post("/v1/chat/completions", `{"model":"m","messages":[],"stream":true`+options+`}`)
		if strings.Contains(body, `"prompt_tokens":10`) != want || !strings.Contains(body, ": keep-alive") || !strings.HasSuffix(body, "data: [DONE]\n\n") {
			t.Errorf("%s: %s", options, body)
		}
	}
	if total, _ := r.spent(); total != 45*token {
		t.Errorf("spent %s", total)
	}
}

// TestCache: a stored answer is sent again as it was, at no cost, plain or as a stream; and with
// mode only nothing is sent.
func TestCache(t *testing.T) {
	dir := t.TempDir()
	reply := llmtest.Reply{Text: "one two", Input: 10, Output: 5}
	cut := llmtest.Reply{Text: "one", FinishReason: "length", Input: 1, Output: 1}
	first := start(t, new(llm.Dollar), openCache(t, dir, llm.CacheWrite), llmtest.Script(reply, reply, llmtest.Reply{Input: 10}, cut, cut))
	upstream := first.vendor.URL
	bodies := []struct{ path, body string }{
		{completions, `{"model":"m","max_tokens":5,"messages":[]}`},
		{completions, `{"model":"m","max_tokens":5,"messages":[],"stream":true}`},
		{embeddings, `{"model":"e","input":["a"]}`},
	}
	var want []string
	again := start(t, new(llm.Dollar), openCache(t, dir, llm.CacheWrite), nil)
	again.upstream = upstream
	for _, r := range []*rig{first, again} {
		for i, b := range bodies {
			res, body := r.post("/v1"+b.path, b.body)
			if want = append(want, body); res.StatusCode != 200 || body != want[i] {
				t.Errorf("%s %s: %s", b.body, res.Status, body)
			}
		}
	}
	// The same completion, for a caller that asks for the usage: the stored answer has it.
	usage := start(t, new(llm.Dollar), openCache(t, dir, llm.CacheWrite), nil)
	usage.upstream = upstream
	_, body := usage.post("/v1/chat/completions", `{"model":"m","max_tokens":5,"messages":[],"stream":true,"stream_options":{"include_usage":true}}`)
	if n := len(first.vendor.Calls()); n != 3 || !strings.Contains(body, `"prompt_tokens":10`) {
		t.Errorf("%d requests, %s", n, body)
	}
	for range 2 {
		first.post("/v1/chat/completions", `{"model":"m","max_tokens":1,"messages":[]}`)
	}
	if n := len(first.vendor.Calls()); n != 5 {
		t.Errorf("%d requests: an answer that was cut is sent again to a daemon that repeats its request", n)
	}
	first.spent()
	again.spent()
	if c := first.ledger.Accounting("go"); c.CacheHits != 0 || c.CacheMisses != 5 || c.TotalUSD != 44*token {
		t.Errorf("%+v", c)
	}
	if c := again.ledger.Accounting("go"); c.CacheHits != 3 || c.CacheMisses != 0 || c.CachedSavingsUSD != 40*token || c.TotalUSD != 0 {
		t.Errorf("%+v", c)
	}

	only := start(t, new(llm.USD(0)), openCache(t, dir, llm.CacheOnly), nil)
	only.upstream = upstream
	for range 2 {
		if res, body := only.post("/v1/chat/completions", `{"model":"m","max_tokens":1,"messages":[]}`); res.StatusCode != 200 || !strings.Contains(body, `"length"`) {
			t.Errorf("cut: %s %s", res.Status, body)
		}
	}
	for i, b := range bodies {
		if res, body := only.post("/v1"+b.path, b.body); res.StatusCode != 200 || body != want[i] {
			t.Errorf("%s: %s %s", b.body, res.Status, body)
		}
	}
	res, body := only.post("/v1/chat/completions", `{"model":"m","max_tokens":77,"messages":[]}`)
	if res.StatusCode != 400 || !strings.Contains(body, "not_cached") || !errors.Is(only.Err(), llm.ErrNotCached) {
		t.Errorf("%s %s, %v", res.Status, body, only.Err())
	}
	if total, _ := only.spent(); total != 0 {
		t.Errorf("spent %s", total)
	}
}

// TestCacheIsShared: the same request by evalctl itself, with the same cache, is another one. Its
// reply is stored in another form.
func TestCacheIsShared(t *testing.T) {
	cache := openCache(t, t.TempDir(), llm.CacheWrite)
	reply := llmtest.Reply{Text: "one two", Input: 10, Output: 5}
	r := start(t, nil, cache, llmtest.Script(reply, reply))
	own, err := llm.Open(llm.Config{
		Provider: llm.ProviderOpenAI, Model: "m", BaseURL: r.vendor.URL, APIKey: secret,
	})
	if err != nil {
		t.Fatal(err)
	}
	meter, err := llm.NewMeter(own, prices, nil)
	if err != nil {
		t.Fatal(err)
	}
	other := start(t, nil, cache, nil)
	other.upstream = r.vendor.URL
	for _, client := range []llm.Provider{r.client(), other.client()} {
		for _, p := range []llm.Provider{client, cache.Wrap(meter, r.vendor.URL)} {
			if got, err := p.Complete(t.Context(), ask("q")); err != nil || got.Text != reply.Text {
				t.Errorf("got %+v, %v", got, err)
			}
		}
	}
	if n := len(r.vendor.Calls()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

// TestRepeatedRequest: a daemon that asks the same again gets another reply, which is stored as
// well. The next process gets both again, in their order. With mode only, the last one is repeated.
func TestRepeatedRequest(t *testing.T) {
	dir, asked := t.TempDir(), 0
	vendor := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply {
		asked++
		return llmtest.Reply{Text: fmt.Sprintf("reply %d", asked), Input: 10, Output: 5}
	})
	for _, tt := range []struct {
		mode  llm.CacheMode
		fresh bool
		want  []string // of equal requests in one process
	}{
		{llm.CacheWrite, false, []string{"reply 1", "reply 2"}},
		{llm.CacheWrite, false, []string{"reply 1", "reply 2", "reply 3"}},
		{llm.CacheRead, false, []string{"reply 1", "reply 2", "reply 3", "reply 4"}},
		{llm.CacheOnly, false, []string{"reply 1", "reply 2", "reply 3", "reply 3", "reply 3"}},
		{llm.CacheWrite, true, []string{"reply 5", "reply 6"}},
		{llm.CacheOnly, true, []string{"reply 5", "reply 6", "reply 3", "reply 3"}},
	} {
		cache := openCache(t, dir, tt.mode)
		r := start(t, nil, cache, nil)
		r.upstream, r.config.Fresh = vendor.URL, tt.fresh
		r.config.Phase = func() ledger.Phase { return ledger.Ingest }
		var got []string
		for range tt.want {
			resp, err := r.client().Complete(t.Context(), ask("q"))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, resp.Text)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s, fresh %v: %s", tt.mode, tt.fresh, diff)
		}
	}
}

// TestBrokenStreamIsNotStored, although its beginning looks like an answer.
func TestBrokenStreamIsNotStored(t *testing.T) {
	cache := openCache(t, t.TempDir(), llm.CacheWrite)
	r := start(t, nil, cache, llmtest.Script(llmtest.Reply{Text: "one two three", CutAfter: 2}))
	_, _ = r.client().Complete(t.Context(), streamed(ask("q"), func(string) error { return nil }))
	r.spent()
	if s := cache.Stats(); s.Stored != 0 || s.Misses == 0 {
		t.Errorf("%+v", s)
	}
}

// TestPhase: completions are counted for the phase at their beginning.
func TestPhase(t *testing.T) {
	r := start(t, nil, nil, llmtest.Script(llmtest.Reply{Text: "a", Input: 1, Output: 1}))
	r.config.Phase = func() ledger.Phase { return ledger.Ingest }
	r.post("/v1/chat/completions", `{"model":"m","messages":[]}`)
	r.spent()
	if c := r.ledger.Accounting("go"); c.IngestUSD != 2*token || c.TotalUSD != 2*token {
		t.Errorf("%+v", c)
	}
}

func TestStart(t *testing.T) {
	_, err := Start(Config{Upstream: llm.Config{Provider: llm.ProviderFake}})
	if err == nil || !strings.Contains(err.Error(), "SVC_LLM_PROVIDER") {
		t.Errorf("got %v", err)
	}
}

// TestLongLines: an event may be longer than a buffer, and lines may end with CR LF.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	in := ": hi\r\n\r\ndata: " + long + "\r\n\r\ndata: a\ndata: b\n\ndata: end"
	r := bufio.NewReader(strings.NewReader(in))
	var got []string
	for {
		block, err := readBlock(r)
		got = append(got, string(block))
		if err != nil {
			break
		}
	}
	want := []string{": hi\r\n\r\n", "data: " + long + "\r\n\r\n", "data: a\ndata: b\n\n", "data: end"}
	if !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if _, err := readBlock(bufio.NewReader(strings.NewReader(strings.Repeat("x", maxEvent+1)))); !errors.Is(err, errEventSize) {
		t.Errorf("got %v", err)
	}
}

// TestSavedIsCharged: a stored answer saves what the request was charged, whatever the provider
// counted. The tokens of one that was stored without them are estimated.
func TestSavedIsCharged(t *testing.T) {
	body := `{"model":"m","max_tokens":50,"messages":[]}`
	for name, usage := range map[string]string{
		"counted": `{"prompt_tokens": 10, "completion_tokens": 5}`, "not counted": "null",
		"impossible": `{"prompt_tokens": -1}`, "too much": `{"prompt_tokens": 1000000}`,
	} {
		for _, limit := range []*llm.USD{nil, new(llm.Dollar)} {
			cache := openCache(t, t.TempDir(), llm.CacheWrite)
			paid := start(t, limit, cache, llmtest.Script(llmtest.Reply{Text: "one two", Usage: usage}))
			kept := start(t, limit, cache, nil)
			kept.upstream = paid.vendor.URL
			paid.post("/v1/chat/completions", body)
			kept.post("/v1/chat/completions", body)
			want, _ := paid.spent()
			total, _ := kept.spent()
			saved, estimated := kept.ledger.Saved("go")
			if saved != want || want == 0 || total != 0 || (estimated == 1) != (name != "counted") {
				t.Errorf("%s, cap %v: saved %s, %d estimated; paid %s", name, limit, saved, estimated, want)
			}
		}
	}
	cache := openCache(t, t.TempDir(), llm.CacheWrite)
	r := start(t, nil, cache, nil)
	key, err := r.cacheKey(&call{path: completions, body: []byte(body)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	cache.Store(key, cachedAnswer{ContentType: "application/json", Body: `{"choices":[{"message":{"content":"one two"}}]}`})
	r.post("/v1/chat/completions", body)
	r.spent()
	if saved, estimated := r.ledger.Saved("go"); saved == 0 || estimated != 1 {
		t.Errorf("without a count: saved %s, %d estimated", saved, estimated)
	}
}
