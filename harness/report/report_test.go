package report

import (
	"strings"
	"testing"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/internal/goldentest"
)

// goldens compares a document in each format.
func goldens(t *testing.T, name string, d Document) {
	t.Helper()
	junit, page, commands := rendered(t, d)
	goldentest.Compare(t, "testdata/"+name+".xml", junit)
	goldentest.Compare(t, "testdata/"+name+".md", page)
	goldentest.Compare(t, "testdata/"+name+".txt", commands)
	goldentest.Compare(t, "testdata/"+name+".terminal", printed(d))
	checkJUnit(t, junit)
}

func TestRun(t *testing.T) {
	run := runOf(32)
	run.Result.Identity.Dataset.Selection = &result.Selection{Tags: tags, Total: 50}
	run.Result.Gate.Tags = []result.TagGate{
		{Tag: "fact", Floor: 0.9, Required: 10, Passed: 9, Total: 11}, {Tag: "none", Floor: 0.5}, {Tag: "update", Floor: 0.5, Required: 6, Passed: 9, Total: 11, Met: true},
	}
	run.Result.Gate.Baseline = &result.BaselineGate{
		Path: "results/main.json", Margin: 0.03, Both: 20, OnlyRun: 1, OnlyBaseline: 3, Neither: 6, Unpaired: 2, Difference: new(-2.0 / 30), MarginP: new(0.71), Differs: []string{"daemon.version"},
		Interval: &result.Interval{Method: "newcombe_paired", Confidence: 0.95, Low: -0.2, High: 0.07}, P: 0.625,
		Verdict: result.Unknown, Broke: []string{"q-006", "q-013", "q-020"}, Fixed: []string{"q-001"},
	}
	run.Result.Retrieval = &result.Retrieval{Ks: []int{1, 3, 5}, Questions: 31,
		Depth:     &result.Depth{Chunks: result.Spread{Min: 3, Median: 5, Max: 5}, Documents: result.Spread{Min: 1, Median: 2.5, Max: 5}},
		Macro:     result.Metrics{"recall@5": 0.9, "any@5": 1, "all@5": 0.8, "mrr": 0.7, "ndcg@5": 0.85},
		Intervals: map[string]result.Interval{"recall@5": {Method: "cluster_bootstrap", Confidence: 0.95, Low: 0.8, High: 1}},
		Basis:     &result.IntervalBasis{Cluster: "brain", Units: 7, Resamples: 10_000, Seed: 1},
		Warnings:  []result.Warning{{Message: "top-k is as large as the brain"}}}
	felt := aggregate.Quantiles([]float64{800, 805, 810, 815, 820, 4825, 830})
	run.Result.Felt = &felt
	goldens(t, "run", run)
}

// TestStoppedArms renders a replay with an arm that was stopped and one without a result.
func TestStoppedArms(t *testing.T) {
	run := runOf(12)
	run.Result.Planned, run.Result.Stopped = 15, result.StopDaemon
	run.fill()
	goldens(t, "arms", Arms{
		{Name: "go", Run: run, Problem: "the daemon died: exit status 1"}, {Name: "py", Problem: "no such file"}, {Name: "ts", Run: runOf(5)},
	})
}

func TestRepeats(t *testing.T) {
	run := runOf(3)
	for i := range run.Questions {
		r := &run.Questions[i]
		r.ID, r.Repeat = "q-000", i+1
	}
	run.Questions[1].Passed, run.Questions[1].Score = false, new(0.0)
	run.fill()
	run.Result.Identity.Dataset.Repeats = 3
	run.Result.Repeats = &result.Repeats{K: 3, Questions: 1, Flaky: []result.FlakyQuestion{{ID: "q-000", Passed: 2, Asked: 3}},
		At: []result.RepeatsAt{{K: 1, PassAt: 0.667, PassHat: 0.667}, {K: 2, PassAt: 1, PassHat: 0.333}, {K: 3, PassAt: 1}}}
	run.Result.Clustered = &result.ClusteredRate{Clusters: 20, Interval: &result.Interval{Method: "clustered_t", Confidence: 0.95, Low: 0.1, High: 0.9}}
	goldens(t, "repeats", run)
}

// TestStoppedRunThatFailed checks that the rate of the first questions is not shown as a score.
func TestStoppedRunThatFailed(t *testing.T) {
	run := runOf(10)
	run.Questions, run.Result.Stopped = run.Questions[:4], result.StopMaxFailures
	for i := range run.Questions {
		run.Questions[i].Passed = i == 0
	}
	run.fill()
	if run.Result.Gate.Verdict != result.Fail {
		t.Fatalf("the verdict is %s", run.Result.Gate.Verdict)
	}
	var b strings.Builder
	if err := Markdown(&b, run, MaxSummary); err != nil {
		t.Fatal(err)
	}
	if want := "## Fail: `go` was stopped after 4 of 10 questions, 1 of them passed, floor 0.8\n"; !strings.HasPrefix(b.String(), want) {
		t.Errorf("%.200s, want %s", b.String(), want)
	}
	if strings.Contains(b.String(), "0.250") {
		t.Errorf("the rate of a part is shown:\n%s", b.String())
	}
}

// TestTrivial checks that what makes a replay trivial is among the first lines.
func TestTrivial(t *testing.T) {
	run := runOf(4)
	run.Result.Identity.Scenario = result.NoMemory
	run.Result.Replay = &result.Replay{
		Trivial:  []result.Warning{{Kind: result.AllGold, Message: "every <b>document</b> is gold for 4 of 4 questions", Count: 4}},
		Verdicts: map[result.JudgeVerdict]int{result.AbstainCorrect: 1},
	}
	_, page, _ := rendered(t, run)
	for name, text := range map[string]string{"terminal": printed(run), "markdown": page} {
		head := strings.Join(strings.SplitN(text, "\n", 9)[:8], "\n")
		for _, want := range []string{"document", "is gold for 4 of 4 questions", "4 questions were passed without a memory, 1 of them because declining is right"} {
			if !strings.Contains(strings.ReplaceAll(head, "\n            ", " "), want) {
				t.Errorf("%s lacks %q:\n%s", name, want, head)
			}
		}
	}
}
