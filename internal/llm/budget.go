package llm

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrBudgetExceeded means that the next call could exceed the spend cap and was not made. A run
// stops on it.
var ErrBudgetExceeded = errors.New("budget exceeded")

// Budget enforces a spend cap across goroutines. The worst case of a call is reserved before the
// call and settled after it. The sum of spent and reserved money never exceeds the cap. A nil
// *Budget has no cap.
type Budget struct {
	limit USD

	mu       sync.Mutex
	spent    USD
	reserved USD
	freed    chan struct{} // closed and replaced by each settlement
}

// NewBudget returns a budget with a cap. A cap of 0 allows only free calls.
func NewBudget(limit USD) *Budget {
	return &Budget{limit: limit, freed: make(chan struct{})}
}

// Charge counts money that was spent without a reservation, such as by an interrupted run.
func (b *Budget) Charge(spent USD) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(spent)
}

// add counts spent money and wakes waiting callers. b.mu must be held.
func (b *Budget) add(spent USD) {
	b.spent = b.spent.Plus(max(spent, 0))
	close(b.freed)
	b.freed = make(chan struct{})
}

// Reservation is money set aside for one call. It must be settled.
type Reservation struct {
	budget *Budget
	amount USD
	once   sync.Once
}

// Reserve sets worst aside. If worst fits only once other reservations settle for less, Reserve
// waits for them. If it can no longer fit, the error wraps ErrBudgetExceeded. A caller that holds a
// reservation must settle it before it reserves again, or both calls may block forever.
func (b *Budget) Reserve(ctx context.Context, worst USD) (*Reservation, error) {
	if b == nil {
		return nil, nil
	}
	worst = max(worst, 0)
	for {
		b.mu.Lock()
		left := b.limit - b.spent
		if worst > left {
			b.mu.Unlock()
			return nil, fmt.Errorf("%w: next call may cost %s, %s left of %s",
				ErrBudgetExceeded, worst, max(left, 0), b.limit)
		}
		if worst <= left-b.reserved {
			b.reserved += worst
			b.mu.Unlock()
			return &Reservation{budget: b, amount: worst}, nil
		}
		freed := b.freed
		b.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Settle replaces the reservation with the actual cost of the call. A cost above the reservation is
// recorded as it is, so that later reservations fail sooner. Only the first Settle counts. Settling
// a nil reservation does nothing.
func (r *Reservation) Settle(actual USD) {
	if r == nil {
		return
	}
	r.once.Do(func() {
		b := r.budget
		b.mu.Lock()
		defer b.mu.Unlock()
		b.reserved -= r.amount
		b.add(actual)
	})
}

// Spent returns the sum of all settlements. A nil *Budget does not count and returns 0.
func (b *Budget) Spent() USD {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent
}
