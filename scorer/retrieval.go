package scorer

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// ErrNoGold means that an item's retrieval cannot be scored because it has no gold.
var ErrNoGold = errors.New("no gold")

// Retrieval scores the retrieval instead of the answer: the share of an item's gold in the first
// TopK documents, or of its evidence in the first TopK passages. It uses no network.
type Retrieval struct {
	// TopK is at least 1.
	TopK int
	// Evidence selects scoring by evidence. A run uses it if any question has evidence, so that all
	// its scores use the same kind of gold.
	Evidence bool
}

// Name is "retrieval".
func (Retrieval) Name() string { return "retrieval" }

// Check returns ErrNoGold for an item without gold, or without evidence if Evidence is set. It
// rejects gold without a path or with a gain that is not finite and above 0.
func (s Retrieval) Check(item Item) error {
	switch {
	case s.Evidence && len(item.Evidence) == 0:
		return fmt.Errorf("question %q has no expected_evidence: %w", item.ID, ErrNoGold)
	case !s.Evidence && len(item.Gold) == 0:
		return fmt.Errorf("question %q has no expected_paths: %w", item.ID, ErrNoGold)
	}
	for i, g := range item.Gold {
		if g.Path == "" {
			return fmt.Errorf("question %q: expected_paths[%d] is empty: name a document, or remove it",
				item.ID, i)
		}
		if !(g.Gain > 0) || math.IsInf(g.Gain, 1) {
			return fmt.Errorf("question %q: the gain of %s is %v; it must be above 0", item.ID, g.Path, g.Gain)
		}
	}
	return nil
}

// Score fails only for an item rejected by Check.
func (s Retrieval) Score(_ context.Context, item Item) (Verdict, error) {
	if err := s.Check(item); err != nil {
		return Verdict{}, err
	}
	if n := len(item.Evidence); s.Evidence {
		reason := fmt.Sprintf("%d of %d pieces of evidence in the top %d passages", item.Evidence.foundAt(s.TopK), n, s.TopK)
		return Verdict{Score: item.Evidence.RecallAt(s.TopK), Scored: true, Reason: reason}, nil
	}
	reason := fmt.Sprintf("%d of %d gold documents in the top %d",
		item.Gold.foundAt(s.TopK), len(item.Gold), s.TopK)
	return Verdict{Score: item.Gold.RecallAt(s.TopK), Scored: true, Reason: reason}, nil
}
