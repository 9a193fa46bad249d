package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"evalctl/daemon/search/document"
	"evalctl/daemon/search/vector"
)

// The number of passages in one call of the embedder, which are lost if the call fails: firstBatch,
// then twice as many after each call of less than slowBatch, and half as many after a slower one.
// So clients see a slow embedder make progress.
const (
	minBatch, firstBatch, embedBatch = 8, 32, 256
	slowBatch                        = 5 * time.Second
)

// embedding gives the chunks of an index and queries their vectors.
type embedding struct {
	index   *Index
	model   Embedder
	circuit *circuit
	refused func(chunkIDs []string, reason error)

	mu        sync.Mutex
	run       *embeddingRun // nil when nothing is being embedded
	dimension int           // of the vectors; 0 before the first
}

// embeddingRun is one run over the passages without a vector. All callers that need the vectors
// wait for the same run.
type embeddingRun struct {
	cancel  context.CancelFunc
	waiting int           // guarded by embedding.mu
	done    chan struct{} // closed at the end
	err     error         // written before that
}

// prepare is Searcher.Prepare for a caller that the circuit has allowed to call the embedder.
func (e *embedding) prepare(ctx context.Context) error {
	// A run that has already begun may not include documents written just before this call; the
	// next run does.
	for range 2 {
		if e.index.embedded() {
			return nil
		}
		if err := e.awaitRun(ctx); err != nil {
			return err
		}
	}
	return nil
}

// awaitRun waits for the current run, or for a new one if there is none.
func (e *embedding) awaitRun(ctx context.Context) error {
	e.mu.Lock()
	run := e.run
	if run == nil {
		// The run outlives the query that began it while other callers wait for it.
		running, cancel := context.WithCancel(context.WithoutCancel(ctx))
		run = &embeddingRun{cancel: cancel, done: make(chan struct{})}
		e.run = run
		go e.runAll(running, run)
	}
	run.waiting++
	e.mu.Unlock()
	defer e.stopWaiting(run)
	select {
	case <-run.done:
		return run.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stopWaiting is called when a caller no longer waits. The last caller waits until the run has
// stopped, so that the embedder is idle after all calls have returned.
func (e *embedding) stopWaiting(run *embeddingRun) {
	e.mu.Lock()
	run.waiting--
	last := run.waiting == 0
	if last {
		e.endRun(run)
	}
	e.mu.Unlock()
	if last {
		<-run.done
	}
}

// endRun cancels a run and lets the next caller begin another. Called with mu held.
func (e *embedding) endRun(run *embeddingRun) {
	run.cancel()
	if e.run == run {
		e.run = nil
	}
}

func (e *embedding) runAll(ctx context.Context, run *embeddingRun) {
	run.err = e.embedAll(ctx)
	e.mu.Lock()
	e.endRun(run)
	e.mu.Unlock()
	close(run.done)
}

// embedAll embeds the passages that have no vector when it is called.
func (e *embedding) embedAll(ctx context.Context) error {
	rest, size := e.index.unembedded(), firstBatch
	for len(rest) > 0 {
		batch := e.index.current(rest[:min(size, len(rest))])
		rest = rest[min(size, len(rest)):]
		if len(batch) == 0 {
			continue
		}
		begin := time.Now()
		texts := make([]string, len(batch))
		for i, p := range batch {
			texts[i] = document.Passage(p.doc.Title, p.headings, p.text)
		}
		units, err := e.embed(ctx, texts)
		if time.Since(begin) < slowBatch {
			size = min(2*size, embedBatch)
		} else {
			size = max(size/2, minBatch)
		}
		e.circuit.recordOutcome(err)
		refusal, partly := errors.AsType[Refusal](err)
		if err != nil && !partly {
			return err
		}
		e.index.setVectors(batch, units)
		if partly && e.refused != nil {
			var ids []string
			for _, at := range refusal.Refused() {
				ids = append(ids, document.ChunkID(batch[at].doc.Path, int(batch[at].ordinal)))
			}
			e.refused(ids, err)
		}
	}
	return nil
}

// embed returns a vector of unit length for each text. With an error that wraps a Refusal, the
// vectors of the refused texts are nil.
func (e *embedding) embed(ctx context.Context, texts []string) ([][]float32, error) {
	found, err := e.model.Embed(ctx, texts)
	if ctx.Err() != nil {
		return nil, contextError(ctx, e.model.Name())
	}
	var refused []int
	if refusal, ok := errors.AsType[Refusal](err); ok {
		refused = refusal.Refused()
	}
	var units [][]float32
	if err == nil || refused != nil {
		var wrong error
		units, wrong = e.checkVectors(found, len(texts), refused)
		err = cmp.Or(wrong, err)
	}
	if err != nil {
		return units, &ModelError{e.model.Name(), err}
	}
	return units, nil
}

// checkVectors scales the embedder's vectors for n texts to unit length, except at the refused
// places. All vectors of an embedder must have as many dimensions as its first.
func (e *embedding) checkVectors(found [][]float32, n int, refused []int) ([][]float32, error) {
	if len(found) != n {
		return nil, fmt.Errorf("%d vectors for %d texts", len(found), n)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	units := make([][]float32, n)
	for i, given := range found {
		if slices.Contains(refused, i) {
			continue
		}
		if e.dimension != 0 && len(given) != e.dimension {
			return nil, fmt.Errorf("a vector of %d numbers, others have %d", len(given), e.dimension)
		}
		scaled, err := vector.Unit(given)
		if err != nil {
			return nil, err
		}
		units[i], e.dimension = scaled, len(given)
	}
	return units, nil
}

// queryVector embeds the chunks that have no vector, and then the query.
func (e *embedding) queryVector(ctx context.Context, text string) ([]float32, error) {
	circuit, model := e.circuit, e.model.Name()
	if err := circuit.allow(model); err != nil {
		return nil, err
	}
	answers := circuit.answered()
	if err := e.prepare(ctx); err != nil {
		if !timedOut(ctx) {
			return nil, err
		}
		err = &ModelError{model, e.index.unfinishedError()}
		if circuit.answered() == answers { // otherwise it works, but there is too much to embed
			circuit.recordOutcome(err)
		}
		return nil, err
	}
	units, err := e.embed(ctx, []string{text})
	circuit.recordOutcome(err)
	if err != nil {
		return nil, err
	}
	return units[0], nil
}
