package scorer

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
)

// gate is a scorer that admits up to two judgements at a time and fails at an answer "stop".
type gate struct {
	Exact
	running, most, calls atomic.Int64
}

func (g *gate) Score(ctx context.Context, item Item) (Verdict, error) {
	g.calls.Add(1)
	n := g.running.Add(1)
	defer g.running.Add(-1)
	for most := g.most.Load(); n > most && !g.most.CompareAndSwap(most, n); most = g.most.Load() {
	}
	if item.Answer == "stop" {
		return Verdict{Cost: 1}, errors.New("stopped")
	}
	v, err := g.Exact.Score(ctx, item)
	v.Cost = 1
	return v, err
}

func TestScoreAll(t *testing.T) {
	items := make([]Item, 50)
	for i := range items {
		items[i] = Item{ID: fmt.Sprint(i), Expected: []string{fmt.Sprint(i)}, Answer: fmt.Sprint(i * (i % 2))}
	}
	g := &gate{}
	verdicts, err := ScoreAll(t.Context(), g, items, 2)
	if err != nil || len(verdicts) != len(items) || g.most.Load() > 2 {
		t.Fatalf("%d verdicts, %v, %d at a time", len(verdicts), err, g.most.Load())
	}
	for i, v := range verdicts {
		if v.Passed() != (i%2 == 1 || i == 0) {
			t.Errorf("item %d: %+v", i, v)
		}
	}
	items[3].Answer = "stop"
	g = &gate{}
	verdicts, err = ScoreAll(t.Context(), g, items, 1)
	if err == nil || err.Error() != "stopped" || g.calls.Load() > 5 || verdicts[3].Cost != 1 || verdicts[0].Cost != 1 {
		t.Errorf("%d calls, %v, %+v", g.calls.Load(), err, verdicts[:4])
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ScoreAll(ctx, Exact{}, items, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
