package compare

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"evalctl/internal/sharedtest"
)

// TestPublishedRuns compares four published runs of LoCoMo with results that were computed
// independently.
func TestPublishedRuns(t *testing.T) {
	dir := sharedtest.Path(t, "published-runs")
	text := sharedtest.Read(t, "published-runs/pairs.json")
	var pairs []struct {
		A       string     `json:"a"`
		B       string     `json:"b"`
		N       int        `json:"n"`
		Both    int        `json:"both"`
		OnlyA   int        `json:"only_a"`
		OnlyB   int        `json:"only_b"`
		Neither int        `json:"neither"`
		RateA   float64    `json:"rate_a"`
		RateB   float64    `json:"rate_b"`
		Diff    float64    `json:"diff_b_minus_a"`
		P       float64    `json:"mcnemar_exact_p"`
		Wald    [2]float64 `json:"paired_wald95"`
	}
	if err := json.Unmarshal(text, &pairs); err != nil {
		t.Fatal(err)
	}
	if len(pairs) != 6 {
		t.Fatalf("%d pairs, want 6", len(pairs))
	}
	open := func(name string) *Run {
		run, err := Open(filepath.Join(dir, name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	near := func(got *float64, want, tolerance float64) bool {
		return got != nil && math.Abs(*got-want) <= tolerance
	}
	for _, want := range pairs {
		c := mustCompare(t, Options{Baseline: want.A, Accept: ofLines}, open(want.A), open(want.B))
		p := c.Pairs[0]
		if p.N != want.N || p.Both != want.Both || p.OnlyRun != want.OnlyB || p.OnlyReference != want.OnlyA || p.Neither != want.Neither {
			t.Errorf("%s and %s: %+v, want %+v", want.A, want.B, p.Table, want)
		}
		if !near(p.ReferenceRate, want.RateA, 5e-7) || !near(p.RunRate, want.RateB, 5e-7) || !near(p.Difference, want.Diff, 5e-7) {
			t.Errorf("%s and %s: rates %v, %v", want.A, want.B, *p.ReferenceRate, *p.RunRate)
		}
		if !near(p.P, want.P, 1e-9*want.P) {
			t.Errorf("%s and %s: p %v, want %v", want.A, want.B, *p.P, want.P)
		}
		const z = 1.959963984540054
		if !near(p.SE, (want.Wald[1]-want.Wald[0])/(2*z), 1e-6) {
			t.Errorf("%s and %s: SE %v, want the interval %v", want.A, want.B, *p.SE, want.Wald)
		}
	}
}
