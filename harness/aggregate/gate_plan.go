package aggregate

import (
	"math"
	"slices"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// Operating says how a floor judges runs of N independent questions, before any is asked.
type Operating struct {
	N     int              `json:"n"`
	Floor float64          `json:"floor"`
	Mode  result.FloorMode `json:"floor_mode"`
	// Required is the fewest passes that pass, N+1 if no number does.
	Required int `json:"required"`
	// Proves is the fewest passes that prove the floor, nil if none do. Refutes is the most passes
	// that refute it, nil if none do.
	Proves  *int `json:"proves"`
	Refutes *int `json:"refutes"`
	// Passes has the probability that a run passes, by true pass rate, for rates around the floor.
	Passes []RatePasses `json:"passes"`
}

// RatePasses is the probability that a run with this true pass rate passes.
type RatePasses struct {
	Rate   float64 `json:"rate"`
	Passes float64 `json:"passes"`
}

// around are the true rates of an Operating, relative to the floor.
var around = []float64{-0.15, -0.10, -0.05, -0.02, 0, 0.02, 0.05, 0.10}

// Operate returns how a floor judges runs of n questions, at least 1.
func Operate(n int, floor float64, mode result.FloorMode) Operating {
	o := Operating{N: n, Floor: floor, Mode: mode, Required: required(mode, n, floor, nil)}
	if k := stats.RequiredProven(n, floor, proofConfidence); k <= n {
		o.Proves = &k
	}
	if k := stats.RequiredNotRefuted(n, floor, proofConfidence) - 1; k >= 0 {
		o.Refutes = &k
	}
	var rates []float64
	for _, d := range around {
		rates = append(rates, shifted(floor, d))
	}
	for _, rate := range slices.Compact(rates) {
		o.Passes = append(o.Passes, RatePasses{rate, stats.AtLeast(o.Required, n, rate)})
	}
	return o
}

// shifted returns floor + by, between 0 and 1, without the noise of the addition.
func shifted(floor, by float64) float64 {
	return math.Round(min(1, max(0, floor+by))*1e9) / 1e9
}

// What Separates asks for: the most often that a rate worseBy below the floor may pass, and the
// least often that one as much above it should.
const (
	MostWorse   = 0.05
	LeastBetter = 0.80
)

// separateMost is the largest size that Separates considers.
const separateMost = 20_000

// Separates returns how a floor judges runs of the smallest size at which a true rate 0.05 below it
// passes less often than MostWorse, and one 0.05 above it more often than LeastBetter. worse and
// better are those rates. ok is false if no size up to 20,000 does that, such as for a floor of 0.
func Separates(floor float64, mode result.FloorMode) (n int, worse, better RatePasses, ok bool) {
	worse.Rate, better.Rate = shifted(floor, -worseBy), shifted(floor, worseBy)
	for n := 1; n <= separateMost; n++ {
		k := required(mode, n, floor, nil)
		worse.Passes, better.Passes = stats.AtLeast(k, n, worse.Rate), stats.AtLeast(k, n, better.Rate)
		if worse.Passes < MostWorse && better.Passes > LeastBetter {
			return n, worse, better, true
		}
	}
	return 0, worse, better, false
}
