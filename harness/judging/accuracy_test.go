package judging_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"evalctl/harness/judging"
	"evalctl/harness/result"
	"evalctl/scorer"
)

// labelled returns labelled verdicts with these counts.
func labelled(rightPassed, rightFailed, wrongPassed, wrongFailed, unscored int) []judging.LabelledVerdict {
	var list []judging.LabelledVerdict
	add := func(n int, right, scored bool, score float64) {
		for range n {
			list = append(list, judging.LabelledVerdict{ID: "q", Right: right, Verdict: scorer.Verdict{Scored: scored, Score: score, Reason: "r"}})
		}
	}
	add(rightPassed, true, true, 0.5) // just enough to pass
	add(rightFailed, true, true, 0.25)
	add(wrongPassed, false, true, 1)
	add(wrongFailed, false, true, 0)
	add(unscored, true, false, 1)
	return list
}

func near(got *float64, want float64) bool {
	return got != nil && math.Abs(*got-want) < 1e-6
}

// TestMeasure has the values of statistics.md B.6.
func TestMeasure(t *testing.T) {
	for _, tt := range []struct {
		counts [4]int // right passed, right failed, wrong passed, wrong failed
		kappa  float64
		skewed bool
	}{
		{[4]int{20, 10, 5, 15}, 0.4, false},
		{[4]int{45, 25, 15, 15}, 3.0 / 23, false},
		{[4]int{25, 5, 35, 35}, 7.0 / 27, false},
		{[4]int{118, 2, 5, 0}, -0.023392, true},
	} {
		c := tt.counts
		a := judging.Measure(labelled(c[0], c[1], c[2], c[3], 3))
		if !near(a.Kappa, tt.kappa) || a.Skewed() != tt.skewed || a.Unscored != 3 || a.Labels != c[0]+c[1]+c[2]+c[3]+3 {
			t.Errorf("%v: got %+v, kappa %v", c, a, *a.Kappa)
		}
		if len(a.Wrong) != c[1]+c[2]+3 || a.Wrong[len(a.Wrong)-1].Score != nil || a.Wrong[0].Score == nil {
			t.Errorf("%v: got %+v", c, a.Wrong)
		}
	}
	a := judging.Measure(labelled(118, 2, 5, 0, 0))
	if !near(a.PABAK, 0.888) || !near(a.AC1, 0.940777) || !near(a.Agreement, 0.944) {
		t.Errorf("got PABAK %v, AC1 %v, agreement %v", *a.PABAK, *a.AC1, *a.Agreement)
	}
	a = judging.Measure(labelled(46, 4, 1, 9, 0))
	s := a.Sensitivity
	if s == nil || s.Rate != 0.92 || math.Abs(s.Interval.Low-0.811618) > 5e-7 || math.Abs(s.Interval.High-0.968450) > 5e-7 || s.Interval.Method != "wilson" {
		t.Errorf("sensitivity %+v", s)
	}
	if a.Specificity == nil || a.Specificity.Rate != 0.9 || math.Abs(a.Specificity.Interval.Low-0.595850) > 5e-7 {
		t.Errorf("specificity %+v", a.Specificity)
	}
}

// TestMeasureUndefined: what is not defined is null in JSON, never NaN.
func TestMeasureUndefined(t *testing.T) {
	for _, list := range [][]judging.LabelledVerdict{nil, labelled(0, 0, 0, 0, 2), labelled(3, 0, 0, 0, 0), labelled(0, 0, 0, 4, 0)} {
		a := judging.Measure(list)
		if a.Kappa != nil || a.Sensitivity != nil && a.Specificity != nil {
			t.Errorf("%d labels: got %+v", len(list), a)
		}
		if data, err := json.Marshal(a); err != nil || !strings.Contains(string(data), `"kappa":null`) {
			t.Errorf("got %s, %v", data, err)
		}
	}
}

