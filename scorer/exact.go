package scorer

import (
	"context"
	"fmt"
	"strings"

	"evalctl/internal/visible"
)

// Exact scores 1 for an answer that contains any expected substring and 0 otherwise, offline. Text
// is compared in the form of package visible and without regard to case.
type Exact struct {
	// Case makes the comparison case-sensitive.
	Case bool
}

// Name is "exact".
func (Exact) Name() string { return "exact" }

// Check rejects an item without expected substrings, or with one that every answer contains.
func (Exact) Check(item Item) error {
	if len(item.Expected) == 0 {
		return fmt.Errorf("question %q has no expected_substrings: add at least one, or use the %s scorer", item.ID,
			item.insteadOf("judge", item.Reference != ""))
	}
	for i, want := range item.Expected {
		if visible.Words(want) == "" {
			return fmt.Errorf("question %q: expected_substrings[%d] is empty and would match every answer: "+
				"remove it", item.ID, i)
		}
	}
	return nil
}

// Score fails only for an item rejected by Check.
func (e Exact) Score(_ context.Context, item Item) (Verdict, error) {
	if err := e.Check(item); err != nil {
		return Verdict{}, err
	}
	answer := e.compared(item.Answer)
	for _, want := range item.Expected {
		if strings.Contains(answer, e.compared(want)) {
			return Verdict{Score: 1, Scored: true, Reason: fmt.Sprintf("the answer has %q", want)}, nil
		}
	}
	return Verdict{Scored: true, Reason: "the answer has no expected substring"}, nil
}

// compared returns the compared form of s. It is idempotent.
func (e Exact) compared(s string) string {
	if e.Case {
		return visible.Text(s)
	}
	return visible.Folded(s)
}
