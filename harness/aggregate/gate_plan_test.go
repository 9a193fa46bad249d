package aggregate_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/internal/stats"
)

func TestOperate(t *testing.T) {
	o := aggregate.PlanFloor(50, 0.9, result.FloorPoint)
	if o.Required != 45 || *o.Proves != 49 || *o.Refutes != 40 {
		t.Errorf("got %+v", o)
	}
	// statistics.md B.1.
	want := map[float64]float64{0.85: .2194, 0.88: .4353, 0.9: .6161, 0.92: .7919, 0.95: .9622}
	for _, p := range o.Passes {
		if w, ok := want[p.Rate]; ok {
			delete(want, p.Rate)
			if math.Abs(p.Passes-w) > 5.1e-5 {
				t.Errorf("a true rate of %v passes with %v, want %v", p.Rate, p.Passes, w)
			}
		}
	}
	if len(want) > 0 || o.Passes[len(o.Passes)-1].Rate != 1 {
		t.Errorf("got %+v, without %v", o.Passes, want)
	}
	if o := aggregate.PlanFloor(3, 0.9, result.FloorProven); o.Required != 4 || o.Proves != nil || o.Passes[0].Passes != 0 {
		t.Errorf("got %+v", o)
	}
	if o := aggregate.PlanFloor(3, 0, result.FloorPoint); o.Refutes != nil || len(o.Passes) != 4 {
		t.Errorf("got %+v", o)
	}
}

// TestOperateEnumerates compares the probabilities with the verdicts on all outcomes.
func TestOperateEnumerates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		floor := float64(rapid.IntRange(0, 100).Draw(t, "percent")) / 100
		mode := rapid.SampledFrom([]result.FloorMode{result.FloorPoint, result.FloorProven, result.FloorNotRefuted}).Draw(t, "mode")
		passes := make([]bool, n+1)
		for k := range passes {
			passes[k] = judgedBy(k, n, result.Settings{Floor: floor, FloorMode: mode}, nil).Verdict == result.Pass
		}
		for _, p := range aggregate.PlanFloor(n, floor, mode).Passes {
			sum, ways := 0.0, 1.0
			for k := range n + 1 {
				if passes[k] {
					sum += ways * math.Pow(p.Rate, float64(k)) * math.Pow(1-p.Rate, float64(n-k))
				}
				ways = ways * float64(n-k) / float64(k+1)
			}
			if math.Abs(sum-p.Passes) > 1e-9 {
				t.Errorf("%d questions, floor %v, %s: a rate of %v passes with %v, want %v", n, floor, mode, p.Rate, p.Passes, sum)
			}
		}
	})
}

func TestSeparates(t *testing.T) {
	for _, floor := range []float64{0.5, 0.9, 0.97, 1} {
		n, worse, better, ok := aggregate.Separates(floor, result.FloorPoint)
		if !ok || !(worse.Passes < 0.05 && better.Passes > 0.8) || worse.Rate >= floor || better.Rate < floor {
			t.Fatalf("%v: got %d, %+v, %+v, %v", floor, n, worse, better, ok)
		}
		if smaller := aggregate.PlanFloor(max(1, n-1), floor, result.FloorPoint); n > 1 {
			low, high := stats.AtLeast(smaller.Required, n-1, worse.Rate), stats.AtLeast(smaller.Required, n-1, better.Rate)
			if low < 0.05 && high > 0.8 {
				t.Errorf("%v: %d questions separate as well", floor, n-1)
			}
		}
	}
	if _, _, _, ok := aggregate.Separates(0, result.FloorPoint); ok {
		t.Error("a floor of 0 separates")
	}
}
