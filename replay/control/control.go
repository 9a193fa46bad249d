// Package control checks a scorer with answers known to be right or wrong. A replay whose scorer
// misjudges them says nothing about the memory.
package control

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"evalctl/harness/result"
	"evalctl/internal/retry"
	"evalctl/scorer"
)

// passes is how often an item is scored until it has a verdict. pause is the wait before the second
// pass if a provider does not answer; the third pass waits twice as long. Occasional failures of a
// provider do not mean that the scorer misjudges.
const (
	passes = 3
	pause  = time.Second
)

// maxUnjudged is how many items in a row may get no verdict before the others wait for the next
// pass, so that no money is wasted on a provider that is down. Fewer of Wanted right and Wanted
// wrong items may remain without a verdict (result.Controls.Enough).
const maxUnjudged = 8

// Check scores the items, at most concurrency at a time, and returns the results in the order of
// items. An item without a verdict after three passes counts as not judged, and enters no rate. The
// scorer must not be one of scorer.NewDual, which would judge some items twice.
//
// Check returns the scorer's error if it cannot continue, for example because of an exhausted
// budget or a rejected key.
func Check(ctx context.Context, s scorer.Scorer, items []Item, concurrency int) (result.Controls, error) {
	verdicts := make([]scorer.Verdict, len(items))
	for pass := range passes {
		if pass > 0 && slices.ContainsFunc(verdicts, func(v scorer.Verdict) bool { return v.Unanswered && !v.Scored }) {
			_ = retry.Sleep(ctx, time.Duration(pass)*pause)
		}
		if err := score(ctx, s, items, verdicts, concurrency); err != nil {
			return result.Controls{}, fmt.Errorf("check the scorer with known answers: %w", err)
		}
	}
	c := result.Controls{Failed: []result.FailedControl{}, Unjudged: []result.FailedControl{}}
	for i, item := range items {
		add(&c, item, verdicts[i])
	}
	c.Count()
	return c, nil
}

// score scores the items without a verdict.
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
	fresh, err := scorer.ScoreAll(ctx, &patientScorer{Scorer: s}, scored, concurrency)
	if err != nil {
		return err
	}
	for i, v := range fresh {
		verdicts[open[i]] = v
	}
	return nil
}

// patientScorer is a scorer that is not called again after maxUnjudged items in a row without a
// verdict.
type patientScorer struct {
	scorer.Scorer

	mu    sync.Mutex
	inRow int
	last  scorer.Verdict // of inRow
}

func (p *patientScorer) Score(ctx context.Context, item scorer.Item) (scorer.Verdict, error) {
	if v, given := p.givenUp(); given {
		return v, nil
	}
	v, err := p.Scorer.Score(ctx, item)
	p.mu.Lock()
	defer p.mu.Unlock()
	if v.Scored {
		p.inRow = 0
	} else {
		p.inRow, p.last = p.inRow+1, v
	}
	return v, err
}

// givenUp returns the verdict for an item that is not scored, if the scorer has been given up.
func (p *patientScorer) givenUp() (v scorer.Verdict, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	reason := fmt.Sprintf("not asked after %d in a row without a verdict: %s", p.inRow, p.last.Reason)
	return scorer.Verdict{Reason: reason, Unanswered: p.last.Unanswered}, p.inRow >= maxUnjudged
}

// add adds an item with its verdict.
func add(c *result.Controls, item Item, v scorer.Verdict) {
	if item.Right {
		c.Right++
	} else {
		c.Wrong++
	}
	found := result.FailedControl{ID: item.ID, Kind: item.Kind, Answer: item.Answer, Reason: v.Reason}
	switch {
	case !v.Scored:
		c.Unjudged = append(c.Unjudged, found)
	case item.Right != v.Passed():
		c.Failed = append(c.Failed, found)
	}
}
