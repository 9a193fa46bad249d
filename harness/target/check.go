package target

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// OwnQuery is asked to check that a brain exists and how its daemon answers. It is in no dataset,
// so that the order of questions cannot decide whether a run starts.
const OwnQuery = "What are the notes in this brain about?"

// Check asks OwnQuery in the brain that comes first by name, and returns an error if the form of
// the answer does not match the protocol, because every answer would then fail. Other failures,
// such as a status, an error event or a timeout, are ignored, since they may concern only this
// query. Check takes at most within, and at most CallTimeout.
//
// A daemon with a reader answers OwnQuery like any question, which may cost money. Check returns
// the reported usage.
func (t *Target) Check(ctx context.Context, within time.Duration) (result.OwnQuestion, error) {
	own := result.OwnQuestion{Question: OwnQuery}
	if len(t.Brains) == 0 {
		return own, nil
	}
	brain := slices.Min(slices.Collect(maps.Keys(t.Brains)))
	a, err := t.Ask(ctx, dataset.Question{Question: OwnQuery, Brain: brain}, min(within, CallTimeout))
	own.Requests, own.Model, own.Usage = a.Attempts, a.Model, a.Usage
	if ctx.Err() != nil {
		return own, context.Cause(ctx)
	}
	if f, ok := errors.AsType[*Failure](err); ok && f.shape {
		return own, fmt.Errorf("the daemon's answers cannot be read, so that no question was asked: %w", f)
	}
	return own, nil
}
