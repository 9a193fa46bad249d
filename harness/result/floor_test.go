package result_test

import (
	"strings"
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

func TestParseFloor(t *testing.T) {
	for _, c := range []struct {
		text  string
		given bool
		floor float64
		from  result.FloorFrom
		says  string
	}{
		{"none", false, 0, result.FloorNone, "no floor"},
		{"none", true, 0, result.FloorNone, "no floor"},
		{"0.90", false, 0.9, result.FloorDefault, "floor 0.9, the default"},
		{"0.90", true, 0.9, result.FloorGiven, "floor 0.9"},
		{"0", true, 0, result.FloorGiven, "floor 0"},
	} {
		floor, from, err := result.ParseFloor(c.text, c.given)
		if err != nil || floor != c.floor || from != c.from || from.Text(floor) != c.says {
			t.Errorf("%s, given %v: got %v from %q (%s), %v", c.text, c.given, floor, from, from.Text(floor), err)
		}
	}
	if _, _, err := result.ParseFloor("1.1", true); err == nil || !strings.HasSuffix(err.Error(), ", or none") {
		t.Errorf("got %v", err)
	}
}
