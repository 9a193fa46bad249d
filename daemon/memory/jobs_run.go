package memory

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/internal/llm"
)

// permanentError marks an error of a job that another attempt would repeat.
type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// enqueue requires jobs.mu.
func (s *Service) enqueue(h brain.Handle, b *brainJobs, kind, id string) {
	queue, working := b.queues[kind]
	b.queues[kind] = append(queue, id)
	if !working && !s.jobs.closed {
		s.goWith(h, func() { s.work(h, b, kind) })
	}
}

// work runs the jobs of a queue until it is empty.
func (s *Service) work(h brain.Handle, b *brainJobs, kind string) {
	ctx, cancel := untilEnd(s, h)
	defer cancel(nil)
	l := jobLease{brain: h, name: "jobs/" + kind}
	defer l.release()
	for {
		id := s.nextJob(ctx, h, b, &l, kind)
		if id == "" {
			return
		}
		select {
		case s.jobs.slots <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		held, err := l.take(ctx)
		if err != nil {
			<-s.jobs.slots
			s.pause(h, b, kind, id, err)
			return
		}
		again, err := s.attempt(held, h, b, id)
		<-s.jobs.slots
		if held.Err() != nil && ctx.Err() == nil {
			again, err = leasedPause, errors.Join(err, context.Cause(held))
		}
		if err != nil && ctx.Err() == nil {
			s.cfg.Logger.Error("a job failed", "brain", h.Brain().ID, "job", id, "kind", kind, "error", err)
		}
		if again > 0 && ctx.Err() == nil {
			s.jobs.mu.Lock()
			s.later(h, b, again, func() { s.enqueue(h, b, kind, id) })
			s.jobs.mu.Unlock()
		}
	}
}

// nextJob takes the first job of a queue. If the queue is empty, it ends the queue and returns "".
func (s *Service) nextJob(ctx context.Context, h brain.Handle, b *brainJobs, l *jobLease, kind string) string {
	if l.held != nil && h.Leased() && s.queueIsEmpty(b, kind) && ctx.Err() == nil {
		// Jobs that other processes have added wait for the lease.
		if err := s.scan(h, b, true); err != nil {
			s.cfg.Logger.Warn("cannot look for the jobs of other processes", "brain", h.Brain().ID, "because", err)
		}
		if s.queueIsEmpty(b, kind) {
			l.release()
		}
	}
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	queue := b.queues[kind]
	if len(queue) == 0 || ctx.Err() != nil {
		delete(b.queues, kind)
		s.endIfIdle(b)
		return ""
	}
	b.queues[kind] = queue[1:]
	return queue[0]
}

func (s *Service) queueIsEmpty(b *brainJobs, kind string) bool {
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	return len(b.queues[kind]) == 0
}

// jobLease is the lease of the jobs of one kind.
type jobLease struct {
	brain brain.Handle
	name  string
	held  context.Context // nil while the lease is not held
	end   func()
}

// take returns a context that ends with the lease.
func (l *jobLease) take(ctx context.Context) (context.Context, error) {
	if l.held != nil && l.held.Err() == nil {
		return l.held, nil
	}
	l.release()
	held, end, err := l.brain.Lease(ctx, l.name)
	if err == nil {
		l.held, l.end = held, end
	}
	return held, err
}

func (l *jobLease) release() {
	if l.held != nil {
		l.end()
		l.held = nil
	}
}

// leasedPause is how long a process waits before it tries to run jobs that are leased to another
// process. The other process may have run them by then.
const leasedPause = time.Second

// pause puts back the first job of a queue, which this process may not run at present.
func (s *Service) pause(h brain.Handle, b *brainJobs, kind, id string, cause error) {
	if !errors.Is(cause, brain.ErrLeased) && h.Err() == nil && s.jobs.ctx.Err() == nil {
		s.cfg.Logger.Warn("jobs have to wait for their lease", "brain", h.Brain().ID, "kind", kind, "because", cause)
	}
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	b.queues[kind] = append([]string{id}, b.queues[kind]...)
	s.later(h, b, leasedPause, func() {
		s.goWith(h, func() { s.work(h, b, kind) })
	})
}

// attempt runs a job once and records the outcome. It returns the delay before the next attempt, or
// 0.
func (s *Service) attempt(
	ctx context.Context, h brain.Handle, b *brainJobs, id string,
) (again time.Duration, err error) {
	defer h.Acquire()()
	st, err := h.Store(ctx)
	if err != nil {
		return s.jobs.retryAfter, err
	}
	j, err := s.readJob(ctx, st, id)
	if store.IsNotFound(err) {
		return 0, nil // a client deleted it
	}
	if err == nil && j.ended() {
		return 0, s.prune(ctx, st, b, j) // another process has run it
	}
	if err != nil {
		return s.jobs.retryAfter, err
	}
	if j.Attempts >= maxAttempts {
		err := fmt.Errorf("the daemon ended during each of its %d attempts", j.Attempts)
		return s.fail(ctx, st, b, j, err)
	}
	j.Attempts++
	j.Status = protocol.JobRunning
	if err := j.store(ctx, st); err != nil {
		return s.jobs.retryAfter, err
	}
	result, err := s.runSafely(ctx, h, j)
	if err == nil && !j.finished {
		if err = j.complete(result); err == nil {
			err = j.store(ctx, st)
		}
	}
	if err == nil {
		return 0, s.prune(ctx, st, b, j)
	}
	// j may have a state that was not stored.
	stored, readErr := s.readJob(context.WithoutCancel(ctx), st, id)
	switch {
	case store.IsNotFound(readErr):
		return 0, err
	case readErr != nil:
		return s.jobs.retryAfter, errors.Join(err, readErr)
	case stored.ended():
		return 0, s.prune(ctx, st, b, stored)
	case stored.Attempts != j.begun:
		return s.jobs.retryAfter, errTakenOver
	}
	return s.failed(ctx, st, b, stored, err)
}

// runSafely turns a panic into an error: one job must not end the daemon.
func (s *Service) runSafely(ctx context.Context, h brain.Handle, j *job) (result any, err error) {
	run, ok := s.jobs.kinds[j.Kind]
	if !ok {
		return nil, &permanentError{fmt.Errorf("this daemon has no jobs of the kind %q", j.Kind)}
	}
	defer func() {
		if p := recover(); p != nil {
			err = &permanentError{fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	return run(ctx, s, h, j)
}

// failed decides how a failed attempt is continued.
func (s *Service) failed(
	ctx context.Context, st *store.Store, b *brainJobs, j *job, cause error,
) (again time.Duration, err error) {
	switch {
	case ctx.Err() != nil:
		// Interrupted on purpose, which is not the job's failure.
		j.Attempts--
		j.Status = protocol.JobQueued
		return 0, j.store(context.WithoutCancel(ctx), st)
	case isPermanent(cause) || j.Attempts >= maxAttempts:
		return s.fail(ctx, st, b, j, cause)
	}
	j.Status = protocol.JobQueued
	return s.jobs.retryAfter << (2 * (j.Attempts - 1)), errors.Join(cause, j.store(ctx, st))
}

// isPermanent reports whether another attempt would have the same error.
func isPermanent(err error) bool {
	_, permanent := errors.AsType[*permanentError](err)
	_, argument := errors.AsType[*ArgumentError](err)
	return permanent || argument || errors.Is(err, store.ErrInvalidPath) || errors.Is(err, ErrKind)
}

// fail ends a job for good. If that cannot be stored, it is tried again.
func (s *Service) fail(
	ctx context.Context, st *store.Store, b *brainJobs, j *job, cause error,
) (again time.Duration, err error) {
	problem := problemOf(cause)
	j.Status, j.Error, j.Payload, j.Result = protocol.JobFailed, &problem, nil, nil
	if err := j.store(ctx, st); err != nil {
		return s.jobs.retryAfter, errors.Join(cause, err)
	}
	return 0, errors.Join(cause, s.prune(ctx, st, b, j))
}

// prune counts a job as finished and removes the oldest finished ones beyond the limit.
func (s *Service) prune(ctx context.Context, st *store.Store, b *brainJobs, j *job) error {
	s.jobs.mu.Lock()
	b.finished = append(b.finished, j.ID)
	var old []string
	if n := len(b.finished) - maxFinishedJobs; n > 0 {
		slices.Sort(b.finished) // scans find the jobs of other processes later
		old = b.finished[:n:n]
		b.finished = b.finished[n:]
	}
	for _, id := range old {
		delete(b.known, id)
	}
	s.jobs.mu.Unlock()
	if len(old) == 0 {
		return nil
	}
	return st.Batch(ctx, store.BatchOptions{Reason: "remove finished jobs"}, func(b *store.Batch) error {
		for _, id := range old {
			if err := b.Delete(ctx, jobPath(id)); err != nil && !store.IsNotFound(err) {
				return err
			}
		}
		return nil
	})
}

// problemOf describes the error of a job to clients. An unexpected error is only logged, because
// its text may contain file names of the daemon's machine.
func problemOf(err error) protocol.Problem {
	p := protocol.Problem{Title: "The job failed", Detail: err.Error()}
	_, argument := errors.AsType[*ArgumentError](err)
	_, provider := errors.AsType[*llm.Error](err)
	switch {
	case argument:
		p.Status, p.Code = 400, protocol.CodeValidation
	case errors.Is(err, store.ErrInvalidPath):
		p.Status, p.Code = 400, protocol.CodeValidation
	case errors.Is(err, store.ErrConflict):
		p.Status, p.Code = 409, protocol.CodeConflict
	case errors.Is(err, ErrFileTooLarge):
		p.Status, p.Code = 413, protocol.CodeFileTooLarge
	case errors.Is(err, ErrTooLarge):
		p.Status, p.Code = 413, protocol.CodePayloadTooLarge
	case errors.Is(err, ErrKind):
		p.Status, p.Code = 415, protocol.CodeUnsupportedMediaType
	case provider, errors.Is(err, ErrReply):
		p.Status, p.Code = 502, protocol.CodeBadGateway
	default:
		p.Status, p.Code = 500, protocol.CodeInternal
		p.Detail = "the daemon's log has the reason"
	}
	return p
}
