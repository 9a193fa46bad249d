package seed

import (
	"context"
	"errors"
	"fmt"

	"evalctl/harness/target"
	"evalctl/internal/figure"
)

// mostLeft limits the brains that an error describes.
const mostLeft = 3

// RemoveEach calls remove for one brain after the other, even if ctx has ended. If a brain
// cannot be removed, it goes on with the others, unless the service did not answer in time: with
// many brains, waiting for each would take hours. The error describes the first few brains that
// are left and counts the others.
func RemoveEach[B any](ctx context.Context, brains []B, remove func(context.Context, B) error) error {
	ctx = context.WithoutCancel(ctx)
	var left []error
	untried := 0
	for i, b := range brains {
		err := remove(ctx, b)
		if err == nil {
			continue
		}
		left = append(left, err)
		if errors.Is(err, target.ErrNoAnswer) {
			untried = len(brains) - i - 1
			break
		}
	}
	if more := len(left) - mostLeft; more > 0 {
		left = append(left[:mostLeft:mostLeft], fmt.Errorf("and %s could not be removed", figure.Count(more, "more brain")))
	}
	if untried > 0 {
		left = append(left, fmt.Errorf("nothing was removed in time, and %s must still be removed", figure.Count(untried, "more brain")))
	}
	return errors.Join(left...)
}
