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

// OwnQuery is what is asked to see whether a brain is there and how its daemon answers. It belongs
// to no dataset, so that the order of questions cannot decide whether a run starts.
const OwnQuery = "What are the notes in this brain about?"

// Check asks OwnQuery in the first brain by name, and returns an error if the answer does not have
// the form of the protocol's: any answer to a question would fail in the same way. Other failures,
// such as a status, an error event or a time limit, are no error, because they may concern only
// this query. Check takes at most within, and no longer than CallTimeout.
//
// A daemon with a reader answers OwnQuery as any question, which may cost money. What it reports of
// that is returned.
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
