package main

import (
	"strings"
	"testing"

	"evalctl/harness/judging"
	"evalctl/scorer"
)

// TestMinimum: on both sides of each threshold, and with answers that were not judged.
func TestMinimum(t *testing.T) {
	measured := func(rightPassed, rightFailed, wrongPassed, wrongFailed, wrongUnscored int) judging.Accuracy {
		var list []judging.Labelled
		add := func(n int, right, scored bool, score float64) {
			for range n {
				list = append(list, judging.Labelled{Right: right, Verdict: scorer.Verdict{Scored: scored, Score: score}})
			}
		}
		add(rightPassed, true, true, 1)
		add(rightFailed, true, true, 0)
		add(wrongPassed, false, true, 1)
		add(wrongFailed, false, true, 0)
		add(wrongUnscored, false, false, 0)
		return judging.Measure(list)
	}
	for _, tt := range []struct {
		name               string
		a                  judging.Accuracy
		kappa, specificity *float64
		code               int
		want               string
	}{
		{"nothing required", measured(0, 5, 5, 0, 9), nil, nil, exitDone, ""},
		{"met as equal", measured(8, 2, 2, 8, 0), new(0.6), new(0.8), exitDone, ""},
		{"kappa below", measured(8, 2, 2, 8, 0), new(0.61), nil, exitBelowFloor, "kappa 0.600 is below --min-kappa 0.61"},
		{"specificity below", measured(8, 2, 2, 8, 0), new(0.5), new(0.81), exitBelowFloor,
			"specificity 0.800 [0.490 0.943] (95% Wilson) is below --min-specificity 0.81"},
		{"met whatever is not judged", measured(10, 0, 0, 9, 1), new(0.8), new(0.9), exitDone, ""},
		{"not judged never agrees", measured(10, 0, 0, 8, 2), nil, new(0.9), exitUnscored, "2 answers without a verdict may be misjudged"},
		{"below all the same", measured(10, 0, 5, 3, 2), nil, new(0.9), exitBelowFloor, "is below"},
		{"no wrong one judged", measured(10, 0, 0, 0, 2), nil, new(0.1), exitUnscored, "specificity n/a is not certain"},
	} {
		f := minimumFlags{MinKappa: tt.kappa, MinSpecificity: tt.specificity}
		err := f.reached(&tt.a)
		if code := exitCode(t.Context(), err); code != tt.code || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: exit code %d, %v", tt.name, code, err)
		}
	}
}
