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
)

// maxAttempts is the largest number of times that one question is sent, apart from attempts after
// which the daemon has less to do than after each one before. It is sent again only after failures
// of transport, the statuses 429, 502, 503 and 504, and a retrieval from an index that lacks
// documents, and never after an answer.
const maxAttempts = 3

// advance notes which attempts show that the daemon is getting on with what a request waits for.
type advance struct{ least int }

// note reports whether, after a failed attempt, the daemon has less to do than ever before.
func (a *advance) note(err error) bool {
	f, ok := errors.AsType[*Failure](err)
	if !ok || f.pending <= 0 || a.least > 0 && f.pending >= a.least {
		return false
	}
	a.least = f.pending
	return true
}

// questionTimeout is the cause with which a question's context ends: its time limit. Its text is
// made when it is needed, since every question has one.
type questionTimeout time.Duration

func (t questionTimeout) Error() string {
	return fmt.Sprintf("no answer in time: %v passed", time.Duration(t))
}

// QuestionLimit returns a context that ends when a question has taken timeout, of which spent has
// passed. AsFailure reports its cause as a failure of the question.
func QuestionLimit(
	ctx context.Context, timeout, spent time.Duration,
) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, timeout-spent, questionTimeout(timeout))
}

// Ask asks one question and returns the daemon's answer. timeout limits all attempts together.
// AsFailure reports whether an error means that the question has no usable answer; any other error
// is the context's cause.
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
	a.Attempts, a.Failed, a.Waited = attempts, failed, began.Sub(first)
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

// schedule converts the error of an attempt into the one by which backoff decides what to do next.
// If the daemon asks for a longer wait than the time left, there is no further attempt.
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

// Retry calls once until it succeeds, by the rules of Target.Ask, but as often as within allows: a
// daemon that slows its clients down while it takes in a corpus is no reason to give up. If it says
// how much it has to do first, Retry goes on as long as that falls within each such time. The call
// must be safe to repeat (spec 7.4). Its context ends with the TimeLimit within. Retry returns the
// error of the last call, or ctx's cause if ctx has ended.
func Retry(ctx context.Context, within time.Duration, once func(context.Context) error) error {
	var daemon advance
	for {
		err := retryWithin(ctx, within, once)
		if !daemon.note(err) {
			return err
		}
		f, _ := AsFailure(err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(f.retryAfter):
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
	}, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(0))
	if last != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return last
}
