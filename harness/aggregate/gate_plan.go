package aggregate

import (
	"math"
	"slices"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// FloorDesign describes how a floor judges runs of N independent questions, before any is asked.
type FloorDesign struct {
	N     int              `json:"n"`
	Floor float64          `json:"floor"`
	Mode  result.FloorMode `json:"floor_mode"`
	// Required is the minimum number of passes to meet the floor, N+1 if impossible.
	Required int `json:"required"`
	// Proves is the minimum number of passes that prove the floor, and Refutes the maximum that
	// refute it, nil if impossible.
	Proves  *int `json:"proves"`
	Refutes *int `json:"refutes"`
	// Passes has the probability of passing at true pass rates around the floor.
	Passes []RatePasses `json:"passes"`
}

// RatePasses is the probability that a run with this true pass rate passes.
type RatePasses struct {
	Rate   float64 `json:"rate"`
	Passes float64 `json:"passes"`
}

// around are the true rates of a FloorDesign, relative to the floor.
var around = []float64{-0.15, -0.10, -0.05, -0.02, 0, 0.02, 0.05, 0.10}

// PlanFloor returns how a floor judges runs of n questions, at least 1.
func PlanFloor(n int, floor float64, mode result.FloorMode) FloorDesign {
	o := FloorDesign{N: n, Floor: floor, Mode: mode, Required: required(mode, n, floor, nil)}
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

// shifted returns floor + by, clamped to 0 to 1 and without floating-point noise.
func shifted(floor, by float64) float64 {
	return math.Round(min(1, max(0, floor+by))*1e9) / 1e9
}

// The conditions of Separates: how often a rate worseBy below the floor may pass at most, and how
// often a rate worseBy above it should pass at least.
const (
	MostWorse   = 0.05
	LeastBetter = 0.80
)

// separateMost is the largest size that Separates tries.
const separateMost = 20_000

// Separates returns the smallest size at which a true rate 0.05 below the floor passes less often
// than MostWorse and one 0.05 above it more often than LeastBetter, with these two rates. ok is
// false if no size up to 20,000 does, for example for a floor of 0.
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