// TestCorrect has the values of statistics.md B.7.
func TestCorrect(t *testing.T) {
	for _, tt := range []struct {
		n, passed, labels, specific, sensitive int
		rate, low, high                        float64
	}{
		{1000, 400, 200, 140, 180, 0.166667, 0.056351, 0.262733},
		{500, 460, 100, 37, 98, 0.828571, 0.7271, 0.9575},
		{500, 460, 100, 89, 98, 0.931034, 0.8924, 0.9845},
	} {
		a := judging.Measure(labelled(tt.sensitive, tt.labels-tt.sensitive, tt.labels-tt.specific, tt.specific, 5))
		// Errors and unscored questions have no part in it.
		c := a.Correct(&result.Result{Counts: result.Counts{Total: tt.n + 7, Scored: tt.n, Passed: tt.passed, Errors: 3, Unscored: 4}})
		if c.Corrected == nil || math.Abs(c.Corrected.Rate-tt.rate) > 5e-7 ||
			math.Abs(c.Corrected.Interval.Low-tt.low) > 5e-5 || math.Abs(c.Corrected.Interval.High-tt.high) > 5e-5 {
			t.Errorf("%+v: got %+v", tt, c.Corrected)
		}
		if c.Judged != tt.n || c.Raw.Rate != float64(tt.passed)/float64(tt.n) || c.Impossible != "" {
			t.Errorf("%+v: got %+v", tt, c)
		}
	}
}

func TestCorrectImpossible(t *testing.T) {
	counts := result.Counts{Total: 50, Scored: 50, Passed: 40}
	for _, tt := range []struct {
		labels []judging.LabelledVerdict
		counts result.Counts
		want   string
	}{
		{labelled(9, 1, 1, 9, 0), result.Counts{Total: 3, Errors: 3}, "no answer with a verdict"},
		{labelled(0, 0, 1, 9, 4), counts, "no right answer with a verdict has a label"},
		{labelled(9, 1, 0, 0, 0), counts, "no wrong answer with a verdict has a label"},
		{labelled(5, 5, 5, 5, 0), counts, "as often as right ones"},
		{labelled(3, 7, 6, 4, 0), counts, "as often as right ones"},
		{nil, counts, "no right answer"},
	} {
		a := judging.Measure(tt.labels)
		if c := a.Correct(&result.Result{Counts: tt.counts}); c.Corrected != nil || !strings.Contains(c.Impossible, tt.want) {
			t.Errorf("got %+v, want %s", c, tt.want)
		}
	}
}

// TestPessimistic: what was not judged counts as misjudged.
func TestPessimistic(t *testing.T) {
	list := labelled(9, 1, 0, 10, 3)
	list = append(list, judging.LabelledVerdict{ID: "w"}, judging.LabelledVerdict{ID: "w"})
	a := judging.Measure(list)
	p := a.Pessimistic()
	if want := judging.Measure(labelled(9, 4, 2, 10, 0)); p.Unscored != 0 || p.Specificity.Rate != want.Specificity.Rate ||
		*p.Kappa != *want.Kappa || p.RightFailed != 4 || p.WrongPassed != 2 || a.Unscored != 5 || a.Specificity.Rate != 1 {
		t.Errorf("got %+v of %+v", p, a)
	}
}

// TestCorrectClamped: a run that the errors of the judge cannot explain says so.
func TestCorrectClamped(t *testing.T) {
	a := judging.Measure(labelled(9, 1, 2, 8, 0))
	for passed, want := range map[int]bool{5: true, 10: false, 30: false, 45: false, 48: true} {
		if c := a.Correct(&result.Result{Counts: result.Counts{Total: 50, Scored: 50, Passed: passed}}); c.Clamped != want {
			t.Errorf("%d of 50: %+v", passed, c)
		}
	}
}

// TestCorrectFewLabels: an interval from few labels contains the rate, and says why it is wide.
// A result that no share of right answers explains has no interval.
func TestCorrectFewLabels(t *testing.T) {
	counts := result.Counts{Total: 500, Scored: 500, Passed: 450}
	a := judging.Measure(labelled(1, 0, 0, 100, 0))
	c := a.Correct(&result.Result{Counts: counts})
	if got := c.Corrected.String(); got != "0.900 [0.855 1.000] (95% Lang-Reiczigel)" || !strings.HasPrefix(c.Few, "few right answers are known (1 independent)") {
		t.Errorf("one right answer: %s, %q", got, c.Few)
	}
	a = judging.Measure(labelled(5, 0, 0, 5, 0))
	if c = a.Correct(&result.Result{Counts: counts}); c.Few != "" {
		t.Errorf("five of each: %q", c.Few)
	}
	counts.Passed = 0
	a = judging.Measure(labelled(100, 0, 80, 20, 0))
	if c = a.Correct(&result.Result{Counts: counts}); !c.Clamped || c.Corrected.String() != "0.000 (no interval)" {
		t.Errorf("none passed: %+v", c.Corrected)
	}
}
