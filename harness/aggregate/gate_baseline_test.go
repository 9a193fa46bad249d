package aggregate_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/stats"
)

func newBaseline(margin float64) *aggregate.Baseline {
	return &aggregate.Baseline{
		Path: "base.json", SDK: "go", Margin: margin, Passed: map[string]bool{}, Unscored: map[string]bool{},
	}
}

func outcome(id string, line int, passed bool) result.Record {
	r := result.Record{ID: id, Line: line, Outcome: result.Scored, Score: new(0.0), Passed: passed}
	if passed {
		*r.Score = 1
	}
	return r
}

// compared returns the verdict on a run with these numbers of pairs.
func compared(margin float64, p stats.Pairs) result.Gate {
	base, sum := newBaseline(margin), aggregate.New(5)
	sum.Compare(base)
	line := 0
	add := func(n int, run, before bool) {
		for range n {
			line++
			base.Add(outcome(fmt.Sprint("q", line), line, before))
			sum.Add(outcome(fmt.Sprint("q", line), line, run))
		}
	}
	add(p.Both, true, true)
	add(p.First, true, false)
	add(p.Second, false, true)
	add(p.Neither, false, false)
	res := result.Result{Planned: line}
	sum.Fill(&res)
	sum.Judge(&res)
	return *res.Gate
}

// TestBaselineClusters: as many questions broke about one conversation as were fixed about another.
// Independent questions would show that the run is not worse, twelve conversations do not. Those on
// which both agree show it also in conversations.
func TestBaselineClusters(t *testing.T) {
	for _, c := range []struct {
		tag     string
		changed int // questions in each of two conversations
		want    result.BaselineVerdict
	}{
		{"", 8, result.NotWorse},
		{result.NoClusters, 8, result.NotWorse},
		{"conversation", 8, result.Unknown},
		{"conversation", 0, result.NotWorse},
	} {
		base := newBaseline(0.05)
		var records []result.Record
		for i := range 240 {
			talk, n := i/20, i%20
			r := outcome(fmt.Sprint("q", i), i, talk != 0 || n >= c.changed)
			before := outcome(r.ID, i, talk != 1 || n >= c.changed)
			r.Tags = []string{fmt.Sprint("conversation:", talk)}
			base.Add(before)
			records = append(records, r)
		}
		judged := func(order func([]result.Record)) *result.BaselineGate {
			order(records)
			sum := aggregate.New(5)
			sum.Compare(base)
			for _, r := range records {
				sum.Add(r)
			}
			res := result.Result{Planned: len(records), Settings: result.Settings{ClusterTag: c.tag}}
			sum.Fill(&res)
			sum.Judge(&res)
			again := aggregate.New(5)
			for _, r := range records {
				again.Add(r)
			}
			given := res
			again.Fill(&given)
			again.JudgeGiven(&given, res.Gate.Baseline)
			if diff := cmp.Diff(res.Gate.Baseline, given.Gate.Baseline); diff != "" {
				t.Errorf("%+v: without the baseline: %s", c, diff)
			}
			return res.Gate.Baseline
		}
		b := judged(func([]result.Record) {})
		if reversed := judged(slices.Reverse[[]result.Record]); cmp.Diff(b, reversed) != "" {
			t.Errorf("%+v: in the reverse order: %s", c, cmp.Diff(b, reversed))
		}
		if clustered := c.tag == "conversation"; b.Verdict != c.want || clustered != (b.Clusters != nil && b.Clusters.Clusters == 12) ||
			clustered != strings.Contains(wording.Baseline(b), "240 pairs in 12 clusters by conversation") || (*b.MarginP <= 0.025) != (b.Verdict == result.NotWorse) {
			t.Errorf("%+v: %s: %s", c, b.Verdict, wording.Baseline(b))
		}
	}
}

