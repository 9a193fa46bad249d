package target

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/intake"
	"evalctl/internal/retry"
)

// maxAttempts is how many times a question is sent. Attempts after which the daemon has less work
// left than after any earlier one do not count. A question is repeated only after transport
// failures, the statuses 429, 502, 503 and 504, and a retrieval from an incomplete index, and never
// after an answer.
const maxAttempts = 3

// advance tracks whether the daemon makes progress with the work that a request waits for.
type advance struct{ least int }

// note reports whether the daemon has less work left after a failed attempt than ever before.
func (a *advance) note(err error) bool {
	f, ok := errors.AsType[*Failure](err)
	if !ok || f.pending <= 0 || a.least > 0 && f.pending >= a.least {
		return false
	}
	a.least = f.pending
	return true
}

// questionTimeout is the cause of a question's context when its time limit expires. The text is
// formatted lazily, since every question has such a context.
type questionTimeout time.Duration

func (t questionTimeout) Error() string {
	return fmt.Sprintf("no answer in time: %v passed", time.Duration(t))
}

// QuestionLimit returns a context that ends when a question has taken timeout; spent has already
// passed. AsFailure converts its cause to a failure of the question.
func QuestionLimit(
	ctx context.Context, timeout, spent time.Duration,
) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, timeout-spent, questionTimeout(timeout))
}

// Ask asks one question and returns the answer. timeout covers all attempts. AsFailure reports
// whether an error means that the question has no usable answer; any other error is the context's
// cause.
func (t *Target) Ask(ctx context.Context, q dataset.Question, timeout time.Duration) (Answer, error) {
	qctx, cancel := QuestionLimit(ctx, timeout, 0)
	defer cancel()
	deadline := time.Now().Add(timeout)
	var a Answer
	var last error           // of the last attempt, also if the wait after it was cut short
	attempts, futile := 0, 0 // futile ones left the daemon with as much to do as before
	var daemon advance
	var failed []result.Failure       // the attempts before the last one
	var first, began, ended time.Time // of the first attempt, and of the last one
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 100*time.Millisecond, 2*time.Second
	hold := intake.Of(qctx)
	defer hold.End()
	_, _ = backoff.Retry(qctx, func() (struct{}, error) {
		attempts++
		hold.Return() // what the attempt before has read is of no use
		if f, ok := errors.AsType[*Failure](last); ok {
			failed = append(failed, f.Failure)
		}
		began = time.Now()
		if attempts == 1 {
			first = began
		}
		a, last = t.once(qctx, q)
		ended = time.Now()
		if !daemon.note(last) {
			futile++
		}
		if last != nil && futile == maxAttempts {
			return struct{}{}, backoff.Permanent(last)
		}
		return struct{}{}, schedule(last, time.Until(deadline))
	}, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(0))
	a.Attempts, a.Failed, a.Waited, a.AskedAt = attempts, failed, began.Sub(first), first.UTC().Truncate(time.Microsecond)
	if f, ok := errors.AsType[*Failure](last); ok && f.retry && qctx.Err() != nil {
		a.Waited += time.Since(ended) // for an attempt that the time limit prevented
	}
	if last != nil && ctx.Err() != nil {
		return a, context.Cause(ctx)
	}
	if f, ok := AsFailure(last); ok {
		return a, f
	}
	return a, last
}

// schedule converts an attempt's error to one that tells backoff what to do. If the daemon asks for
// a longer wait than the time left, there is no further attempt.
func schedule(err error, left time.Duration) error {
	if err == nil {
		return nil
	}
	f, ok := errors.AsType[*Failure](err)
	if !ok || !f.retry || f.retryAfter > left {
		return backoff.Permanent(err)
	}
	if f.retryAfter > 0 {
		return &backoff.RetryAfterError{Duration: f.retryAfter}
	}
	return f
}

// triesKey is the key of contexts of WithoutRetries.
type triesKey struct{}

// WithoutRetries returns a context with which Retry makes one attempt. It is for a load test, where
// a refused request is an error, and a wait before another attempt is not the service's latency.
func WithoutRetries(ctx context.Context) context.Context {
	return context.WithValue(ctx, triesKey{}, uint(1))
}

// WithRetries undoes WithoutRetries, for a call that belongs to earlier requests.
func WithRetries(ctx context.Context) context.Context {
	return context.WithValue(ctx, triesKey{}, uint(0))
}

// Retries reports whether ctx is not one of WithoutRetries.
func Retries(ctx context.Context) bool { return mostTries(ctx) == 0 }

// mostTries returns how many attempts Retry may make, 0 for any number.
func mostTries(ctx context.Context) uint {
	most, _ := ctx.Value(triesKey{}).(uint)
	return most
}

// Retry calls once until it succeeds, by the rules of Target.Ask but without a limit on attempts
// within the given time: a daemon may throttle its clients while it takes in a corpus. If the
// daemon reports its remaining work, Retry continues as long as this shrinks within each such time.
// The call must be safe to repeat (spec 7.4). Its context ends with TimeLimit. Retry returns the
// error of the last call, or ctx's cause if ctx has ended. See also WithoutRetries.
func Retry(ctx context.Context, within time.Duration, once func(context.Context) error) error {
	var daemon advance
	for {
		err := retryWithin(ctx, within, once)
		if !Retries(ctx) || !daemon.note(err) {
			return err
		}
		f, _ := AsFailure(err)
		if err := retry.Sleep(ctx, f.retryAfter); err != nil {
			return err
		}
	}
}

func retryWithin(ctx context.Context, within time.Duration, once func(context.Context) error) error {
	cctx, cancel := TimeLimit(ctx, within)
	defer cancel()
	deadline := time.Now().Add(within)
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 100*time.Millisecond, 2*time.Second
	var last error // also if the wait after it was cut short
	_, _ = backoff.Retry(cctx, func() (struct{}, error) {
		last = once(cctx)
		return struct{}{}, schedule(last, time.Until(deadline))
	}, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(0), backoff.WithMaxTries(mostTries(ctx)))
	if last != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return last
}
