package intake_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"evalctl/internal/intake"
)

const budget = 1 << 20

// TestOneMayGoOn checks that a Hold goes on without budget, that a second one waits until the first
// one ends, and that a small one never waits.
func TestOneMayGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := intake.NewPool(budget)
		first, second, small := p.Hold(), p.Hold(), p.Hold()
		defer small.End()
		for range 3 {
			if err := first.Draw(t.Context(), budget); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan error, 1)
		go func() { done <- second.Draw(t.Context(), 2*budget) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatal("the second one does not wait:", err)
		default:
		}
		if err := small.Draw(t.Context(), intake.Free); err != nil {
			t.Error(err)
		}
		first.End()
		if err := <-done; err != nil {
			t.Error(err)
		}
		second.End()
	})
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	p := intake.NewPool(0)
	first, second := p.Hold(), p.Hold()
	if err := first.Draw(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	late := errors.New("the question's time is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	err := second.Draw(ctx, budget)
	if !errors.Is(err, late) || !errors.Is(err, intake.ErrWaited) {
		t.Error(err)
	}
	first.Return()
	if err := second.Draw(t.Context(), budget); err != nil {
		t.Error(err)
	}
	if err := second.Draw(t.Context(), intake.Largest); !errors.Is(err, intake.ErrTooLarge) {
		t.Error(err)
	}
	var none *intake.Hold
	none.Return()
	none.Share().End()
	if err := none.Draw(ctx, budget); err != nil {
		t.Error(err)
	}
}

// TestNoDeadlock has more Holds draw at the same time than the budget has room for. All of them end,
// and at no time is more drawn than the budget, what is free and one Hold.
func TestNoDeadlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const pool = 256 << 10
		const most = 512 << 10
		p := intake.NewPool(pool)
		draws := rapid.SliceOfN(rapid.SliceOfN(rapid.Int64Range(0, most/8), 0, 8), 1, 12).Draw(t, "draws")
		var mu sync.Mutex
		var sum, peak int64
		add := func(n int64) {
			mu.Lock()
			defer mu.Unlock()
			sum += n
			peak = max(peak, sum)
		}
		var all sync.WaitGroup
		for _, each := range draws {
			all.Go(func() {
				h := p.Hold()
				drawn := int64(0)
				for _, n := range each {
					if err := h.Draw(context.Background(), n); err != nil {
						t.Error(err)
					}
					drawn += n
					add(n)
				}
				add(-drawn)
				h.End()
			})
		}
		all.Wait()
		if limit := pool + most + int64(len(draws))*intake.Free; peak > limit {
			t.Fatalf("%d bytes were drawn, the limit is %d", peak, limit)
		}
	})
}

func TestReader(t *testing.T) {
	ctx, hold := intake.Begin(t.Context())
	defer hold.End()
	for limit, want := range map[int64]error{2: intake.ErrLimit, 3: nil, 4: nil} {
		r := intake.NewReader(ctx, io.NopCloser(strings.NewReader("abc")), limit)
		if text, err := io.ReadAll(r); !errors.Is(err, want) || want == nil && string(text) != "abc" {
			t.Errorf("%d: %q, %v", limit, text, err)
		}
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestSharedWhileWaiting checks that one user of a Hold can end its use while another one waits.
func TestSharedWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := intake.NewPool(0)
		first, second := p.Hold(), p.Hold()
		if err := first.Draw(t.Context(), budget); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		kept := second.Share()
		go func() { done <- second.Draw(t.Context(), budget) }()
		synctest.Wait()
		kept.End()
		first.End()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
