package aggregate

import (
	"fmt"
	"testing"

	"evalctl/harness/result"
	"evalctl/scorer"
)

// checked returns a record with two checks of one label, and one of another.
func checked(id string, a, b, other bool) result.Record {
	r := result.Record{ID: id, Outcome: result.Scored, Score: new(0.0), Checks: []result.Check{
		{Check: scorer.Check{Contains: "a"}, Holds: &a}, {Check: scorer.Check{Contains: "b"}, Holds: &b},
		{Check: scorer.Check{Judge: "c", Name: "tone"}, Holds: &other},
	}}
	r.Passed = a && b && other
	return r
}

// A question counts once for each label, and passes if all its checks of that label hold.
func TestRatesOfChecks(t *testing.T) {
	s := New(5)
	s.Add(checked("1", true, true, false))
	s.Add(checked("2", true, false, true))
	failed := checked("3", false, false, false)
	failed.Outcome, failed.Score = result.Errored, nil
	for i := range failed.Checks {
		failed.Checks[i].Holds = nil
	}
	s.Add(failed)
	unjudged := checked("4", true, true, true)
	unjudged.Outcome, unjudged.Score, unjudged.Checks[2].Holds = result.Unscored, nil, nil
	s.Add(unjudged)
	left := checked("5", true, true, true)
	left.Outcome, left.Score = result.NotMeasurable, nil
	s.Add(left)
	res := result.Result{ScorerName: scorer.Checks{}.Name()}
	s.Fill(&res)
	for label, want := range map[string]result.Counts{
		"contains": {Total: 4, Passed: 2, Scored: 3, Errors: 1, NotMeasurable: 1},
		"tone":     {Total: 4, Passed: 1, Scored: 2, Errors: 1, Unscored: 1, NotMeasurable: 1},
	} {
		got := res.Checks[label]
		if got == nil || got.Counts != want || *got.PassRate != float64(want.Passed)/4 || got.Interval.Method != result.MethodWilson {
			t.Errorf("%s: %+v", label, got)
		}
	}
	if len(res.Checks) != 2 {
		t.Errorf("%v", res.Checks)
	}
	s.Fill(&res)
	if res.ScorerName = "exact"; s.checkFigures(&res) != nil {
		t.Error("rates of checks that were not applied")
	}
}

// With clusters, and with repeats, the interval of a check is over these, as that of a tag is.
func TestIntervalsOfChecks(t *testing.T) {
	for _, repeats := range []int{0, 3} {
		s := New(5)
		for i := range 12 {
			r := checked(fmt.Sprint(i/3), i%7 > 1, true, true)
			r.Tags = []string{fmt.Sprintf("conv:%d", i/4), "all"}
			if r.Repeat = i%3 + 1; repeats == 0 {
				r.ID, r.Repeat = fmt.Sprint(i), 0
			}
			s.Add(r)
		}
		res := result.Result{ScorerName: "checks"}
		res.Identity.Dataset.Repeats = repeats
		if repeats == 0 {
			res.Settings.ClusterTag = "conv"
		}
		s.Fill(&res)
		got, tag := res.Checks["contains"].Interval, res.Tags["all"].Interval
		if got == nil || tag == nil || *got != *tag || got.Method != result.MethodClustered {
			t.Errorf("repeats %d: %+v, by tag %+v", repeats, got, tag)
		}
	}
}
