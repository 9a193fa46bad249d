package scorer

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// ScoreAll scores items, at most concurrency at a time, and returns their verdicts in order. The
// first error of s cancels the judgements still running. With an error, the verdicts still have the
// Attempts and Cost of the work done.
func ScoreAll(ctx context.Context, s Scorer, items []Item, concurrency int) ([]Verdict, error) {
	verdicts := make([]Verdict, len(items))
	g, running := errgroup.WithContext(ctx)
	g.SetLimit(max(1, concurrency))
	for i, item := range items {
		if running.Err() != nil {
			break
		}
		g.Go(func() (err error) {
			verdicts[i], err = s.Score(running, item)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return verdicts, err
	}
	return verdicts, context.Cause(ctx)
}
