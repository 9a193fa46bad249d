package search

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stallable is an embedder that does not answer while stalled, and counts its calls.
type stallable struct {
	meanings
	mu      sync.Mutex
	stalled bool
}

func (e *stallable) stall(stalled bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stalled = stalled
}

func (e *stallable) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	stalled := e.stalled
	e.mu.Unlock()
	if stalled {
		e.calls.Add(1)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return e.meanings.Embed(ctx, texts)
}

// timed searches and returns how long that took.
func timed(t *testing.T, s *Searcher, q Query) (Result, time.Duration, error) {
	t.Helper()
	start := time.Now()
	res, err := s.Search(t.Context(), q)
	return res, time.Since(start), err
}

// A model that does not answer costs one search the time that models have. Later searches lose no
// time until the pause is over.
func TestStalledEmbedder(t *testing.T) {
	for name, embedded := range map[string]bool{"documents": false, "query": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &stallable{}
				s := NewSearcher(cats(3), Config{Embedder: e})
				if embedded {
					search(t, s, Query{Text: "cat", Mode: ModeHybrid})
				}
				e.stall(true)
				before := e.calls.Load()
				q := Query{Text: "kitten", Mode: ModeHybrid}
				_, took, err := timed(t, s, q)
				if failed, ok := errors.AsType[*ModelError](err); !ok || took != modelTime || failed.Model != e.Name() {
					t.Errorf("got %v after %v", err, took)
				}
				_, took, err = timed(t, s, q)
				if took != 0 || err == nil || !strings.Contains(err.Error(), "not asked again for 15s") || e.calls.Load() != before+1 {
					t.Errorf("got %v after %v, asked %d times", err, took, e.calls.Load()-before)
				}
				s.cfg.Degrade = true
				res, took, err := timed(t, s, q)
				if err != nil || took != 0 || res.Mode != ModeBM25 || !strings.Contains(res.Degraded, "not asked again") {
					t.Errorf("got mode %s, %q, %v after %v", res.Mode, res.Degraded, err, took)
				}
				if res, took, err = timed(t, s, Query{Text: "cat", Mode: ModeBM25}); err != nil || took != 0 || res.Degraded != "" {
					t.Errorf("bm25: %v after %v", err, took)
				}
			})
		})
	}
}

// After the pause, one search tries the model for all.
func TestOneTriesAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &stallable{stalled: true}
		s := NewSearcher(cats(3), Config{Embedder: e})
		q := Query{Text: "kitten", Mode: ModeHybrid}
		timed(t, s, q)
		time.Sleep(retryPause)
		trial := make(chan time.Duration)
		go func() {
			_, took, _ := timed(t, s, q)
			trial <- took
		}()
		synctest.Wait()
		if _, took, err := timed(t, s, q); err == nil || took != 0 {
			t.Errorf("beside the trial: %v after %v", err, took)
		}
		if took := <-trial; took != modelTime {
			t.Errorf("the trial took %v", took)
		}
		e.stall(false)
		if _, took, err := timed(t, s, q); err == nil || took != 0 {
			t.Errorf("after the trial: %v after %v", err, took)
		}
		time.Sleep(retryPause)
		for range 2 {
			if _, _, err := timed(t, s, q); err != nil {
				t.Error(err)
			}
		}
	})
}

// An embedder that answers, but not all texts in time, is not regarded as failed: the next search
// waits again, and finds more texts embedded.
func TestSlowIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &meanings{before: func(context.Context, int64, []string) error {
			time.Sleep(5 * time.Second / 2)
			return nil
		}}
		s := NewSearcher(cats(2*embedBatch), Config{Embedder: e})
		prepared := make(chan error)
		go func() { prepared <- s.Prepare(t.Context()) }()
		synctest.Wait()
		q := Query{Text: "kitten", Mode: ModeHybrid}
		_, took, err := timed(t, s, q)
		if err == nil || !strings.Contains(err.Error(), "of 512 passages have no vector yet") || took != modelTime {
			t.Errorf("%v after %v", err, took)
		}
		if _, took, err := timed(t, s, q); err != nil || took != 6*5*time.Second/2-modelTime {
			t.Errorf("%v after %v", err, took)
		}
		if err := <-prepared; err != nil {
			t.Error(err)
		}
	})
}

// A refused query does not count as a failure of the embedder.
func TestRefusedQueryIsNoOutage(t *testing.T) {
	s := NewSearcher(cats(1), Config{Embedder: picky{&meanings{}}, Degrade: true})
	if res := search(t, s, Query{Text: "POISON", Mode: ModeHybrid}); res.Mode != ModeBM25 {
		t.Errorf("mode %s", res.Mode)
	}
	if res := search(t, s, Query{Text: "cat", Mode: ModeHybrid}); res.Mode != ModeHybrid {
		t.Errorf("mode %s, %s", res.Mode, res.Degraded)
	}
}

// The reranker has the time that the embedder leaves, and a circuit of its own.
func TestStalledReranker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSearcher(cats(2), Config{Embedder: &meanings{}, Reranker: waiting{}, Degrade: true})
		for i, want := range []time.Duration{modelTime, 0} {
			res, took, err := timed(t, s, Query{Text: "cat", Mode: ModeHybridRerank})
			if err != nil || res.Mode != ModeHybrid || took != want || !strings.HasPrefix(res.Degraded, "test/waiting: no answer within 8s") {
				t.Errorf("search %d: mode %s, %q, %v after %v", i, res.Mode, res.Degraded, err, took)
			}
		}
	})
}
