package target

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"evalctl/harness/dataset"
)

// OwnQuery is what is asked to see whether a brain is there and how its daemon answers. It belongs
// to no dataset, so that the order of questions cannot decide whether a run starts.
const OwnQuery = "What are the notes in this brain about?"

// Check asks OwnQuery in the first brain by name, and returns an error if the answer does not have
// the form of the protocol's: any answer to a question would fail in the same way. Other failures,
// such as a status, an error event or a time limit, are no error, because they may concern only
// this query. Check takes at most within, and no longer than CallTimeout.
func (t *Target) Check(ctx context.Context, within time.Duration) error {
	if len(t.Brains) == 0 {
		return nil
	}
	brain := slices.Min(slices.Collect(maps.Keys(t.Brains)))
	_, err := t.Ask(ctx, dataset.Question{Question: OwnQuery, Brain: brain}, min(within, CallTimeout))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if f, ok := errors.AsType[*Failure](err); ok && f.shape {
		return fmt.Errorf("the daemon's answers cannot be read, so that no question was asked: %w", f)
	}
	return nil
}
