package main

import (
	"errors"
	"fmt"

	"evalctl/harness"
	"evalctl/scorer"
)

// ignoreNoGold returns nil for scorer.ErrNoGold: questions without gold are left out of the score.
func ignoreNoGold(err error) error {
	if errors.Is(err, scorer.ErrNoGold) {
		return nil
	}
	return err
}

// planGold checks the expected paths of the questions.
func (c *runCmd) planGold(pl *plan) (err error) {
	if pl.gold, err = harness.CheckGold(pl.dataset, pl.brains, c.TopK); err != nil {
		return err
	}
	if c.scorer.Needs == scorer.NeedGold && pl.gold.WithGold == 0 {
		return fmt.Errorf("%s: --scorer %s needs %s, which none of %s has: add them%s",
			c.Dataset, c.Scorer, c.scorer.Needs, count(pl.dataset.Selected, "question"),
			prefixed("; ", pl.needs.others(c.scorer)))
	}
	return nil
}
