package harness

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
)

// metered is a service with metrics, unless they are nil.
type metered struct {
	target.Service
	now *target.Embeddings
}

func (metered) Lacks(target.Ability) string { return "" }

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
	measured := func(m *embeddingMeter, s target.Service) *result.Embeddings {
		e := m.result(ctx, s)
		e.SetPrice(llm.Prices{"m": {Input: 2 * llm.Dollar}}, "2026-01-01")
		return e
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

// TestEmbeddingLog follows the embeddings of a run that is resumed after it was stopped or killed.
func TestEmbeddingLog(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	id := result.Identity{SchemaVersion: result.SchemaVersion, SDK: "go", Dataset: result.DatasetID{Selected: 1}}
	j, err := journal.Create(dir, id, time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	part := func(embedded int64) *embeddingLog {
		s := &Session{service: metered{now: &target.Embeddings{Provider: "openai", Model: "m"}}}
		s.MeterEmbeddings(ctx)
		s.service = metered{now: &target.Embeddings{Provider: "openai", Model: "m", Embedded: embedded, Tokens: 10 * embedded}}
		return s.logEmbeddings(j)
	}
	reopen := func() {
		if err = j.Close(); err == nil {
			j, err = journal.Open(filepath.Join(dir, "go.journal"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ended := func(l *embeddingLog, want int64, incomplete bool) {
		t.Helper()
		e, err := l.end(ctx)
		if err != nil || e == nil || e.Embedded != want || *e.Tokens != 10*want || e.Incomplete != incomplete {
			t.Errorf("%+v, %v, want %d, incomplete %t", e, err, want, incomplete)
		}
	}
	ended(part(2), 2, false)
	reopen() // stopped
	l := part(3)
	if err := l.look(); err != nil {
		t.Fatal(err)
	}
	ended(l, 5, false)
	reopen()
	l = part(4)
	if err := l.look(); err != nil {
		t.Fatal(err)
	}
	reopen() // killed
	ended(part(1), 10, true)
	l = part(7)
	l.session.service = metered{} // the daemon has crashed
	ended(l, 10, true)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if j, err = journal.Create(t.TempDir(), id, time.Now(), nil); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Dir(j.Path())
	reopen() // killed before the first look
	ended(part(6), 6, true)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}
