package result_test

import (
	"strings"
	"testing"

	"evalctl/harness/result"
	"evalctl/harness/wording"
)

// controls returns those of 14 right and 14 wrong answers, of which some were misjudged and some
// not judged.
func controls(rightFailed, rightUnjudged, wrongPassed, wrongUnjudged int) *result.Controls {
	c := &result.Controls{Right: 14, Wrong: 14, Failed: []result.FailedControl{}, Unjudged: []result.FailedControl{}}
	add := func(list *[]result.FailedControl, n int, kind string) {
		for range n {
			*list = append(*list, result.FailedControl{ID: "q", Kind: kind})
		}
	}
	add(&c.Failed, rightFailed, result.ControlReference)
	add(&c.Failed, wrongPassed, "vague")
	add(&c.Unjudged, rightUnjudged, result.ControlReference)
	add(&c.Unjudged, wrongUnjudged, "vague")
	c.Count()
	return c
}

// TestControlsRule: on both sides of each threshold.
func TestControlsRule(t *testing.T) {
	for _, tt := range []struct {
		name          string
		c             *result.Controls
		valid, enough bool
		note          string
	}{
		{"none needed", nil, true, true, ""},
		{"no items", &result.Controls{Unjudged: []result.FailedControl{}}, true, true, ""},
		{"all as known", controls(0, 0, 0, 0), true, true, ""},
		{"one misjudged", controls(0, 0, 1, 0), true, true, "misjudged 1 of 28 judged control items, too few to show that it errs on more than one in 20"},
		{"two of each misjudged", controls(2, 0, 2, 0), true, true, "misjudged 4 of 28"},
		{"three right failed", controls(3, 0, 0, 0), false, true, ""},
		{"three wrong passed", controls(0, 0, 3, 0), false, true, ""},
		{"three wrong passed, few judged", controls(0, 14, 3, 11), false, false, ""},
		{"all wrong passed", controls(0, 0, 14, 0), false, true, ""},
		{"one not judged", controls(0, 0, 0, 1), true, true, "1 control item got no verdict and is in no rate: a scorer that " +
			"passes one wrong answer in five fails all 13 judged wrong ones with a probability of 0.05"},
		{"three of each not judged", controls(0, 3, 0, 3), true, true, "fails all 11 judged wrong ones with a probability of 0.09"},
		{"four right not judged", controls(0, 4, 0, 0), true, false, ""},
		{"four wrong not judged", controls(0, 0, 0, 4), true, false, ""},
		{"nothing judged", controls(0, 14, 0, 14), true, false, ""},
	} {
		if tt.c.Valid() != tt.valid || tt.c.Enough() != tt.enough {
			t.Errorf("%s: valid %v, enough %v", tt.name, tt.c.Valid(), tt.c.Enough())
		}
		if got := wording.Controls(tt.c); !strings.Contains(got, tt.note) || (got == "") != (tt.note == "") {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

// TestControlRates: rates are over what was judged.
func TestControlRates(t *testing.T) {
	c := controls(1, 4, 2, 6)
	if *c.FalseNegativeRate != 0.1 || *c.FalsePositiveRate != 0.25 || c.Unscored != 10 || c.RightPassed != 9 || c.WrongFailed != 6 {
		t.Errorf("got %+v", c)
	}
	if c = controls(0, 14, 0, 14); c.FalseNegativeRate != nil || c.FalsePositiveRate != nil {
		t.Errorf("got %+v", c)
	}
}
