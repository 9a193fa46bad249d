package memory

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sync/singleflight"

	"evalctl/daemon/brain"
	"evalctl/daemon/store"
	"evalctl/internal/retry"
)

// shared returns the result of work. Calls with the same key share the work while it runs. Work
// goes on when ctx ends, so that a repeated request finds the result. The context of work ends with
// the brain and with the service.
func shared[T any](
	ctx context.Context, s *Service, h brain.Handle, flights *singleflight.Group, key string,
	work func(context.Context) (T, error),
) (T, error) {
	done := flights.DoChan(key, func() (any, error) {
		s.jobs.mu.Lock()
		if s.jobs.closed {
			s.jobs.mu.Unlock()
			return nil, brain.ErrClosed
		}
		s.jobs.running.Add(1)
		s.jobs.mu.Unlock()
		defer s.jobs.running.Done()
		defer h.Acquire()()
		workCtx, cancel := untilEnd(s, h)
		defer cancel(nil)
		value, err := work(workCtx)
		if errors.Is(err, context.Canceled) && workCtx.Err() != nil {
			err = context.Cause(workCtx) // what it has ended with
		}
		return value, err
	})
	var none T
	select {
	case o := <-done:
		if o.Err != nil {
			return none, o.Err
		}
		return o.Val.(T), nil
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// goWith calls work in a goroutine that Close waits for. The brain stays in use until work returns.
// The caller holds jobs.mu, and the service is not closed.
func (s *Service) goWith(h brain.Handle, work func()) {
	release := h.Acquire()
	s.jobs.running.Go(func() {
		defer release()
		work()
	})
}

// untilEnd returns a context that ends with the brain and with the service. Its cause is the error
// that operations fail with from then on.
func untilEnd(s *Service, h brain.Handle) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := context.AfterFunc(s.jobs.ctx, func() { cancel(brain.ErrClosed) })
	go func() {
		defer stop()
		select {
		case <-h.Done():
			cancel(h.Err())
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// maxFollowPause limits the pauses of afterCommit, which double.
const maxFollowPause = time.Minute

// afterCommit calls follow, which does what a committed change entails. The change cannot be taken
// back, so it succeeds whatever comes of that: after a failure, follow is called again in the
// background, until it succeeds or the brain or the service ends.
func (s *Service) afterCommit(ctx context.Context, h brain.Handle, follow func(context.Context, *store.Store) error) {
	attempt := func(ctx context.Context) (err error) {
		defer func() {
			if p := recover(); p != nil { // in the background it would end the daemon
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		defer h.Acquire()()
		st, err := h.Store(ctx)
		if err != nil {
			return err
		}
		return follow(ctx, st)
	}
	err := attempt(ctx)
	if err == nil || errors.Is(h.Err(), brain.ErrNotFound) {
		return
	}
	s.cfg.Logger.Error("what follows from a change failed; tried again until the brain is closed",
		"brain", h.Brain().ID, "error", err)
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	if s.jobs.closed {
		return
	}
	s.goWith(h, func() {
		ctx, cancel := untilEnd(s, h)
		defer cancel(nil)
		for pause := s.jobs.retryAfter; err != nil && retry.Sleep(ctx, pause) == nil; pause = min(2*pause, maxFollowPause) {
			err = attempt(ctx)
		}
		if err != nil && !errors.Is(h.Err(), brain.ErrNotFound) {
			s.cfg.Logger.Error("what follows from a change was not done before the brain was closed", "brain", h.Brain().ID, "error", err)
		}
	})
}
