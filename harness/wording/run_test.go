package wording

import (
	"strings"
	"testing"

	"evalctl/harness/result"
)

// TestTypeMean compares the mean over types with one that is computed by hand: it is not the pass
// rate.
func TestTypeMean(t *testing.T) {
	of := func(passed, total int) *result.TagFigures {
		return &result.TagFigures{Counts: result.Counts{Passed: passed, Total: total}}
	}
	r := result.Result{Tags: map[string]*result.TagFigures{
		"type:temporal": of(1, 4), "type:multi": of(9, 10), "type:unasked": of(0, 0), "hard": of(0, 14),
	}}
	if got := TypeMean(&r); !strings.HasPrefix(got, "0.575  mean of the pass rates of 2 types") {
		t.Error(got)
	}
	delete(r.Tags, "type:multi")
	if got := TypeMean(&r); got != "" {
		t.Errorf("of one type: %s", got)
	}
}
