package target

import (
	"context"
	"time"

	"evalctl/harness/dataset"
)

// warmUps is the number of questions that WarmUp asks besides the first of every brain.
const warmUps = 20

// WarmUp asks the first 20 questions of d and the first of every brain, so that indexes are built
// and connections are open before the measurement. It returns the number of questions. Failures are
// ignored, since they recur when the question is measured.
func (t *Target) WarmUp(
	ctx context.Context, d dataset.Dataset, timeout time.Duration,
) (asked int, err error) {
	warm := map[string]bool{}
	for q, err := range d.Questions() {
		if err != nil {
			return asked, err
		}
		if asked >= warmUps && warm[q.Brain] {
			continue
		}
		warm[q.Brain] = true
		asked++
		if _, err := t.Ask(ctx, q, timeout); err != nil && ctx.Err() != nil {
			return asked, context.Cause(ctx)
		}
	}
	return asked, nil
}
