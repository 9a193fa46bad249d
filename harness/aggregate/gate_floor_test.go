package aggregate_test

import (
	"strings"
	"testing"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
)

// TestGateWithoutFloor checks that a run without a floor is measured, and that a floor of a tag or
// a baseline is something to pass all the same.
func TestGateWithoutFloor(t *testing.T) {
	sum := aggregate.New(1)
	for _, passed := range []bool{true, false, false} {
		r := result.Record{Outcome: result.Scored, Passed: passed, Tags: []string{"a"}}
		if passed {
			r.Tags = append(r.Tags, "b")
			r.Score = new(1.0)
		} else {
			r.Score = new(0.0)
		}
		sum.Add(r)
	}
	all, err := result.ParseAllowance("100%")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		from    result.FloorFrom
		floor   float64
		tags    map[string]float64
		stopped result.Stop
		verdict result.Verdict
		reason  result.Reason
		says    string
	}{
		"no floor":                  {from: result.FloorNone, verdict: result.Measured, reason: result.ReasonNoFloor, says: "1/3 passed"},
		"a floor of 0":              {from: result.FloorGiven, verdict: result.Pass, reason: result.ReasonFloor, says: "1/3 passes the floor 0 "},
		"not recorded":              {verdict: result.Pass, reason: result.ReasonFloor, says: "1/3 passes the floor 0 "},
		"the default":               {from: result.FloorDefault, floor: 0.9, verdict: result.Fail, reason: result.ReasonFloor, says: "1/3 misses the floor 0.9, the default (needs 3)"},
		"given":                     {from: result.FloorGiven, floor: 0.9, verdict: result.Fail, reason: result.ReasonFloor, says: "1/3 misses the floor 0.9 (needs 3)"},
		"a tag reaches its floor":   {from: result.FloorNone, tags: map[string]float64{"b": 1}, verdict: result.Pass, reason: result.ReasonTag, says: "1/3 passed"},
		"a tag misses its floor":    {from: result.FloorNone, tags: map[string]float64{"a": 1}, verdict: result.Fail, reason: result.ReasonTag, says: `tag "a": 1/3 misses the floor 1 `},
		"stopped":                   {from: result.FloorNone, stopped: result.StopBudget, verdict: result.Inconclusive, reason: result.ReasonStopped, says: "not a score"},
		"stopped by its failures":   {from: result.FloorNone, stopped: result.StopMaxFailures, verdict: result.Inconclusive, reason: result.ReasonStopped, says: "not a score"},
		"the default cannot be met": {from: result.FloorDefault, floor: 0.9, stopped: result.StopMaxFailures, verdict: result.Fail, reason: result.ReasonFloor, says: "would miss the floor 0.9, the default (needs 3)"},
	} {
		res := result.Result{
			Planned: 3, Stopped: c.stopped,
			Settings: result.Settings{Floor: c.floor, FloorFrom: c.from, TagFloors: c.tags, MaxErrors: all, MaxUnscored: all},
		}
		sum.Fill(&res)
		sum.Judge(&res)
		g := res.Gate
		if g.Verdict != c.verdict || g.Reason != c.reason || g.FloorFrom != c.from {
			t.Errorf("%s: got %s because of %s, floor from %q; want %s because of %s", name, g.Verdict, g.Reason, g.FloorFrom, c.verdict, c.reason)
		}
		if !strings.Contains(g.Sentence, c.says) {
			t.Errorf("%s: got %q, want %q", name, g.Sentence, c.says)
		}
		if floor := c.from != result.FloorNone && c.stopped == ""; (g.Proof != nil) != floor {
			t.Errorf("%s: got proof %v", name, g.Proof)
		}
	}
}

// TestLeaksFail checks that one text of something deleted or foreign fails a run that may have
// none, whatever its floors, and that no other text does.
func TestLeaksFail(t *testing.T) {
	for name, c := range map[string]struct {
		leaks []result.Origin
		none  bool // may come back
		from  result.FloorFrom
		fails bool
	}{
		"deleted":                {[]result.Origin{result.OfDeleted}, true, result.FloorGiven, true},
		"foreign, without floor": {[]result.Origin{"", result.OfAnother}, true, result.FloorNone, true},
		"replaced, or not known": {[]result.Origin{result.OfReplaced, ""}, true, result.FloorGiven, false},
		"nothing":                {nil, true, result.FloorGiven, false},
		"not asked for":          {[]result.Origin{result.OfDeleted}, false, result.FloorGiven, false},
	} {
		sum := aggregate.New(1)
		for i := range 20 {
			r := result.Record{Outcome: result.Scored, Passed: true, Score: new(1.0)}
			if i == 0 && c.leaks != nil {
				r.Passed, r.Score = false, new(0.0)
				for _, o := range c.leaks {
					r.Leaks = append(r.Leaks, result.Leak{Text: "x", Place: result.InAnswer, At: "answer", Origin: o})
				}
			}
			sum.Add(r)
		}
		res := result.Result{Planned: 20, Settings: result.Settings{Floor: 0.9, FloorFrom: c.from, NoLeaks: c.none, MaxErrors: result.Allowance{}, MaxUnscored: result.Allowance{}}}
		if c.from == result.FloorNone {
			res.Settings.Floor = 0
		}
		sum.Fill(&res)
		sum.Judge(&res)
		if g := res.Gate; (g.Verdict == result.Fail && g.Reason == result.ReasonLeak) != c.fails || strings.Contains(g.Sentence, "came back in 1 question,") != c.fails {
			t.Errorf("%s: %s because of %s: %s", name, g.Verdict, g.Reason, g.Sentence)
		}
	}
}
