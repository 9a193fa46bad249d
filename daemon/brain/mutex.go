package brain

import "context"

// mutex is a lock that a caller can stop waiting for.
type mutex chan struct{}

func newMutex() mutex { return make(mutex, 1) }

func (m mutex) Lock() { m <- struct{}{} }

func (m mutex) Unlock() { <-m }

func (m mutex) TryLock() bool {
	select {
	case m <- struct{}{}:
		return true
	default:
		return false
	}
}

// lockWithin fails if ctx ends before the lock is free.
func (m mutex) lockWithin(ctx context.Context) error {
	select {
	case m <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
