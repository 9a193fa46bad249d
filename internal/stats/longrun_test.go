package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The long-run variance of an autoregression is (1+r)/(1-r) times that of its values.
func TestLongRun(t *testing.T) {
	for _, r := range []float64{0, 0.5, 0.8} {
		random, sum := rand.New(rand.NewPCG(5, 1)), 0.0
		const runs = 100
		for range runs {
			values, x := make([]float64, 3000), random.NormFloat64()
			for i := range values {
				values[i] = 1e6 + x
				x = r*x + math.Sqrt(1-r*r)*random.NormFloat64()
			}
			variance, freedom := LongRun(values)
			if freedom != 85 {
				t.Fatalf("%d degrees of freedom for 3000 values, want 85", freedom)
			}
			sum += variance / runs
		}
		if want := (1 + r) / (1 - r); math.Abs(sum-want) > 0.15*want {
			t.Errorf("correlated by %g: a long-run variance of %.2f, want about %.2f", r, sum, want)
		}
	}
	for _, n := range []int{0, 1, 2, 5, 8, 40} {
		if _, freedom := LongRun(make([]float64, n)); freedom != max(2, map[int]int{40: 4}[n]) {
			t.Errorf("%d values: %d degrees of freedom", n, freedom)
		}
	}
}