func TestBaselineVerdicts(t *testing.T) {
	for _, c := range []struct {
		pairs    stats.Pairs
		margin   float64
		want     result.BaselineVerdict
		sentence string
	}{
		// The interval of (36,12,2,0) is .0569 to .3404 (Newcombe 1998).
		{stats.Pairs{Both: 36, First: 12, Second: 2}, 0, result.NotWorse,
			"not worse than the baseline by 0 points: +20.0 points, 95% CI +5.7 to +34.0 (paired Newcombe), over 50 pairs"},
		{stats.Pairs{Both: 36, First: 2, Second: 12}, 0.05, result.Worse,
			"worse than the baseline by more than 5 points: -20.0 points, 95% CI -34.0 to -5.7 (paired Newcombe), over 50 pairs"},
		{stats.Pairs{Both: 36, First: 2, Second: 12}, 0.3, result.Unknown,
			"not shown to be not worse than the baseline by 30 points: -20.0 points, 95% CI -34.0 to -5.7 (paired Newcombe), over 50 pairs; with 85 questions of the same shares it could be"},
		{stats.Pairs{Both: 36, First: 2, Second: 12}, 0.1, result.Unknown,
			"not shown to be not worse than the baseline by 10 points: -20.0 points, 95% CI -34.0 to -5.7 (paired Newcombe), over 50 pairs; more questions of the same shares would not show it"},
		{stats.Pairs{Both: 46, Neither: 4}, 0.03, result.Unknown,
			"not shown to be not worse than the baseline by 3 points: +0.0 points, 95% CI -7.1 to +7.1 (paired Newcombe), over 50 pairs; with 123 questions of the same shares it could be"},
		{stats.Pairs{Both: 460, Neither: 40}, 0.03, result.NotWorse, ""},
		{stats.Pairs{}, 0.5, result.Unknown, "not shown to be not worse than the baseline: no question has a verdict in both (0 unpaired)"},
	} {
		g := compared(c.margin, c.pairs)
		if c.pairs.N() == 0 {
			continue // TestUnpaired
		}
		b := g.Baseline
		if b.Verdict != c.want || !strings.HasSuffix(g.Sentence, "; "+c.sentence) && c.sentence != "" {
			t.Errorf("%+v, margin %v: %s\n%s\n%s", c.pairs, c.margin, b.Verdict, g.Sentence, c.sentence)
		}
		want := result.Fail
		if c.want == result.NotWorse {
			want = result.Pass
		}
		if g.Verdict != want || (g.Reason == result.ReasonBaseline) != (want == result.Fail) {
			t.Errorf("%+v, margin %v: the run is %s by %s", c.pairs, c.margin, g.Verdict, g.Reason)
		}
		if p := stats.McNemarExact(c.pairs.First, c.pairs.Second); b.P != p || len(b.Broke) != c.pairs.Second || len(b.Fixed) != c.pairs.First {
			t.Errorf("%+v: p %v, broke %v, fixed %v", c.pairs, b.P, b.Broke, b.Fixed)
		}
	}
}

// TestUnpaired checks which questions are left out of a comparison: those without a verdict of the
// scorer, and those in one result only. An error counts as not passed.
func TestUnpaired(t *testing.T) {
	base, sum := newBaseline(0.03), aggregate.New(5)
	sum.Compare(base)
	unscored := func(id string) result.Record { return result.Record{ID: id, Outcome: result.Unscored} }
	failed := func(id string) result.Record { return result.Record{ID: id, Outcome: result.Errored} }
	noGold := func(id string) result.Record { return result.Record{ID: id, Outcome: result.NoGold} }
	for _, r := range []result.Record{
		outcome("both", 1, true), outcome("broke by error", 9, true), failed("fixed"), unscored("unscored before"),
		outcome("unscored now", 5, true), outcome("before only", 6, true), unscored("unscored twice"), noGold("no gold"),
		outcome("broke", 3, true), unscored("unscored and before only"),
	} {
		base.Add(r)
	}
	for _, r := range []result.Record{
		noGold("no gold"), outcome("broke", 3, false), failed("broke by error"), outcome("fixed", 2, true), outcome("unscored before", 4, true),
		unscored("unscored now"), unscored("unscored twice"), outcome("both", 1, true), outcome("now only", 8, true),
	} {
		sum.Add(r)
	}
	res := result.Result{Settings: result.Settings{MaxErrors: allowance(t, "100%"), MaxUnscored: allowance(t, "100%")}}
	sum.Fill(&res)
	sum.Judge(&res)
	b := res.Gate.Baseline
	b.Interval, b.Difference, b.MarginP = nil, nil, nil
	want := &result.BaselineGate{
		Path: "base.json", SDK: "go", Differs: []string{}, Margin: 0.03, Both: 1, OnlyRun: 1, OnlyBaseline: 2, Unpaired: 6, Unscored: 3,
		P: 1, Verdict: result.Unknown, Broke: []string{"broke by error", "broke"}, Fixed: []string{"fixed"}, Settles: b.Settles,
	}
	if diff := cmp.Diff(want, b); diff != "" {
		t.Error(diff)
	}

	nothing := aggregate.New(5)
	nothing.Compare(base)
	nothing.Add(outcome("another", 1, true))
	res = result.Result{}
	nothing.Fill(&res)
	nothing.Judge(&res)
	if g := res.Gate; g.Verdict != result.Fail || !strings.HasSuffix(g.Sentence, "no question has a verdict in both (10 unpaired)") || g.Baseline.Difference != nil {
		t.Errorf("got %+v, %+v", g, g.Baseline)
	}
}

