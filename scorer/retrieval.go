package scorer

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// ErrNoGold means that an item has no gold documents, so that its retrieval cannot be scored.
var ErrNoGold = errors.New("no gold")

// Retrieval scores what was retrieved rather than what was answered: the share of an item's gold
// among the first TopK documents. It uses no network.
type Retrieval struct {
	// TopK is at least 1.
	TopK int
}

// Name is "retrieval".
func (Retrieval) Name() string { return "retrieval" }

// Check returns ErrNoGold for an item without gold. It rejects gold without a path and gold whose
// gain is not a finite number above 0.
func (Retrieval) Check(item Item) error {
	if len(item.Gold) == 0 {
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

// Score fails only for an item that Check does not accept.
func (s Retrieval) Score(_ context.Context, item Item) (Verdict, error) {
	if err := s.Check(item); err != nil {
		return Verdict{}, err
	}
	reason := fmt.Sprintf("%d of %d gold documents in the top %d",
		item.Gold.foundAt(s.TopK), len(item.Gold), s.TopK)
	return Verdict{Score: item.Gold.RecallAt(s.TopK), Scored: true, Reason: reason}, nil
}
