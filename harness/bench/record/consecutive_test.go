package record

import (
	"math"
	"math/rand/v2"
	"testing"

	"evalctl/internal/stats"
)

// TestReachOf has series whose order says how exact their mean is, or that nothing says it.
func TestReachOf(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 15))
	drawn := make([]float64, 40)
	for i := range drawn {
		drawn[i] = random.NormFloat64()
	}
	rising, halves := make([]float64, 40), make([]float64, 40)
	for i := range rising {
		rising[i] = float64(i) + drawn[i]
		if halves[i] = drawn[i]; i >= 20 {
			halves[i] += 3
		}
	}
	for _, tt := range []struct {
		name   string
		values []float64
		ok     bool
	}{
		{"none", nil, false},
		{"one", []float64{3}, false},
		{"two", []float64{3, 4}, false},
		{"the same", []float64{3, 3, 3, 3, 3}, true},
		{"independent", drawn, true},
		{"five independent", drawn[:5], true},
		{"rising", rising, false},
		{"slower in the second half", halves, false},
	} {
		reach, ok := reachOf(tt.values, inflation(tt.values, 0))
		if ok != tt.ok {
			t.Errorf("%s: %v, want %v", tt.name, ok, tt.ok)
		}
		if !ok {
			continue
		}
		if reach < 0 || reach > 3 || (reach == 0) != (tt.name == "the same") {
			t.Errorf("%s: the mean is known to %g", tt.name, reach)
		}
	}
}

// TestReachOfNoisyValues has a correlation that noise hides from an autoregression: by it alone, the
// interval of the mean misses in one of five.
func TestReachOfNoisyValues(t *testing.T) {
	const runs = 1000
	missed := 0
	for seed := range uint64(runs) {
		random := rand.New(rand.NewPCG(seed, 17))
		values, x := make([]float64, 40), random.NormFloat64()
		for i := range values {
			values[i] = x + random.NormFloat64()
			x = 0.8*x + 0.6*random.NormFloat64()
		}
		if reach, ok := reachOf(values, inflation(values, 0)); ok && math.Abs(stats.Mean(values)) > reach {
			missed++
		}
	}
	if missed > runs/8 {
		t.Errorf("%d of %d intervals miss, want at most one in eight", missed, runs)
	}
}
