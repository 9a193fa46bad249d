package aggregate

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// filled returns the sum of strata with so many questions of which so many passed.
func filled(cells map[string][2]int) *ReplaySum {
	t := NewReplay()
	for name, cell := range cells {
		for i := range cell[0] {
			t.Add(result.Record{
				Type: name, Outcome: result.Scored, Passed: i < cell[1], Score: new(1.0),
				Reply: result.Reply{Attempts: 1, LatencyMS: float64(i)},
			})
		}
	}
	return t
}

// TestWeighted has the values of statistics.md B.10.
func TestWeighted(t *testing.T) {
	sums := filled(map[string][2]int{"user": {10, 9}, "multi": {10, 6}, "update": {10, 8}})
	s := result.Sample{Strata: []result.StratumDraw{
		{Name: "multi", Population: 133}, {Name: "update", Population: 78}, {Name: "user", Population: 70},
	}}
	w := weighted(s, sums.strata, "")
	if w == nil || math.Abs(w.Mean-.730249) > 1e-6 || w.SE == nil || math.Abs(*w.SE-.085152) > 1e-6 ||
		!(w.Interval.Low < w.Mean && w.Mean < w.Interval.High) {
		t.Errorf("got %+v", w)
	}
	s.Strata = append(s.Strata, result.StratumDraw{Name: "preference", Population: 30})
	if w := weighted(s, sums.strata, ""); w != nil {
		t.Errorf("got %+v without questions of a stratum", w)
	}
	noGold := filled(map[string][2]int{"user": {9, 9}, "multi": {10, 0}})
	noGold.Add(result.Record{Type: "user", Outcome: result.NoGold})
	w = weighted(result.Sample{Strata: []result.StratumDraw{
		{Name: "user", Population: 70, Sampled: 10}, {Name: "multi", Population: 63, Sampled: 10},
	}}, noGold.strata, "")
	if w == nil || math.Abs(w.Mean-.5) > 1e-9 {
		t.Errorf("got %+v, want 63 of 126: one of ten questions does not count, so 7 of the 70 do not", w)
	}
	without := filled(map[string][2]int{"user": {10, 4}})
	without.Add(result.Record{Type: "absent", Outcome: result.NoGold})
	w = weighted(result.Sample{Strata: []result.StratumDraw{
		{Name: "user", Population: 100, Sampled: 10}, {Name: "absent", Population: 30, Sampled: 1},
	}}, without.strata, "")
	if w == nil || math.Abs(w.Mean-.4) > 1e-9 {
		t.Errorf("got %+v, want the rate of the only stratum whose questions count", w)
	}
	one := filled(map[string][2]int{"user": {1, 1}})
	w = weighted(result.Sample{Strata: []result.StratumDraw{{Name: "user", Population: 5}}}, one.strata, "")
	if w == nil || w.Mean != 1 || w.SE != nil {
		t.Errorf("got %+v for one question of five, which has no variance", w)
	}
}