// TestBaselineProperties checks that a wider margin never makes a verdict worse, that the order of
// the records does not matter, and that Settles does what it says.
func TestBaselineProperties(t *testing.T) {
	order := map[result.BaselineVerdict]int{result.Worse: 0, result.Unknown: 1, result.NotWorse: 2}
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.IntRange(0, 20)
		p := stats.Pairs{Both: small.Draw(t, "both"), First: small.Draw(t, "first"), Second: small.Draw(t, "second"), Neither: small.Draw(t, "neither")}
		if p.N() == 0 {
			return
		}
		margins := rapid.SliceOfN(rapid.Float64Range(0, 1), 2, 2).Draw(t, "margins")
		slices.Sort(margins)
		a, b := compared(margins[0], p).Baseline, compared(margins[1], p).Baseline
		if order[a.Verdict] > order[b.Verdict] {
			t.Errorf("%+v: %s with margin %v and %s with %v", p, a.Verdict, margins[0], b.Verdict, margins[1])
		}
		if (a.Verdict == result.NotWorse) != (*a.MarginP <= 0.025) || (a.Interval.Low > -margins[0]) != (a.Verdict == result.NotWorse) {
			t.Errorf("%+v, margin %v: %s with p %v and %+v", p, margins[0], a.Verdict, *a.MarginP, a.Interval)
		}
		if a.Unpaired != 0 || a.Pairs() != p.N() || math.Abs(*a.Difference-p.Difference()) > 1e-12 {
			t.Errorf("%+v: %+v", p, a)
		}
		if n := a.Settles; n != nil && *n < 1000 {
			if g := compared(margins[0], p.Scaled(*n)); g.Baseline.Verdict != result.NotWorse {
				t.Errorf("%d like %+v are %s", *n, p, g.Baseline.Verdict)
			}
			if fewer := *n - 1; fewer > p.N() && compared(margins[0], p.Scaled(fewer)).Baseline.Verdict == result.NotWorse {
				t.Errorf("%d like %+v are enough, and not only %d", fewer, p, *n)
			}
		}
	})
}

// TestSettledBefore: a result of an earlier version, which names the least whole multiple of its
// pairs, is as it says.
func TestSettledBefore(t *testing.T) {
	res := &result.Result{Settings: result.Settings{}}
	for given, want := range map[int]int{150: 150, 123: 123, 200: 123, 149: 123} {
		base := &result.BaselineGate{Margin: 0.03, Both: 46, Neither: 4, Settles: new(given)}
		s := aggregate.New(5)
		s.Add(result.Record{Outcome: result.Scored, Passed: true})
		s.Fill(res)
		s.JudgeGiven(res, base)
		if got := *res.Gate.Baseline.Settles; got != want {
			t.Errorf("%d is %d, want %d", given, got, want)
		}
	}
}
