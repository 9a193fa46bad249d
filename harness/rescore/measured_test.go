package rescore_test

import (
	"strings"
	"testing"
	"time"

	"evalctl/harness/compare"
	"evalctl/harness/history"
	"evalctl/harness/journal"
	"evalctl/harness/judging"
	"evalctl/harness/plan"
	"evalctl/harness/rescore"
	"evalctl/harness/result"
	"evalctl/harness/resulttest"
	"evalctl/internal/llm"
)

var began = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// answered returns a result with answers to so many of six questions.
func answered(n int) *resulttest.File {
	f := resulttest.New("go", began, "++--+-")
	for i := range f.Questions {
		q := &f.Questions[i]
		q.Reference, q.Answer, q.Attempts = "it is so", "it is so", 1
		if i >= n {
			q.Outcome, q.Passed, q.Score, q.Attempts = result.NotMeasurable, false, nil, 0
		}
	}
	f.Fill()
	return f
}

// planned returns a rescoring of a result by a judge, and its journal.
func planned(t *testing.T, path, model string) (*rescore.Rescoring, *journal.Journal) {
	t.Helper()
	r, err := rescore.Plan(rescore.Spec{
		File: path, Scorer: kindOf(t, "judge"), Env: func(name string) string { return map[string]string{"OPENAI_API_KEY": "k"}[name] },
		Models: plan.Models{Judge: model, Money: plan.Money{Prices: llm.DefaultPrices()}},
		Tool:   result.ToolID{Version: "v", OS: "linux", Arch: "amd64", Go: "go", CPUs: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	j, err := r.Journal(false)
	if err != nil {
		t.Fatal(err)
	}
	return r, j
}

// TestLeft: questions without an answer are no part of the forecast.
func TestLeft(t *testing.T) {
	cost := func(n int) judging.Forecast {
		r, j := planned(t, answered(n).Save(t, t.TempDir(), "go.json"), "openai/gpt-4o-mini")
		defer j.Close()
		left, err := r.Left(j)
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	if three, six := cost(3), cost(6); three.Worst == 0 || three.Worst.Plus(three.Worst) != six.Worst {
		t.Errorf("%+v for 3 answers, %+v for 6", three, six)
	}
}

// TestMeasuredAt: the answers of a rescored result, and of one scored again after that, are as old
// as the run.
func TestMeasuredAt(t *testing.T) {
	root := t.TempDir()
	path := answered(6).Save(t, root, "2026-03-01", "go.json")
	runs := []*compare.Run{open(t, path)}
	for range 2 {
		r, j := planned(t, path, "fake")
		res, out, err := r.Run(t.Context(), result.Settings{Concurrency: 2}, nil, nil, j)
		if err != nil || !res.MeasuredAt().Equal(began) || res.StartedAt.Equal(began) {
			t.Fatalf("began at %v, measured at %v, %v", res.StartedAt, res.MeasuredAt(), err)
		}
		runs, path = append(runs, open(t, out)), out
	}
	folder, err := history.Read(root, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if newest := folder.Entries[0].Path; !strings.Contains(newest, "go.rescored.rescored") {
		t.Errorf("%s is the newest, and %s was scored last", newest, path)
	}
	for _, e := range folder.Entries {
		if e.Date() != "2026-03-01" {
			t.Errorf("%s is of %s", e.Path, e.Date())
		}
	}
	other := resulttest.New("go", began.Add(time.Hour), "++--+-").Save(t, root, "other.json")
	sides := []*compare.Run{compare.Side("a", runs[1:]), compare.Side("b", []*compare.Run{open(t, other)})}
	if _, err := compare.Compare(sides, compare.Options{Resamples: 1}); err == nil {
		t.Error("two scorings of one run are taken for two runs")
	}
}

func open(t *testing.T, path string) *compare.Run {
	t.Helper()
	run, err := compare.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return run
}
