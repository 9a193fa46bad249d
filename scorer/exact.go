package scorer

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
)

// Exact scores 1 for an answer that contains any of the expected substrings and 0 for any other. It
// ignores case by Unicode case folding and uses no network.
type Exact struct{}

// Name is "exact".
func (Exact) Name() string { return "exact" }

// Check rejects an item without expected substrings, and one with a substring that every answer
// contains.
func (Exact) Check(item Item) error {
	if len(item.Expected) == 0 {
		return fmt.Errorf("question %q has no expected_substrings: add at least one, or use the judge scorer",
			item.ID)
	}
	for i, want := range item.Expected {
		if strings.TrimSpace(want) == "" {
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
	answer := fold(item.Answer)
	for _, want := range item.Expected {
		if strings.Contains(answer, fold(want)) {
			return Verdict{Score: 1, Scored: true, Reason: fmt.Sprintf("the answer has %q", want)}, nil
		}
	}
	return Verdict{Scored: true, Reason: "the answer has no expected substring"}, nil
}

// fold is s folded for comparisons that ignore case: of ASCII, lower case.
func fold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return cases.Fold().String(s)
		}
	}
	return strings.ToLower(s)
}
