package report

import (
	"fmt"
	"strings"
	"testing"

	"evalctl/harness/compare"
	"evalctl/harness/key"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/internal/goldentest"
)

// comparisonOf returns a comparison of two runs whose texts are from next.
func comparisonOf(next func() string) Comparison {
	table := compare.Table{
		N: 50, Both: 40, OnlyRun: 1, OnlyReference: 6, Neither: 3, Difference: new(-0.1), Test: "mcnemar_exact",
		Interval: &result.Interval{Method: "newcombe_paired", Confidence: 0.95, Low: -0.22, High: -0.01},
		P:        new(0.125), Adjusted: new(0.04), Verdict: compare.Worse,
	}
	run := func(passed int) compare.RunFigures {
		return compare.RunFigures{Name: next(), Path: next(), Selection: next(), PassRate: new(float64(passed) / 50),
			Counts: result.Counts{Total: 50, Passed: passed, Scored: 50}, Interval: &result.Interval{Method: result.MethodWilson, Confidence: 0.95, Low: 0.8, High: 0.97}}
	}
	clustered := table
	clustered.Clusters, clustered.Test = 7, "sign_flip_clusters_exact"
	return Comparison{&compare.Comparison{
		Baseline: "go", Primary: []string{"pass_rate"}, OtherTests: 2,
		Runs: []compare.RunFigures{run(46), run(41)}, Questions: compare.Questions{Compared: 50, Selected: 50},
		Pairs: []compare.Pair{{Run: 1, Table: clustered,
			Measures: []compare.MeasureDifference{{Name: "score", N: 49, RunMean: 0.8, ReferenceMean: 0.9, Difference: -0.1, Test: "sign_flip_clusters_exact",
				Interval: &result.Interval{Confidence: 0.975, Low: -0.2, High: 0.01}, P: 0.1, Adjusted: 0.2, Verdict: compare.NotSeen}},
			Latencies: []compare.LatencyRatio{{Name: "first_token", N: 49, ReferenceRuns: 3, RunRuns: 4, ReferenceP50: 310, RunP50: 520, Ratio: 1.7,
				Interval: &result.Interval{Confidence: 0.975, Low: 1.5, High: 1.9}, Adjusted: new(0.0001), Verdict: compare.Worse}},
			Power:      &compare.Power{Power: 0.8, Disagreement: 0.14, Detectable: new(0.142), Confirm: new(0.1), Needed: new(114)},
			OnlyRunIDs: []string{next()}, OnlyReferenceIDs: []string{next(), next()}}},
		Keys: []key.Agreement{{Name: "judge_prompt", Values: []string{next(), next()}, State: key.Differs, Matters: true, Accepted: true},
			{Name: "daemon", Values: []string{next(), ""}, State: key.Differs, Note: next()}, {Name: "top_k", Values: []string{"5", "5"}, State: key.Same}},
		Tests: 1, ClusterTag: next(), Resamples: 10_000, Adjustment: "holm", Notes: []string{next()},
		Tags: []compare.TagComparison{{Tag: next(), Pairs: []compare.TagPair{{Run: 1, Table: clustered}}}},
		Differing: []compare.DifferingQuestion{
			{ID: next(), Question: next(), Answers: []compare.QuestionOutcome{{Passed: 1, Asked: 1, Outcome: result.Scored}, {Asked: 1, Outcome: result.Errored}}},
			{ID: next(), Question: next(), Answers: []compare.QuestionOutcome{{Passed: 1, Asked: 3, Outcome: result.Scored}, {Asked: 1, Outcome: result.Scored}}},
		},
	}}
}

func TestComparison(t *testing.T) {
	n := 0
	c := comparisonOf(func() string { n++; return fmt.Sprintf("text %d", n) })
	c.Runs[0].Name, c.Runs[1].Name, c.Runs[0].Selection, c.ClusterTag = "go", "ts", "", "conversation"
	goldens(t, "comparison", c)
	c.Pairs[0].Verdict, c.Pairs[0].Margin = compare.NotSeen, &compare.MarginTest{Margin: 0.3, Verdict: result.NotWorse}
	junit, page, commands := rendered(t, c)
	if commands != "" {
		t.Errorf("a run within the margin is an error: %s", commands)
	}
	goldentest.Compare(t, "testdata/margin.md", page)
	c.Pairs[0].Test, c.Pairs[0].Measures[0].Test = "sign_flip_clusters", "sign_flip_clusters"
	c.Pairs[0].Clusters = 15
	c.Pairs = append(c.Pairs, compare.Pair{Run: 1, Table: compare.Table{Test: "sign_flip_clusters_exact"}})
	_, page, _ = rendered(t, c)
	for _, want := range []string{"sign flips of 0 to 15 clusters by `conversation`, 10000 resamples, seed 0 (p by all signs if few clusters differ)"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing in\n%s", want, page)
		}
	}
	if suites := checkJUnit(t, junit).children; suites[0].attributes["failures"] != "2" {
		t.Errorf("a run within the margin fails: %s", junit)
	}
}

