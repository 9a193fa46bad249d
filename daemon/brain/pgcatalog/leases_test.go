package pgcatalog_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"evalctl/daemon/brain"
	"evalctl/daemon/brain/pgcatalog"
	"evalctl/internal/awaittest"
)

const shortLease = 2 * time.Second

func openLeases(t *testing.T, pool *pgxpool.Pool) *pgcatalog.Leases {
	t.Helper()
	l := pgcatalog.NewLeases(pool, shortLease, slog.New(slog.DiscardHandler))
	t.Cleanup(l.Close)
	return l
}

func TestLeaseOfTwoProcesses(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	key := addBrain(t, pool, "a")
	one, two := openLeases(t, pool), openLeases(t, pool)
	held, release, err := one.Take(t.Context(), key, "work")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []*pgcatalog.Leases{one, two} {
		if _, _, err := l.Take(t.Context(), key, "work"); !errors.Is(err, brain.ErrLeased) {
			t.Errorf("got %v, want ErrLeased", err)
		}
	}
	if _, other, err := two.Take(t.Context(), key, "other work"); err != nil {
		t.Error(err)
	} else {
		other()
	}
	time.Sleep(shortLease * 3 / 2)
	if held.Err() != nil {
		t.Errorf("the lease ended: %v", context.Cause(held))
	}
	if _, _, err := two.Take(t.Context(), key, "work"); !errors.Is(err, brain.ErrLeased) {
		t.Errorf("after its first time: got %v, want ErrLeased", err)
	}
	release()
	if held.Err() == nil {
		t.Error("the context of a released lease has not ended")
	}
	_, release, err = two.Take(t.Context(), key, "work")
	if err != nil {
		t.Fatal(err)
	}
	release()
	if _, _, err := two.Take(t.Context(), "999", "work"); !errors.Is(err, brain.ErrNotFound) {
		t.Errorf("unknown brain: got %v, want ErrNotFound", err)
	}
}

// Of many processes that want a name, one at a time has it.
func TestLeaseExcludes(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	key := addBrain(t, pool, "a")
	var inside, taken atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		l := openLeases(t, pool)
		wg.Go(func() {
			for taken.Load() < 20 {
				_, release, err := l.Take(t.Context(), key, "work")
				if errors.Is(err, brain.ErrLeased) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) > 1 {
					t.Error("two processes have the same lease")
				}
				taken.Add(1)
				inside.Add(-1)
				release()
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
}

// A process that cannot reach the database loses its lease before another one can take it.
func TestLeaseLost(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	key := addBrain(t, pool, "a")
	lonely, err := pgxpool.NewWithConfig(t.Context(), pool.Config())
	if err != nil {
		t.Fatal(err)
	}
	one, two := pgcatalog.NewLeases(lonely, shortLease, slog.New(slog.DiscardHandler)), openLeases(t, pool)
	defer one.Close()
	held, _, err := one.Take(t.Context(), key, "work")
	if err != nil {
		t.Fatal(err)
	}
	lonely.Close()
	var release func()
	awaittest.Until(t, "the end of the lease", func() bool {
		_, release, err = two.Take(t.Context(), key, "work")
		if err != nil && !errors.Is(err, brain.ErrLeased) {
			t.Fatal(err)
		}
		return err == nil
	})
	if held.Err() == nil {
		t.Error("another process took a lease that has not ended")
	}
	release()
}

// Rows that a process does not know it has expire, also while it renews other leases.
func TestUnknownLeaseExpires(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	key := addBrain(t, pool, "a")
	one, two := openLeases(t, pool), openLeases(t, pool)
	held, release, err := one.Take(t.Context(), key, "keep")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := one.Leak(t.Context(), key, "lost"); err != nil {
		t.Fatal(err)
	}
	awaittest.Until(t, "the lost lease is free", func() bool {
		_, other, err := two.Take(t.Context(), key, "lost")
		if err == nil {
			other()
		} else if !errors.Is(err, brain.ErrLeased) {
			t.Log(err) // a busy machine may not answer in time
		}
		return err == nil
	})
	if held.Err() != nil {
		t.Errorf("the other lease ended: %v", context.Cause(held))
	}
}

func TestTakeOver(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	a, b, c := addBrain(t, pool, "a"), addBrain(t, pool, "b"), addBrain(t, pool, "c")
	resumed := make(chan string, 10)
	two := openLeases(t, pool)
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	fail := true
	watching.Go(func() {
		two.Watch(ctx, func(ctx context.Context, _, id string) error {
			if fail { // then it is called again
				fail = false
				return errors.New("the database is busy")
			}
			select {
			case resumed <- id:
			case <-ctx.Done(): // nobody receives after a failure
			}
			return nil
		})
	})
	defer watching.Wait()
	defer cancel()

	// One that vanishes, and one that ends with work left.
	gone, err := pgxpool.NewWithConfig(t.Context(), pool.Config())
	if err != nil {
		t.Fatal(err)
	}
	vanished, closed, alive := pgcatalog.NewLeases(gone, shortLease, slog.New(slog.DiscardHandler)), openLeases(t, pool), openLeases(t, pool)
	defer vanished.Close()
	for _, announce := range []struct {
		leases *pgcatalog.Leases
		key    string
	}{{vanished, a}, {closed, b}, {closed, b}, {alive, c}} {
		if _, err := announce.leases.Announce(t.Context(), announce.key); err != nil {
			t.Fatal(err)
		}
	}
	done, err := closed.Announce(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	done()
	closed.Close()
	gone.Close()
	got := map[string]int{}
	for len(got) < 2 {
		got[awaittest.Receive(t, fmt.Sprintf("work of a and b, after that of %v", got), resumed)]++
	}
	time.Sleep(shortLease * 3 / 2)
	if got["a"] != 1 || got["b"] != 1 || len(resumed) > 0 {
		t.Errorf("took over %v and %d more, want a and b once", got, len(resumed))
	}
}

// A process that ends in order leaves no announcement of work that is done.
func TestCloseWithdraws(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	key := addBrain(t, pool, "a")
	l := openLeases(t, pool)
	done, err := l.Announce(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	done()
	l.Close()
	var left int
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM evalctl.leases").Scan(&left); err != nil {
		t.Fatal(err)
	}
	if left != 0 {
		t.Errorf("%d rows are left", left)
	}
}

// What is announced a moment after the last use is not lost by the row of that use being removed.
func TestAnnounceAgain(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	key := addBrain(t, pool, "a")
	l := openLeases(t, pool)
	count := func() (n int) {
		if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM evalctl.leases").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i := range 3 {
		done, err := l.Announce(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if n := count(); n != 1 {
			t.Fatalf("announcement %d: %d rows, want 1", i, n)
		}
		done()
	}
	awaittest.Until(t, "the row of unused announcements is removed", func() bool { return count() == 0 })
	if _, err := l.Announce(t.Context(), "999"); !errors.Is(err, brain.ErrNotFound) {
		t.Errorf("unknown brain: got %v, want ErrNotFound", err)
	}
}
