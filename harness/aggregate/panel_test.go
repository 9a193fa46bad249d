package aggregate

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/harness/result"
)

var recipes = []result.Recipe{{Name: "head"}, {Name: "strict"}, {Name: "mild"}}

// judgedBy returns a record with the verdicts of a pattern: + passed, - failed, ? without a verdict.
func judgedBy(id, pattern string) result.Record {
	r := result.Record{ID: id, Outcome: result.Unscored}
	for i, c := range pattern {
		v := result.RecipeVerdict{Recipe: recipes[i].Name, Passed: c == '+'}
		if c != '?' {
			v.Score = new(map[bool]float64{true: 1}[v.Passed])
		}
		r.Panel = append(r.Panel, v)
	}
	if first := r.Panel[0]; first.Score != nil {
		r.Outcome, r.Score, r.Passed = result.Scored, first.Score, first.Passed
	}
	return r
}

// TestPanel computes the figures of three recipes by hand.
func TestPanel(t *testing.T) {
	s := New(1)
	for id, pattern := range map[string]string{"a": "+++", "b": "+-+", "c": "--+", "d": "---", "e": "?-+", "f": "+-+"} {
		s.Add(judgedBy(id, pattern))
	}
	s.Add(result.Record{ID: "g", Outcome: result.Errored})
	var res result.Result
	res.Identity.Panel = recipes
	s.Fill(&res)
	p := res.Panel
	var passed []int
	for _, r := range p.Recipes {
		passed = append(passed, r.Counts.Passed)
	}
	if diff := cmp.Diff([]int{3, 1, 5}, passed); diff != "" {
		t.Error(diff)
	}
	if got, want := p.Recipes[0].Counts, res.Counts; got != want {
		t.Errorf("the headline has %+v, the result %+v", got, want)
	}
	if p.Recipes[1].Counts != (result.Counts{Total: 7, Passed: 1, Scored: 6, Errors: 1}) || *p.Low != 1.0/7 || *p.High != 5.0/7 || p.Judged != 5 {
		t.Errorf("%+v, %v to %v, %d", p.Recipes[1].Counts, *p.Low, *p.High, p.Judged)
	}
	if pair := p.Pairs[0]; pair.First != "head" || pair.Second != "strict" || pair.N != 5 || *pair.Agreement != 0.6 {
		t.Errorf("%+v", pair)
	}
	// Five answers passed 3, 2, 1, 0 and 2 of 3 verdicts: Po is (1 + 1/3 + 1/3 + 1 + 1/3)/5, and 8 of 15
	// verdicts passed.
	po, pe := 3.0/5, (8*8+7*7)/225.0
	if got, want := *p.Fleiss.Value, (po-pe)/(1-pe); math.Abs(got-want) > 1e-12 {
		t.Errorf("Fleiss' kappa is %v, want %v", got, want)
	}
	var ids []string
	for _, d := range p.Disputed {
		ids = append(ids, d.ID)
	}
	if diff := cmp.Diff([]string{"e", "b", "c", "f"}, ids); diff != "" {
		t.Errorf("disputed, the most evenly split first: %s", diff)
	}
	if got := p.Disputed[1].String(); got != "b: passed by head, mild, failed by strict" {
		t.Error(got)
	}
}

// TestPanelOrder adds records in any order: the figures are the same.
func TestPanelOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		patterns := rapid.SliceOf(rapid.StringMatching(`[+?-]{3}`)).Draw(t, "patterns")
		var records []result.Record
		for i, p := range patterns {
			records = append(records, judgedBy(string(rune('a'+i%26))+string(rune('a'+i/26)), p))
		}
		figures := func(list []result.Record) *result.Panel {
			s := New(1)
			for _, r := range list {
				s.Add(r)
			}
			res := result.Result{}
			res.Identity.Panel = recipes
			s.Fill(&res)
			return res.Panel
		}
		if diff := cmp.Diff(figures(records), figures(rapid.Permutation(records).Draw(t, "order"))); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestUntimed adds records whose latency is not known, also one that a file has made inconsistent.
