package store

import (
	"context"
	"errors"
	"time"
)

// stall is how long a mutation that fails with an unavailable backend has to take to count as
// stalled.
const stall = time.Second

// lockWrites waits until no other mutation runs. It fails if the store is closed or ctx is done.
// The caller passes the outcome of its mutation to release.
//
// If a mutation stalls, those that wait for it fail with it: otherwise each would stall as long as
// the first, one after the other. So a row that another client of a database keeps locked delays no
// writer for longer than a lock may.
func (s *Store) lockWrites(ctx context.Context) (release func(outcome error), err error) {
	stalls := s.stalls.Load()
	select {
	case s.writeLock <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	err = s.gate.enter(ctx)
	if err == nil {
		s.gate.mu.RUnlock()
		if s.stalls.Load() != stalls {
			err = errStalled
		}
	}
	if err != nil {
		<-s.writeLock
		return nil, err
	}
	begin := time.Now()
	return func(outcome error) {
		s.noteStall(begin, outcome)
		<-s.writeLock
	}, nil
}

var errStalled = Unavailable(nil, "the write before this one took too long: try again")

// noteStall counts a mutation if it has stalled. The caller holds the write lock.
func (s *Store) noteStall(begin time.Time, outcome error) {
	if time.Since(begin) >= stall && errors.Is(outcome, ErrUnavailable) {
		s.stalls.Add(1)
	}
}
