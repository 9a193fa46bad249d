package scorer

import (
	"context"
	"testing"

	"evalctl/internal/llm"
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
