package search

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Embedder converts texts to vectors. It must be safe for concurrent use, and return soon after its
// context has ended.
type Embedder interface {
	// Name identifies the model, as in "openai/text-embedding-3-small". Vectors of different names
	// are not comparable.
	Name() string
	// Embed returns one vector for each text, in order, all with the same number of dimensions.
	// Vectors need not have unit length, but length 0 is an error. With a Refusal, Embed returns
	// the vectors of the other texts.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Refusal is the error of an Embedder that concerns only some of the texts, such as texts that are
// too long for it. A refused passage has no vector and is found only by its words. It is not
// embedded again until its document changes or the Index is rebuilt.
type Refusal interface {
	error
	// Refused returns the places of the refused texts in the call, at least one.
	Refused() []int
}

// Reranker scores texts for a query, in the order of the texts; higher is better. It must be safe
// for concurrent use.
type Reranker interface {
	Name() string
	Rerank(ctx context.Context, query string, texts []string) ([]float64, error)
}

// ModelError reports that an embedder or a reranker failed; the query is not at fault.
type ModelError struct {
	Model string // name of the model
	Err   error
}

func (e *ModelError) Error() string { return e.Model + ": " + e.Err.Error() }

func (e *ModelError) Unwrap() error { return e.Err }

// FusionWeigher is an Embedder that recommends the weight of its ranking in every fusion. Other
// Embedders have the default weight of the fusion.
type FusionWeigher interface {
	// FusionWeight returns a number above 0, or 0 if it is not known. With 1e-5, a fusion orders
	// the chunks that BM25 found as BM25 does, unless their scores are nearly equal, and appends
	// those that only the vectors found.
	FusionWeight() float64
}

const (
	// modelTime is how long all models of one search may take together. Clients wait for 30 s (spec
	// 8), and a lower mode must still have time to run.
	modelTime = 8 * time.Second
	// retryPause is the time for which searches do not call a model that has failed.
	retryPause = 15 * time.Second
)

// ErrSlow is the cause of a ModelError if the models of a search took too long.
var ErrSlow = fmt.Errorf("no answer within %v", modelTime)

// CircuitBreaker records failures of models for all Searchers that share it. For 15 s after a
// failure, searches fail or degrade without calling the model. Then one of them tries it again. The
// zero value is ready for use. It is safe for concurrent use.
type CircuitBreaker struct {
	embedder, reranker circuit
}

// circuit is the state of one model.
type circuit struct {
	mu      sync.Mutex
	err     error     // of the last call; nil if the model answered
	until   time.Time // if err is set: when the model may be called again
	answers int       // number of calls that the model answered
}

// allow returns an error while the model must not be called. After a failure it allows one caller
// at a time to try the model, and refuses the others until that call ends or modelTime has passed.
func (c *circuit) allow(model string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.err == nil {
		return nil
	}
	if rest := c.until.Sub(now); rest > 0 {
		return &ModelError{model, fmt.Errorf("%w; not asked again for %v", c.err, rest.Round(time.Second))}
	}
	c.until = now.Add(modelTime)
	return nil
}

// recordOutcome records how a call ended. A call whose context ended says nothing about the model.
// A Refusal counts as an answer.
func (c *circuit) recordOutcome(err error) {
	failed, ok := errors.AsType[*ModelError](err)
	_, refused := errors.AsType[Refusal](err)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil || refused:
		c.err = nil
		c.answers++
	case ok:
		c.err, c.until = failed.Err, time.Now().Add(retryPause)
	}
}

func (c *circuit) answered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers
}

// contextError returns the error of a call to a model whose context has ended.
func contextError(ctx context.Context, model string) error {
	if timedOut(ctx) {
		return &ModelError{model, ErrSlow}
	}
	return ctx.Err()
}

// timedOut reports whether the modelTime of a search has passed.
func timedOut(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrSlow) }
