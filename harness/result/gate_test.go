package result_test

import (
	"testing"

	"evalctl/harness/result"
)

// TestWord checks that a result of a version that does not record who gave the floor is shown as
// measured if it had none.
func TestWord(t *testing.T) {
	for name, c := range map[string]struct {
		gate result.Gate
		want result.Verdict
	}{
		"no floor":               {result.Gate{Verdict: result.Measured, FloorFrom: result.FloorNone}, result.Measured},
		"not recorded":           {result.Gate{Verdict: result.Pass}, result.Measured},
		"a given floor of 0":     {result.Gate{Verdict: result.Pass, FloorFrom: result.FloorGiven}, result.Pass},
		"not recorded, a floor":  {result.Gate{Verdict: result.Pass, Floor: 0.5}, result.Pass},
		"not recorded, tags":     {result.Gate{Verdict: result.Pass, Tags: []result.TagGate{{}}}, result.Pass},
		"not recorded, baseline": {result.Gate{Verdict: result.Pass, Baseline: &result.BaselineGate{}}, result.Pass},
		"not recorded, stopped":  {result.Gate{Verdict: result.Inconclusive}, result.Inconclusive},
	} {
		if got := c.gate.Word(); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
