package result

import (
	"strings"
	"testing"

	"evalctl/scorer"
)

// TestTypeMean compares the mean over types with one that is computed by hand: it is not the pass
// rate.
func TestTypeMean(t *testing.T) {
	of := func(passed, total int) *TagFigures { return &TagFigures{Counts: Counts{Passed: passed, Total: total}} }
	r := Result{Tags: map[string]*TagFigures{
		"type:temporal": of(1, 4), "type:multi": of(9, 10), "type:unasked": of(0, 0), "hard": of(0, 14),
	}}
	if got := r.TypeMeanText(); !strings.HasPrefix(got, "0.575  mean of the pass rates of 2 types") {
		t.Error(got)
	}
	delete(r.Tags, "type:multi")
	if got := r.TypeMeanText(); got != "" {
		t.Errorf("of one type: %s", got)
	}
}

// TestUnscoredSaysWhy checks that no question is without a verdict and a reason.
func TestUnscoredSaysWhy(t *testing.T) {
	r := Record{Outcome: Unscored}
	if got := r.Graded(scorer.Verdict{}); got.Outcome != Unscored || got.Reason == "" {
		t.Errorf("%+v", got)
	}
	if got := r.Graded(scorer.Verdict{Reason: "no key"}); got.Reason != "no key" {
		t.Errorf("%+v", got)
	}
}
