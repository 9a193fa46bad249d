package record

import (
	"math/rand/v2"
	"testing"
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
