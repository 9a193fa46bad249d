package memory

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
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
		s.jobs.running.Go(func() { s.work(h, b, kind) })
	}
}

// work runs the jobs of a queue until it is empty.
func (s *Service) work(h brain.Handle, b *brainJobs, kind string) {
	ctx, cancel := context.WithCancel(s.jobs.ctx)
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	s.jobs.running.Go(func() {
		select {
		case <-h.Done():
			cancel()
		case <-stop:
		}
	})
	for {
		s.jobs.mu.Lock()
		queue := b.queues[kind]
		if len(queue) == 0 || ctx.Err() != nil || h.Err() != nil {
			delete(b.queues, kind)
			s.jobs.mu.Unlock()
			return
		}
		b.queues[kind] = queue[1:]
		s.jobs.mu.Unlock()
		select {
		case s.jobs.slots <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		id := queue[0]
		again, err := s.attempt(ctx, h, b, id)
		<-s.jobs.slots
		if err != nil && ctx.Err() == nil {
			s.cfg.Logger.Error("a job failed", "brain", h.Brain().ID, "job", id, "kind", kind, "error", err)
		}
		if again > 0 && ctx.Err() == nil {
			time.AfterFunc(again, func() {
				s.jobs.mu.Lock()
				defer s.jobs.mu.Unlock()
				s.enqueue(h, b, kind, id)
			})
		}
	}
}

// attempt runs a job once and records the outcome. It returns after which time the job has to be
// run again, or 0.
func (s *Service) attempt(
	ctx context.Context, h brain.Handle, b *brainJobs, id string,
) (again time.Duration, err error) {
	defer h.Acquire()()
	st, err := h.Store(ctx)
	if err != nil {
		return s.jobs.retryAfter, err
	}
	j, err := s.readJob(ctx, st, id)
	if store.IsNotFound(err) || err == nil && j.ended() {
		return 0, nil // a client deleted or changed it
	}
	if err != nil {
		return s.jobs.retryAfter, err
	}
	if j.Attempts >= maxAttempts {
		err := fmt.Errorf("the daemon ended during each of its %d attempts", j.Attempts)
		return 0, errors.Join(err, s.fail(ctx, st, b, j, err))
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

// failed decides what follows a failed attempt.
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
		return 0, errors.Join(cause, s.fail(ctx, st, b, j, cause))
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

// fail ends a job for good.
func (s *Service) fail(ctx context.Context, st *store.Store, b *brainJobs, j *job, cause error) error {
	problem := problemOf(cause)
	j.Status, j.Error, j.Payload, j.Result = protocol.JobFailed, &problem, nil, nil
	if err := j.store(ctx, st); err != nil {
		return err
	}
	return s.prune(ctx, st, b, j)
}

// prune counts a job as finished and removes the oldest finished ones beyond the limit.
func (s *Service) prune(ctx context.Context, st *store.Store, b *brainJobs, j *job) error {
	s.jobs.mu.Lock()
	b.finished = append(b.finished, j.ID)
	var old []string
	if n := len(b.finished) - maxFinishedJobs; n > 0 {
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

// problemOf describes the error of a job to clients. The text of an unexpected error may contain
// file names of the daemon's machine, so it is only logged.
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
