package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// maxAttempts is how often one question is sent at most. Only failures of
// transport and 429, 502, 503 and 504 are sent again; an answer never is.
const maxAttempts = 3

var errQuestionTimeout = errors.New("no answer in time")

// Ask answers one question within timeout, which spans all attempts. A
// *Failure means that the question has no usable answer; any other error is
// the context's cause.
func (t *Target) Ask(ctx context.Context, q Question, timeout time.Duration) (Answer, error) {
	qctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%w: %v passed", errQuestionTimeout, timeout))
	defer cancel()
	deadline := time.Now().Add(timeout)
	var a Answer
	attempts := 0
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval = 100 * time.Millisecond
	_, err := backoff.Retry(qctx, func() (struct{}, error) {
		attempts++
		var err error
		a, err = t.once(qctx, q)
		return struct{}{}, schedule(err, time.Until(deadline))
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(maxAttempts), backoff.WithMaxElapsedTime(0))
	a.Attempts = attempts
	if err != nil && ctx.Err() != nil {
		return a, context.Cause(ctx)
	}
	if f, ok := asFailure(err); ok {
		return a, f
	}
	return a, err
}

// schedule tells backoff what to do with an attempt's error, which stays
// reachable through errors.As. A wait that the question's time does not allow
// ends the question with the failure that asked for it.
func schedule(err error, left time.Duration) error {
	if err == nil {
		return nil
	}
	f, ok := errors.AsType[*Failure](err)
	if !ok || !f.retry || f.retryAfter > left {
		return backoff.Permanent(err)
	}
	if f.retryAfter > 0 {
		return errors.Join(f, &backoff.RetryAfterError{Duration: f.retryAfter})
	}
	return f
}
