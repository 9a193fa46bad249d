package replay

import (
	"context"
	"encoding/json"
	"errors"

	"evalctl/harness"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/queue"
	"evalctl/scorer"
)

// queuedAsker is the pipeline.Asker of an arm whose questions are answered and scored by workers.
type queuedAsker struct {
	queue *queue.Run
	arm   string
}

var _ pipeline.Stopper = queuedAsker{}

// Ask implements pipeline.Asker.
func (q queuedAsker) Ask(ctx context.Context, j pipeline.Job) (result.Record, error) {
	rec, err := q.await(ctx, j.Index)
	if err != nil {
		err = pipeline.Soft(err) // workers are still at other questions
	}
	return rec, err
}

func (q queuedAsker) await(ctx context.Context, question int) (rec result.Record, err error) {
	data, err := q.queue.Await(ctx, q.arm, question)
	if stop, ok := errors.AsType[*queue.StopError](err); ok {
		return rec, stopReason{stop}
	}
	if errors.Is(err, queue.ErrNoWorkers) {
		return rec, noWorkers{err}
	}
	if err != nil {
		return rec, err
	}
	return rec, json.Unmarshal(data, &rec)
}

// Stop implements pipeline.Stopper.
func (q queuedAsker) Stop(reason error) {
	if reason == nil {
		reason = context.Canceled
	}
	// If the queue is unreachable, its watcher ends the calls of Ask.
	_ = q.queue.Stop(context.Background(), q.arm, *stopOf(reason))
}

// noWorkers means that no worker serves the run.
type noWorkers struct{ error }

// Unwrap returns the queue's error and harness.ErrNoWorkers.
func (e noWorkers) Unwrap() []error { return []error{e.error, harness.ErrNoWorkers} }

// stopKinds are the reasons for stopping an arm that its result distinguishes. The first match
// counts, since a request refused for money may also have been interrupted.
var stopKinds = []struct {
	kind string
	err  error
}{
	{"budget", llm.ErrBudgetExceeded}, {"unusable", scorer.ErrUnusable}, {"not_cached", llm.ErrNotCached},
	{"interrupted", context.Canceled},
}

// stopOf returns the reason for stopping an arm in the queue's form.
func stopOf(reason error) *queue.StopError {
	for _, k := range stopKinds {
		if errors.Is(reason, k.err) {
			return &queue.StopError{Kind: k.kind, Text: reason.Error()}
		}
	}
	return &queue.StopError{Kind: "failed", Text: reason.Error()}
}

// stopReason is the reason for stopping an arm, restored from the queue.
type stopReason struct{ *queue.StopError }

// Unwrap returns the error for the kind, nil if there is none.
func (e stopReason) Unwrap() error {
	for _, k := range stopKinds {
		if k.kind == e.Kind {
			return k.err
		}
	}
	return nil
}
