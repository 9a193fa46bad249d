package search

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// modelTime is what the models of one search may take together: its client
	// waits for 30 s (spec 8), and a lower mode shall still have time.
	modelTime = 8 * time.Second
	// retryPause is how long searches do without a model that failed.
	retryPause = 15 * time.Second
)

// ErrSlow is a ModelError's cause where the models of a search took too long.
var ErrSlow = fmt.Errorf("no answer within %v", modelTime)

// CircuitBreaker is what Searchers with the same models remember of failures: for 15 s
// after one, searches fail or degrade at once, then one of them tries the model
// again. The zero value is ready. It is safe for concurrent use.
type CircuitBreaker struct {
	embedder, reranker circuit
}

// outage is of one model.
type circuit struct {
	mu      sync.Mutex
	err     error     // of the last call; nil when it was answered
	until   time.Time // with err: when the model may be asked again
	answers int       // calls that were answered
}

// allow is an error while the model is not to be asked. Who is allowed to after
// a failure tries for all, who are refused until he is done or had his time.
func (o *circuit) allow(model string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if o.err == nil {
		return nil
	}
	if rest := o.until.Sub(now); rest > 0 {
		return &ModelError{model, fmt.Errorf("%w; not asked again for %v", o.err, rest.Round(time.Second))}
	}
	o.until = now.Add(modelTime)
	return nil
}

// note takes down how a call ended. The end of a context says nothing of the
// model, and a refusal is an answer.
func (o *circuit) recordOutcome(err error) {
	failed, ok := errors.AsType[*ModelError](err)
	_, refused := errors.AsType[Refusal](err)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil || refused:
		o.err = nil
		o.answers++
	case ok:
		o.err, o.until = failed.Err, time.Now().Add(retryPause)
	}
}

func (o *circuit) answered() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.answers
}

// ended is the error of a model's call whose context has ended.
func contextError(ctx context.Context, model string) error {
	if timedOut(ctx) {
		return &ModelError{model, ErrSlow}
	}
	return ctx.Err()
}

// slow reports whether the modelTime of a search is over.
func timedOut(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrSlow) }
