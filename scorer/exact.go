package scorer

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/text/cases"
)

// Exact gives 1 to an answer that has any of the expected substrings and 0 to
// any other, ignoring case by Unicode's case folding. It uses no network.
type Exact struct{}

// Name is "exact".
func (Exact) Name() string { return "exact" }

// Check refuses an item without expected substrings, and one with a substring
// that every answer has.
func (Exact) Check(item Item) error {
	if len(item.Expected) == 0 {
		return fmt.Errorf("question %q has no expected_substrings: add at least one, or use the judge scorer", item.ID)
	}
	for i, want := range item.Expected {
		if strings.TrimSpace(want) == "" {
			return fmt.Errorf("question %q: expected_substrings[%d] is empty and would match every answer: remove it", item.ID, i)
		}
	}
	return nil
}

// Score fails only on an item that Check refuses.
func (e Exact) Score(_ context.Context, item Item) (Verdict, error) {
	if err := e.Check(item); err != nil {
		return Verdict{}, err
	}
	fold := cases.Fold() // not safe to share between goroutines
	answer := fold.String(item.Answer)
	for _, want := range item.Expected {
		if strings.Contains(answer, fold.String(want)) {
			return Verdict{Score: 1, Scored: true, Reason: fmt.Sprintf("the answer has %q", want)}, nil
		}
	}
	return Verdict{Scored: true, Reason: "the answer has no expected substring"}, nil
}