// TestLeakingComparison: a run that fails only by a forbidden text is not called worse.
func TestLeakingComparison(t *testing.T) {
	c := comparisonOf(func() string { return "go" })
	p := &c.Pairs[0]
	p.LeakedIDs = []string{"q001"}
	for v, want := range map[compare.Verdict]string{
		compare.Worse:   "Worse: 1 of 1 pair. Forbidden texts came back that did not before: 1",
		compare.NotSeen: "Forbidden texts came back that did not before: 1 of 1 pair",
		compare.Better:  "Forbidden texts came back that did not before: 1 of 1 pair",
	} {
		p.Verdict = v
		if got := c.verdict(); got.Headline.String() != want || got.Tone != form.Bad || (got.Word == "Worse") != (v == compare.Worse) {
			t.Errorf("%s: %q, %q", v, got.Word, got.Headline)
		}
	}
	p.Verdict, p.LeakedIDs = compare.Better, nil
	if got := c.verdict(); got.Tone == form.Bad {
		t.Errorf("better, and no leak: %q", got.Headline)
	}
}

// TestCommandOfComparison has the flags that make it the same comparison.
func TestCommandOfComparison(t *testing.T) {
	c := comparisonOf(func() string { return "-text" })
	c.Keys, c.Runs[0].Path, c.Runs[1].Path = nil, "a.json", "b.json"
	c.Options = compare.Options{Baseline: "go", Margin: new(0.03), Tag: "-text", ClusterTag: result.NoClusters, Primary: []string{"pass_rate", "score"}}
	want := "evalctl compare a.json b.json --baseline=a.json --margin=0.03 --tag=-text --cluster=none --primary=pass_rate,score --format json"
	if got := c.command("--format", "json"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := c.next(), "evalctl compare --question=-text a.json b.json"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c.Baseline, c.Options = "", compare.Options{}
	if got, want := c.command(), "evalctl compare a.json b.json"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestForestScale: the scale has room for the margin and for a difference without interval.
func TestForestScale(t *testing.T) {
	c := comparisonOf(func() string { return "text" })
	p := &c.Pairs[0]
	p.Interval.Low, p.Interval.High, p.Margin = -0.03, 0.03, &compare.MarginTest{Margin: 0.3, Verdict: result.NotWorse}
	p.Measures[0].Difference, p.Measures[0].Interval = 0.2, nil
	s := form.Section{}
	c.forest(&s)
	c.means(&s)
	for i, want := range []string{">-30.0<", ">-0.20<"} {
		plot := s.Blocks[i].Content
		if fold, ok := plot.(form.Fold); ok {
			plot = fold.Content
		}
		if axis := plot.(form.Plot).Axis(); !strings.Contains(string(axis), want) {
			t.Errorf("no %s on the axis %s", want, axis)
		}
	}
}

// TestClusterFlips checks that the legend is true of every pair.
func TestClusterFlips(t *testing.T) {
	pair := func(clusters int, test string) compare.Pair {
		return compare.Pair{Table: compare.Table{Clusters: clusters, Test: test}}
	}
	ties, exactly := pair(25, "sign_flip_clusters_exact"), " (p by all signs if few clusters differ)"
	few, many := pair(12, "sign_flip_clusters_exact"), pair(15, "sign_flip_clusters")
	for want, pairs := range map[string][]compare.Pair{
		"sign flips of 12 clusters by c":                                          {few, few},
		"sign flips of 15 clusters by c, 10000 resamples, seed 1":                 {many},
		"sign flips of 12 to 15 clusters by c, 10000 resamples, seed 1" + exactly: {many, few},
		"sign flips of 25 clusters by c, 10000 resamples, seed 1" + exactly:       {ties},
	} {
		c := Comparison{&compare.Comparison{ClusterTag: "c", Resamples: 10_000, Seed: 1, Pairs: pairs}}
		if got := c.clusterFlips().String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestComparisonWithoutBaseline checks that a run is called worse than another, and that none
// fails.
func TestComparisonWithoutBaseline(t *testing.T) {
	c := comparisonOf(func() string { return "text" })
	c.Baseline = ""
	junit, page, commands := rendered(t, c)
	if commands != "" || !strings.Contains(page, "text vs text: worse, ") || !strings.HasPrefix(page, "## Difference of the pass rate shown in 1 of 1 pair of runs. `Accepted, ") {
		t.Errorf("got %s\n%s", commands, page)
	}
	if a := checkJUnit(t, junit).children[0].attributes; a["failures"] != "0" || a["tests"] != "4" {
		t.Errorf("got %v", a)
	}
	c.Pairs[0].Verdict = compare.NotSeen
	if _, page, _ := rendered(t, c); !strings.HasPrefix(page, "## No difference of the pass rate shown in 1 pair of runs. `Accepted, ") {
		t.Errorf("got %s", page)
	}
}
