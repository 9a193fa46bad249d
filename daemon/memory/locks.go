package memory

import (
	"context"
	"errors"
	"sync"
	"time"

	"evalctl/daemon/brain"
)

// leasePoll is the interval at which waitForLease tries to take a lease.
const leasePoll = 100 * time.Millisecond

// waitForLease is brain.Handle.Lease, but waits while another process has the lease.
func waitForLease(
	ctx context.Context, h brain.Handle, name string,
) (held context.Context, release func(), err error) {
	for {
		held, release, err = h.Lease(ctx, name)
		if !errors.Is(err, brain.ErrLeased) {
			return held, release, err
		}
		select {
		case <-time.After(leasePoll):
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// locks are locks by key. The zero value is ready for use.
type locks struct {
	mu  sync.Mutex
	all map[any]*lock // those that are held or waited for
}

type lock struct {
	token chan struct{} // contains a value while the lock is held
	users int           // guarded by locks.mu
}

// acquire waits for the lock of a key, or for the end of the context.
func (l *locks) acquire(ctx context.Context, key any) (release func(), err error) {
	l.mu.Lock()
	if l.all == nil {
		l.all = map[any]*lock{}
	}
	k := l.all[key]
	if k == nil {
		k = &lock{token: make(chan struct{}, 1)}
		l.all[key] = k
	}
	k.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.all, key)
		}
	}
	select {
	case k.token <- struct{}{}:
		return func() { <-k.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
