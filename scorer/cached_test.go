package scorer

import (
	"context"
	"strings"
	"testing"

	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
)

// given is a provider whose responses are given.
type given struct {
	llm.Provider
	list []llm.Response
}

func (r *given) Complete(context.Context, llm.Request) (llm.Response, error) {
	next := r.list[0]
	r.list = r.list[1:]
	return next, nil
}

// TestCachedVerdict: a verdict is cached if nothing was asked for it, and what a cache saved adds
// up over its requests.
func TestCachedVerdict(t *testing.T) {
	cached := func(text string) llm.Response {
		return llm.Response{Text: text, Cached: true, SavedUSD: 5, Usage: llm.Usage{InputTokens: 3}}
	}
	paid := func(text string) llm.Response { return llm.Response{Text: text, Attempts: 1, Cost: 7} }
	for _, tt := range []struct {
		name   string
		list   []llm.Response
		cached bool
		saved  llm.USD
		cost   llm.USD
	}{
		{"cached", []llm.Response{cached(good)}, true, 5, 0},
		{"paid", []llm.Response{paid(good)}, false, 0, 7},
		{"repair paid", []llm.Response{cached("no"), paid(good)}, false, 5, 7},
		{"repair cached", []llm.Response{paid("no"), cached(good)}, false, 5, 7},
		{"both cached", []llm.Response{cached("no"), cached(good)}, true, 10, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j, err := NewJudge(&given{list: tt.list}, "gpt-4o", DefaultPrompts())
			if err != nil {
				t.Fatal(err)
			}
			v, err := j.Score(t.Context(), item)
			if err != nil || !v.Scored || v.Cached != tt.cached || v.Saved != tt.saved || v.Cost != tt.cost || v.Usage.InputTokens != 0 {
				t.Errorf("got %+v, %v", v, err)
			}
		})
	}
	j, err := NewJudge(&given{list: []llm.Response{cached(good), paid(good)}}, "gpt-4o", DefaultPrompts())
	if err != nil {
		t.Fatal(err)
	}
	v, err := NewDual(j, map[string]Reference{"q1": {Answer: "Green"}}).Score(t.Context(), item)
	if err != nil || v.Cached || v.Saved != 5 || v.Cost != 7 || v.Original.Cached {
		t.Errorf("got %+v, %v", v, err)
	}
}

// TestRepeatsAreJudgedAgain: a repeat of a question has a verdict of its own, from a cache too. The
// first one has the same as a question that is asked once.
func TestRepeatsAreJudgedAgain(t *testing.T) {
	zero := `{"score": 0, "reason": "not sure"}`
	srv := llmtest.NewServer(t, llmtest.Script(reply(good), reply(zero), reply(good)))
	p, err := llm.Open(llm.Config{Provider: llm.ProviderOpenAI, Model: "gpt-4o", BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	m, err := llm.NewMeter(p, llm.DefaultPrices(), nil)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := llm.OpenCache(t.TempDir(), llm.CacheWrite, 0)
	if err != nil {
		t.Fatal(err)
	}
	j, err := NewJudge(cache.Wrap(m, srv.URL), "gpt-4o", DefaultPrompts())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		repeat int
		score  float64
		cached bool
	}{{1, .75, false}, {2, 0, false}, {3, .75, false}, {1, .75, true}, {2, 0, true}, {0, .75, true}} {
		in := item
		in.Repeat = tt.repeat
		v, err := NewDual(Checks{Judge: j}, nil).Score(t.Context(), Item{
			ID: "q", Answer: in.Answer, Repeat: in.Repeat, Checks: []Check{{Judge: "names blue"}},
		})
		if err != nil || v.Cached != tt.cached || v.Passed() != (tt.score >= PassMark) {
			t.Errorf("repeat %d: %+v, %v", tt.repeat, v, err)
		}
	}
}

// TestCachedUnderAnyLimit: the limit of a request depends on which replies were cut before it.
// Whatever the order of the items, a reply that was paid for is found.
func TestCachedUnderAnyLimit(t *testing.T) {
	srv := llmtest.NewServer(t, func(c llmtest.Call) llmtest.Reply {
		long := strings.Contains(c.Messages[1].Content, "long")
		switch {
		case long && strings.Contains(string(c.Body), `"max_tokens":300,`):
			return llmtest.Reply{Text: `{"score":`, FinishReason: "length", Input: 100, Output: 300}
		case long:
			return llmtest.Reply{Text: good, Input: 100, Output: 3000}
		case len(c.Messages) == 2 && strings.Contains(c.Messages[1].Content, "repaired"):
			return reply("no JSON")
		}
		return reply(good)
	})
	dir := t.TempDir()
	judge := func(mode llm.CacheMode, answers ...string) {
		t.Helper()
		p, err := llm.Open(llm.Config{Provider: llm.ProviderOpenAI, Model: "gpt-4o", BaseURL: srv.URL})
		if err != nil {
			t.Fatal(err)
		}
		m, err := llm.NewMeter(p, llm.DefaultPrices(), nil)
		if err != nil {
			t.Fatal(err)
		}
		cache, err := llm.OpenCache(dir, mode, 0)
		if err != nil {
			t.Fatal(err)
		}
		j, err := NewJudge(cache.Wrap(m, srv.URL), "gpt-4o", DefaultPrompts())
		if err != nil {
			t.Fatal(err)
		}
		for _, answer := range answers {
			in := item
			in.Answer = answer
			if v, err := j.Score(t.Context(), in); err != nil || !v.Scored || v.Score != .75 {
				t.Errorf("%s, %s: %+v, %v", mode, answer, v, err)
			}
		}
		if s := cache.Stats(); mode == llm.CacheOnly && s.Misses != 0 {
			t.Errorf("%+v", s)
		}
	}
	judge(llm.CacheWrite, "before", "long", "after", "repaired")
	paid := len(srv.Calls())
	for _, mode := range []llm.CacheMode{llm.CacheOnly, llm.CacheWrite} {
		judge(mode, "repaired", "after", "long", "before")
		judge(mode, "long", "before", "after", "repaired")
	}
	if n := len(srv.Calls()); n != paid {
		t.Errorf("%d of %d requests were paid again", n-paid, paid)
	}
}
