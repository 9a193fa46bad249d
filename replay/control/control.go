// Package control checks a scorer with answers that are known to be right or wrong. A replay whose
// scorer misjudges them says nothing about the memory.
package control

import (
	"context"
	"fmt"

	"evalctl/harness/result"
	"evalctl/scorer"
)

// tries is how often an item is scored until there is a verdict. A provider that fails now and then
// does not mean that the scorer misjudges.
const tries = 3

// Check scores the items, up to concurrency of them at a time, and returns what it found, misjudged
// items in the order of items. An item that has no verdict after three tries is misjudged, and
// counts in the false negative rate if it is right. The scorer must not be one of scorer.NewDual,
// which would judge some of the items twice.
//
// Check returns the error of a scorer with which it cannot go on, such as an exhausted budget or a
// rejected key.
func Check(ctx context.Context, s scorer.Scorer, items []Item, concurrency int) (result.Controls, error) {
	verdicts := make([]scorer.Verdict, len(items))
	for range tries {
		if err := score(ctx, s, items, verdicts, concurrency); err != nil {
			return result.Controls{}, fmt.Errorf("check the scorer with known answers: %w", err)
		}
	}
	c := result.Controls{Failed: []result.FailedControl{}}
	accepted := 0
	for i, item := range items {
		count(&c, item, verdicts[i])
		if !item.Right && verdicts[i].Passed() {
			accepted++
		}
	}
	c.FalseNegativeRate = share(c.Right-c.RightPassed, c.Right)
	c.FalsePositiveRate = share(accepted, c.Wrong)
	return c, nil
}

// score scores the items that have no verdict.
func score(
	ctx context.Context, s scorer.Scorer, items []Item, verdicts []scorer.Verdict, concurrency int,
) error {
	var open []int
	var scored []scorer.Item
	for i, item := range items {
		if !verdicts[i].Scored {
			open, scored = append(open, i), append(scored, item.Item)
		}
	}
	fresh, err := scorer.ScoreAll(ctx, s, scored, concurrency)
	if err != nil {
		return err
	}
	for i, v := range fresh {
		verdicts[open[i]] = v
	}
	return nil
}

// count adds an item with its verdict.
func count(c *result.Controls, item Item, v scorer.Verdict) {
	if item.Right {
		c.Right++
	} else {
		c.Wrong++
	}
	switch {
	case !v.Scored:
		c.Unscored++
	case item.Right && v.Passed():
		c.RightPassed++
		return
	case !item.Right && !v.Passed():
		c.WrongFailed++
		return
	}
	c.Failed = append(c.Failed, result.FailedControl{
		ID: item.ID, Kind: item.Kind, Answer: item.Answer, Reason: v.Reason,
	})
}

func share(n, of int) *float64 {
	if of == 0 {
		return nil
	}
	return new(float64(n) / float64(of))
}
