package report

import (
	"testing"

	"evalctl/harness/compare"
	"evalctl/harness/result"
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
			Counts: result.Counts{Total: 50, Passed: passed, Scored: 50}, Interval: &result.Interval{Low: 0.8, High: 0.97}}
	}
	return Comparison{&compare.Comparison{
		Runs: []compare.RunFigures{run(46), run(41)}, Questions: compare.Questions{Compared: 50, Selected: 50},
		Pairs: []compare.Pair{{Run: 1, Table: table, OnlyRunIDs: []string{next()}, OnlyReferenceIDs: []string{next(), next()}}},
		Tests: 1, Adjustment: "holm", Notes: []string{next()},
		Tags: []compare.TagComparison{{Tag: next(), Pairs: []compare.TagPair{{Run: 1, Table: table}}}},
		Differing: []compare.DifferingQuestion{
			{ID: next(), Question: next(), Answers: []compare.Answered{{Passed: 1, Asked: 1, Outcome: result.Scored}, {Asked: 1, Outcome: result.Errored}}},
			{ID: next(), Question: next(), Answers: []compare.Answered{{Passed: 1, Asked: 3, Outcome: result.Scored}, {Asked: 1, Outcome: result.Scored}}},
		},
	}}
}

func TestComparison(t *testing.T) {
	names := []string{"go", "results/go.json", "", "ts", "results/ts.json", "12 of 50 questions (tags fact)", "q-007", "q-003", "q-012",
		"The runs have different daemons.", "temporal", "q-003", "What is in box 3?", "q-007", "What is in box 7?"}
	i := -1
	c := comparisonOf(func() string { i++; return names[i] })
	goldens(t, "comparison", c)
	c.Pairs[0].Margin = &compare.MarginTest{Margin: 0.3, Verdict: result.NotWorse}
	junit, page, commands := rendered(t, c)
	if commands != "" {
		t.Errorf("a run within the margin is an error: %s", commands)
	}
	golden(t, "margin.md", page)
	if suites := checkJUnit(t, junit).children; suites[0].attributes["failures"] != "2" {
		t.Errorf("a run within the margin fails: %s", junit)
	}
}