// TestListedEstimatesNothing: only drawn questions, or all, say something about all.
func TestListedEstimatesNothing(t *testing.T) {
	for _, c := range []struct {
		listed     bool
		population int
		want       bool
	}{{false, 100, true}, {true, 10, true}, {true, 100, false}} {
		res := result.Result{Replay: &result.Replay{Sample: result.Sample{
			Listed: c.listed, Size: 10, Population: c.population, Strata: []result.StratumDraw{{Name: "a", Population: c.population, Sampled: 10}},
		}}}
		filled(map[string][2]int{"a": {10, 2}}).Fill(&res)
		if got := res.Replay.Weighted; (got != nil) != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestStrata(t *testing.T) {
	sums := filled(map[string][2]int{"b": {4, 1}, "a": {2, 2}})
	sums.Add(result.Record{Type: "b", Outcome: result.Errored,
		Reply: result.Reply{Attempts: 3}, JudgeVerdict: result.VerdictError, Cause: result.CauseDaemon})
	sums.Add(result.Record{Type: "b", Outcome: result.Unscored, Reply: result.Reply{Attempts: 2, LatencyMS: 9}})
	res := result.Result{
		Retrieval: &result.Retrieval{ByTag: map[string]*result.TagMeans{"type:a": {N: 2, Macro: result.Metrics{"any@5": 1}}}},
		Replay:    &result.Replay{Errata: &result.ErrataUse{}},
	}
	sums.Fill(&res)
	r := res.Replay
	if len(r.Strata) != 2 || r.Strata[0].Name != "a" || r.Strata[0].WithGold != 2 || r.Strata[0].Retrieval["any@5"] != 1 ||
		*r.Strata[0].PassRate != 1 || *r.Strata[1].PassRate != 1.0/6 || r.Strata[1].Latency.N != 5 || r.Strata[1].WithGold != 0 {
		t.Errorf("got %+v", r.Strata)
	}
	if *r.Macro != (1+1.0/6)/2 || r.FirstAttempt != 6 || r.FirstAttemptPassed != 3 {
		t.Errorf("macro %v, %d answered and %d passed at first", *r.Macro, r.FirstAttempt, r.FirstAttemptPassed)
	}
	if diff := cmp.Diff(map[result.Cause]int{result.CauseDaemon: 1}, r.Losses); diff != "" || r.Errata.Original.Total != 8 {
		t.Errorf("%s%+v", diff, r.Errata.Original)
	}
	if i := r.Strata[0].Interval; i.High != 1 || i.Low <= 0 {
		t.Errorf("interval %+v", i)
	}
}

// TestOriginalOverClusters: the rate by the original gold has the interval over clusters that it has
// where the original gold is the only one.
func TestOriginalOverClusters(t *testing.T) {
	corrected, plain := NewReplay(), NewReplay()
	for i, passed := range []bool{false, true, true, true, false, true, true, false, false, false} {
		r := result.Record{Type: "a", Outcome: result.Scored, Passed: passed, Tags: []string{fmt.Sprintf("conv:%d", i/4)}}
		plain.Add(r)
		switch i {
		case 0:
			r.Passed, r.Original = true, &result.Original{Verdict: result.Incorrect}
		case 6:
			r.Passed, r.Outcome, r.Original = false, result.NoGold, &result.Original{Passed: true, Verdict: result.Correct}
		}
		corrected.Add(r)
	}
	var with, without result.Result
	with.Settings.ClusterTag, without.Settings.ClusterTag = "conv", "conv"
	with.Replay, without.Replay = &result.Replay{Errata: &result.ErrataUse{}}, &result.Replay{}
	corrected.Fill(&with)
	plain.Fill(&without)
	got := with.Replay.Errata.OriginalInterval
	if diff := cmp.Diff(without.Replay.Strata[0].Interval, got); diff != "" || got.Method != result.MethodClustered {
		t.Errorf("%+v (-want +got):\n%s", got, diff)
	}
}

func TestPerCorrect(t *testing.T) {
	c := result.CostAccounting{TotalUSD: 10 * llm.Dollar}
	n := result.Counts{Total: 50, Passed: 40, Scored: 50}
	PerCorrect(&c, n, PassInterval(n))
	if c.PerCorrectUSD == nil || *c.PerCorrectUSD != llm.Dollar/4 {
		t.Fatalf("got %v", c.PerCorrectUSD)
	}
	// The Wilson interval of 40 of 50 is 0.6696 to 0.8876.
	if i := c.PerCorrectInterval; math.Abs(i.Low-10/(.887564*50)) > 1e-5 || math.Abs(i.High-10/(.669633*50)) > 1e-5 {
		t.Errorf("got %+v", i)
	}
	// The ends are inverted as printed, and are none if the rate has none, or may be 0.
	clustered := &result.Interval{Method: result.MethodClustered, Confidence: .95, Low: .5, High: 1}
	want := &result.Interval{Method: result.MethodClustered, Confidence: .95, Low: .2, High: .4}
	if PerCorrect(&c, n, clustered); !cmp.Equal(c.PerCorrectInterval, want) {
		t.Errorf("got %+v, want %+v", c.PerCorrectInterval, want)
	}
	for _, rate := range []*result.Interval{nil, {Method: result.MethodClustered, High: .9}} {
		if PerCorrect(&c, n, rate); c.PerCorrectInterval != nil || *c.PerCorrectUSD != llm.Dollar/4 {
			t.Errorf("got %+v for %+v", c.PerCorrectInterval, rate)
		}
	}
	none := result.CostAccounting{TotalUSD: llm.Dollar}
	if PerCorrect(&none, result.Counts{Total: 3, Scored: 3}, nil); none.PerCorrectUSD != nil || none.PerCorrectInterval != nil {
		t.Errorf("got %+v without correct answers", none)
	}
}
