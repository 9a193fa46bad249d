package brain

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"evalctl/daemon/store"
	"evalctl/internal/awaittest"
)

// TestIdleBrains: brains that nobody uses have no store and, if other processes use them, no entry.
// Their handles end, those of brains in use do not.
func TestIdleBrains(t *testing.T) {
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("shared %v", shared), func(t *testing.T) {
			clock := new(atomic.Int64)
			s, d := openDisk(t, func(c *Config) {
				c.Persistent = true
				c.Now = func() time.Time { return epoch.Add(time.Duration(clock.Load())) }
				if shared {
					_ = c.Catalog.Close()
					c.Catalog, c.HasStore = &sharedMemory{}, nil
				}
			})
			const brains = 30
			for i := range brains {
				create(t, s, fmt.Sprint("b", i))
				put(t, s, fmt.Sprint("b", i), "a.md", "otter")
			}
			acquired, idle := use(t, s, "b1"), use(t, s, "b2")
			release := acquired.Acquire()
			defer release()
			// What is being indexed is not closed at this moment.
			awaittest.Until(t, "the end of idle stores", func() bool {
				clock.Add(int64(2 * storeIdle))
				s.pool.closeIdleStores()
				return d.open.Load() == 1
			})
			used := use(t, s, "b3")
			if _, err := used.Store(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.pool.closeIdleStores()
			s.endIdle()
			want := brains
			if shared {
				want = 2
			}
			if n := len(s.brains); n != want || d.open.Load() != 2 || len(s.pool.entries) != 2 {
				t.Errorf("%d brains, %d open stores and %d in the pool are left, want %d, 2 and 2", n, d.open.Load(), len(s.pool.entries), want)
			}
			if _, err := acquired.Store(t.Context()); err != nil || used.Err() != nil {
				t.Errorf("brains in use: %v, %v", err, used.Err())
			}
			if _, err := idle.Store(t.Context()); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("an outdated handle: %v, want ErrUnavailable", err)
			}
			if err := s.Refresh(context.Background(), "", "b2"); err != nil {
				t.Fatal(err)
			}
			if got := find(t, s, "b2", "otter"); len(got) != 1 {
				t.Errorf("found %v in a brain that was idle", got)
			}
			unopened := use(t, s, "b2")
			awaittest.Until(t, "the end of the store of b2", func() bool {
				clock.Add(int64(2 * storeIdle))
				s.pool.closeIdleStores()
				return d.open.Load() == 1
			})
			defer unopened.Acquire()()
			clock.Add(int64(2 * storeIdle))
			s.endIdle()
			if d.open.Load() != 1 || unopened.Err() != nil {
				t.Errorf("%d open stores, want 1; an acquired brain without one: %v", d.open.Load(), unopened.Err())
			}
		})
	}
}
