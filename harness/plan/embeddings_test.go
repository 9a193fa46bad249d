package plan

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
)

// metered is a service with metrics, unless they are nil.
type metered struct {
	target.Service
	now *target.Embeddings
}

func (m metered) Embeddings(context.Context) (target.Embeddings, bool) {
	if m.now == nil {
		return target.Embeddings{}, false
	}
	return *m.now, true
}

// TestEmbeddingMeter follows a daemon through a run in which it is restarted.
func TestEmbeddingMeter(t *testing.T) {
	ctx := t.Context()
	reading := func(embedded, cached, tokens, uncounted int64) metered {
		return metered{now: &target.Embeddings{
			Provider: "openai", Model: "m", Embedded: embedded, Cached: cached, Tokens: tokens, Uncounted: uncounted,
		}}
	}
	prices := llm.Prices{"m": {Input: 2 * llm.Dollar}}
	measured := func(m *embeddingMeter, s target.Service) *result.Embeddings {
		return m.result(ctx, s, prices, "2026-01-01", false)
	}
	var m embeddingMeter
	m.begin(ctx, reading(10, 5, 100, 0))
	want := &result.Embeddings{
		Provider: "openai", Model: "m", Embedded: 2, Cached: 1, Tokens: new(int64(1000)),
		USD: new(llm.Dollar / 500), Price: new(2 * llm.Dollar), PricesDate: "2026-01-01",
	}
	if diff := cmp.Diff(want, measured(&m, reading(12, 6, 1100, 0))); diff != "" {
		t.Error(diff)
	}
	m.restart(ctx, reading(12, 6, 1100, 0))
	want.Embedded, want.Cached, want.Tokens, want.USD = 3, 8, new(int64(1500)), new(llm.Dollar*3/1000)
	if diff := cmp.Diff(want, measured(&m, reading(1, 7, 500, 0))); diff != "" {
		t.Error(diff)
	}
	want.Tokens, want.USD = nil, nil
	if diff := cmp.Diff(want, measured(&m, reading(1, 7, 500, 1))); diff != "" {
		t.Errorf("tokens of one text unknown: %s", diff)
	}
	if got := measured(&m, metered{}); got != nil {
		t.Errorf("metrics that cannot be read: %+v", got)
	}
	m.restart(ctx, metered{}) // it crashed
	if got := measured(&m, reading(1, 7, 500, 0)); got != nil {
		t.Errorf("after a crash: %+v", got)
	}
	m.begin(ctx, reading(10, 5, 100, 0))
	if got := measured(&m, reading(1, 7, 500, 0)); got != nil {
		t.Errorf("a counter has fallen: %+v", got)
	}
	m.begin(ctx, metered{})
	if got := measured(&m, reading(1, 7, 500, 0)); got != nil {
		t.Errorf("no metrics before: %+v", got)
	}
}
