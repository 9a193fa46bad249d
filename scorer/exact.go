package scorer

import (
	"context"
	"fmt"
	"strings"

	"evalctl/internal/visible"
)

// Exact scores 1 for an answer that contains any of the expected substrings and 0 for any other. It
// uses no network. Text is compared as package visible writes it, without upper and lower case.
type Exact struct {
	// Case makes upper and lower case matter.
	Case bool
}

// Name is "exact".
func (Exact) Name() string { return "exact" }

// Check rejects an item without expected substrings, and one with a substring that every answer
// contains.
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

// Score fails only for an item that Check rejects.
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

// compared returns s as it is compared. Doing so twice changes nothing more.
func (e Exact) compared(s string) string {
	if e.Case {
		return visible.Text(s)
	}
	return visible.Folded(s)
}
