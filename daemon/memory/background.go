package memory

import (
	"context"
	"errors"

	"evalctl/daemon/brain"
)

// inBackground returns the result of work, which goes on when ctx ends, so that a request that is
// repeated finds it done. The context of work ends with the brain and with the service. finally is
// called after it, or if it cannot be started any more.
func inBackground[T any](
	ctx context.Context, s *Service, h brain.Handle, finally func(),
	work func(context.Context) (T, error),
) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	s.jobs.mu.Lock()
	closed := s.jobs.closed
	if !closed {
		s.goWith(h, func() {
			defer finally()
			workCtx, cancel := untilEnd(s, h)
			defer cancel(nil)
			value, err := work(workCtx)
			if errors.Is(err, context.Canceled) && workCtx.Err() != nil {
				err = context.Cause(workCtx) // what it has ended with
			}
			done <- outcome{value, err}
		})
	}
	s.jobs.mu.Unlock()
	var none T
	if closed {
		finally()
		return none, brain.ErrClosed
	}
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// goWith calls work in a goroutine that Close waits for. The brain stays in use until it returns.
// goWith requires jobs.mu, and that the service is not closed.
func (s *Service) goWith(h brain.Handle, work func()) {
	release := h.Acquire()
	s.jobs.running.Go(func() {
		defer release()
		work()
	})
}

// untilEnd returns a context that ends with the brain and with the service, with the error that
// operations fail with then.
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
