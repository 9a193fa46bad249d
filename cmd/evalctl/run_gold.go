package main

import (
	"errors"
	"fmt"

	"evalctl/harness"
	"evalctl/scorer"
)

// freeScorer is the scorer that pays for nothing.
func (c *runCmd) freeScorer() scorer.Scorer {
	if c.Scorer == "retrieval" {
		return scorer.Retrieval{TopK: c.TopK}
	}
	return scorer.Exact{}
}

// lacking lets questions without gold pass: they are left out, not refused.
func lacking(err error) error {
	if errors.Is(err, scorer.ErrNoGold) {
		return nil
	}
	return err
}

// planGold checks the expected paths.
func (c *runCmd) planGold(pl *plan) (err error) {
	if pl.gold, err = harness.CheckGold(pl.dataset, pl.brains, c.TopK); err != nil {
		return err
	}
	if c.Scorer == "retrieval" && pl.gold.WithGold == 0 {
		return fmt.Errorf("%s: --scorer retrieval needs expected_paths and none of %s has any: add them, or use another scorer",
			c.Dataset, count(pl.dataset.Selected, "question"))
	}
	return nil
}
