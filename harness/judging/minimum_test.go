package judging

import (
	"errors"
	"strings"
	"testing"

	"evalctl/scorer"
)

// TestMinimum: on both sides of each threshold, and with answers that were not judged.
func TestMinimum(t *testing.T) {
	measured := func(rightPassed, rightFailed, wrongPassed, wrongFailed, wrongUnscored int) Accuracy {
		var list []LabelledVerdict
		add := func(n int, right, scored bool, score float64) {
			for range n {
				list = append(list, LabelledVerdict{Right: right, Verdict: scorer.Verdict{Scored: scored, Score: score}})
			}
		}
		add(rightPassed, true, true, 1)
		add(rightFailed, true, true, 0)
		add(wrongPassed, false, true, 1)
		add(wrongFailed, false, true, 0)
		add(wrongUnscored, false, false, 0)
		return Measure(list)
	}
	for _, tt := range []struct {
		name               string
		a                  Accuracy
		kappa, specificity *float64
		uncertain          bool
		want               string
	}{
		{"nothing required", measured(0, 5, 5, 0, 9), nil, nil, false, ""},
		{"met as equal", measured(8, 2, 2, 8, 0), new(0.6), new(0.8), false, ""},
		{"kappa below", measured(8, 2, 2, 8, 0), new(0.61), nil, false, "kappa 0.600 is below --min-kappa 0.61"},
		{"specificity below", measured(8, 2, 2, 8, 0), new(0.5), new(0.81), false,
			"specificity 0.800 [0.490 0.943] (95% Wilson) is below --min-specificity 0.81"},
		{"met whatever is not judged", measured(10, 0, 0, 9, 1), new(0.8), new(0.9), false, ""},
		{"not judged never agrees", measured(10, 0, 0, 8, 2), nil, new(0.9), true, "2 answers without a verdict may be misjudged"},
		{"below all the same", measured(10, 0, 5, 3, 2), nil, new(0.9), false, "is below"},
		{"kappa uncertain, specificity below", measured(100, 0, 10, 80, 60), new(0.6), new(0.95), false, "is below --min-specificity"},
		{"no wrong one judged", measured(10, 0, 0, 0, 2), nil, new(0.1), true, "specificity n/a is not certain"},
	} {
		err := Minimum{tt.kappa, tt.specificity}.Reached(&tt.a)
		below, ok := errors.AsType[*BelowError](err)
		if ok != (tt.want != "") || ok && (below.Uncertain != tt.uncertain || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %+v (%v)", tt.name, below, err)
		}
	}
}

// TestBelowByRounding: a share that is below a minimum only by rounding is printed whole.
func TestBelowByRounding(t *testing.T) {
	a := Accuracy{WrongPassed: 1, WrongFailed: 8}
	a.rate()
	err := Minimum{Specificity: new(0.889)}.Reached(&a)
	if err == nil || !strings.Contains(err.Error(), ", exactly 0.8888888888888888, is below --min-specificity 0.889") {
		t.Errorf("got %v", err)
	}
}