func TestUntimed(t *testing.T) {
	s := New(1)
	s.Add(result.Record{ID: "a", Outcome: result.Scored, Score: new(1.0), Reply: result.Reply{Untimed: true, FeltMS: new(5.0)}})
	s.Add(result.Record{ID: "b", Outcome: result.Scored, Score: new(1.0), Reply: result.Reply{LatencyMS: 10, FeltMS: new(30.0)}})
	s.Add(result.Record{ID: "c", Outcome: result.Scored, Score: new(1.0), Reply: result.Reply{Untimed: true}})
	var res result.Result
	s.Fill(&res)
	if res.Latency.N != 1 || res.Felt == nil || res.Felt.N != 1 {
		t.Errorf("%+v, %+v", res.Latency, res.Felt)
	}
}

// TestFromCache adds an answer from evalctl's cache, whose times are not the ones of the
// service.
func TestFromCache(t *testing.T) {
	records := []result.Record{
		{ID: "a", Outcome: result.Scored, Score: new(1.0), Reply: result.Reply{LatencyMS: 900, FirstDeltaMS: new(500.0)}},
		{ID: "b", Outcome: result.Scored, Score: new(1.0), Reply: result.Reply{
			LatencyMS: 10, FeltMS: new(20.0), FirstDeltaMS: new(5.0), SearchMS: new(4.0), Actor: &result.ModelUse{Cached: true},
		}},
	}
	s, extra := New(1), NewReplay()
	for _, r := range records {
		s.Add(r)
		extra.Add(r)
	}
	res := result.Result{Replay: &result.Replay{Alone: &result.Alone{Asked: []result.AloneAsked{{ID: "b"}}}}}
	s.Fill(&res)
	extra.Fill(&res)
	if res.Latency.N != 1 || res.FirstDelta.N != 1 || res.Felt != nil || res.Cached != 1 || res.Replay.Strata[0].Latency.N != 1 {
		t.Errorf("%+v, %+v, %+v, %d from the cache, %+v", res.Latency, res.FirstDelta, res.Felt, res.Cached, res.Replay.Strata)
	}
	if ms := res.Replay.Alone.Asked[0].SharedMS; ms == nil || *ms != 4 {
		t.Errorf("the daemon's part took %v", ms)
	}
}

// TestPanelOverClusters: the interval of a recipe allows for clusters and for repeats of a question.
// The first recipe is the headline, so that its interval is the one of the result, errors included.
func TestPanelOverClusters(t *testing.T) {
	var agreements []any
	for _, repeated := range []bool{false, true} {
		s := New(1)
		var res result.Result
		res.Identity.Panel = recipes
		if repeated {
			res.Identity.Dataset.Repeats = 3
		} else {
			res.Settings.ClusterTag = "conv"
		}
		for i, patterns := range []string{"+++ +++ +-+", "--- --+ ---", "+-+ +++ ---", "+-+ --+ +++"} {
			for j, pattern := range strings.Fields(patterns) {
				r := judgedBy(fmt.Sprintf("%d-%d", i, j), pattern)
				r.Tags = []string{fmt.Sprintf("conv:%d", i), "topic:x"}
				if repeated {
					r.ID, r.Repeat = fmt.Sprint(i), j+1
				}
				s.Add(r)
			}
		}
		lost := result.Record{ID: "lost", Outcome: result.Errored, Tags: []string{"conv:1"}}
		if repeated {
			lost.Repeat = 1
		}
		s.Add(lost)
		s.Fill(&res)
		if res.Clustered == nil || res.Clustered.Interval == nil {
			t.Fatal("the result has no clusters")
		}
		if diff := cmp.Diff(res.Clustered.Interval, res.Panel.Recipes[0].Interval); diff != "" {
			t.Errorf("repeated: %v: the headline has another interval than the result: %s", repeated, diff)
		}
		for _, r := range res.Panel.Recipes {
			if r.Interval == nil || r.Interval.Method != result.MethodClustered {
				t.Errorf("repeated: %v: %s: %+v", repeated, r.Recipe, r.Interval)
			}
		}
		agreements = append(agreements, []any{res.Panel.Pairs, res.Panel.Fleiss, res.Panel.AC1})
	}
	if diff := cmp.Diff(agreements[0], agreements[1]); diff != "" {
		t.Errorf("the agreement of the same verdicts in the same clusters (-tagged +repeated):\n%s", diff)
	}
}
