package llm

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func reserve(t *testing.T, b *Budget, worst USD) *Reservation {
	t.Helper()
	r, err := b.Reserve(t.Context(), worst)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBudgetRefusal(t *testing.T) {
	b := NewBudget(2 * Dollar)
	reserve(t, b, 2*Dollar).Settle(2*Dollar - 1_200_000)
	_, err := b.Reserve(t.Context(), 4_100_000)
	if !errors.Is(err, ErrBudgetExceeded) {
		t.Fatalf("got %v", err)
	}
	if want := "budget exceeded: next call may cost $0.0041, $0.0012 left of $2.00"; err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	reserve(t, b, 1_200_000) // exactly what is left
}

func TestBudgetWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		first := reserve(t, b, 80)
		got := make(chan error, 1)
		go func() {
			_, err := b.Reserve(t.Context(), 50)
			got <- err
		}()
		synctest.Wait()
		select {
		case err := <-got:
			t.Fatalf("did not wait: %v", err)
		default:
		}
		first.Settle(50)
		if err := <-got; err != nil {
			t.Errorf("50 of 50 left: %v", err)
		}
	})
}

func TestBudgetWaiterFailsWhenNothingIsFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		first := reserve(t, b, 80)
		got := make(chan error, 1)
		go func() {
			_, err := b.Reserve(t.Context(), 50)
			got <- err
		}()
		synctest.Wait()
		first.Settle(80)
		if err := <-got; !errors.Is(err, ErrBudgetExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestBudgetWaiterLeavesWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		reserve(t, b, 100)
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		go func() {
			_, err := b.Reserve(ctx, 1)
			got <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestSettleOnceAndTruthfully(t *testing.T) {
	b := NewBudget(100)
	r := reserve(t, b, 10)
	r.Settle(120)
	r.Settle(5)
	if got := b.Spent(); got != 120 {
		t.Errorf("spent %d, want 120: an overrun is recorded, once", got)
	}
	if _, err := b.Reserve(t.Context(), 0); !errors.Is(err, ErrBudgetExceeded) {
		t.Errorf("after an overrun: %v", err)
	}
}

func TestNilBudget(t *testing.T) {
	var b *Budget
	r, err := b.Reserve(t.Context(), 1<<62)
	if err != nil {
		t.Fatal(err)
	}
	r.Settle(1)
	if b.Spent() != 0 {
		t.Error("a nil budget counts")
	}
}

// The model is two plain sums. A Reserve that would block is not called.
func TestBudgetProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := USD(rapid.Int64Range(0, 1000).Draw(t, "cap"))
		b := NewBudget(limit)
		var spent, reserved USD
		held := map[*Reservation]USD{}
		var order []*Reservation
		t.Repeat(map[string]func(*rapid.T){
			"reserve": func(t *rapid.T) {
				worst := USD(rapid.Int64Range(0, 400).Draw(t, "worst"))
				if spent+worst <= limit && spent+reserved+worst > limit {
					t.Skip("would wait")
				}
				r, err := b.Reserve(context.Background(), worst)
				if fits := spent+worst <= limit; fits != (err == nil) {
					t.Fatalf("spent %d, reserved %d, worst %d, cap %d: %v", spent, reserved, worst, limit, err)
				}
				if err == nil {
					reserved += worst
					held[r] = worst
					order = append(order, r)
				}
			},
			"settle": func(t *rapid.T) {
				if len(order) == 0 {
					t.Skip("no reservation")
				}
				i := rapid.IntRange(0, len(order)-1).Draw(t, "which")
				r := order[i]
				actual := USD(rapid.Int64Range(0, int64(held[r])).Draw(t, "actual"))
				r.Settle(actual)
				r.Settle(actual)
				reserved -= held[r]
				spent += actual
				order = append(order[:i], order[i+1:]...)
			},
			"": func(t *rapid.T) {
				if b.Spent() != spent || spent+reserved > limit {
					t.Fatalf("spent %d (want %d), reserved %d, cap %d", b.Spent(), spent, reserved, limit)
				}
			},
		})
	})
}

// Sixteen workers spend a whole cap while they compete for reservations. A lost wake-up is a
// deadlock, which fails the test's bubble.
func TestBudgetUnderWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, biggest = 100_000, 20_000
		b := NewBudget(limit)
		var paid atomic.Int64
		var wg sync.WaitGroup
		for seed := range uint64(16) {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(seed, 1))
				for {
					worst := 1 + random.Int64N(biggest)
					r, err := b.Reserve(t.Context(), USD(worst))
					if err != nil {
						if !errors.Is(err, ErrBudgetExceeded) {
							t.Error(err)
						}
						return
					}
					time.Sleep(time.Duration(random.IntN(5)) * time.Millisecond) // time inside the bubble
					b.mu.Lock()
					if got := b.spent + b.reserved; got > limit {
						t.Errorf("spent and reserved %d, cap %d", got, limit)
					}
					b.mu.Unlock()
					actual := random.Int64N(worst/4 + 1)
					paid.Add(actual)
					r.Settle(USD(actual))
				}
			})
		}
		wg.Wait()
		got := b.Spent()
		if int64(got) != paid.Load() || got > limit || got < limit-biggest {
			t.Errorf("spent %d, paid %d of %d", got, paid.Load(), limit)
		}
	})
}
