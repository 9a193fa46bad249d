package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Flips are the paired differences of one figure. Units[i] is the unit whose sign Values[i] has:
// figures of the same pair of measurements have the same unit.
type Flips struct {
	Values []float64
	Units  []int // from 0
}

// FlipFamily returns the p-values of sign-flip tests of several figures, adjusted as a family:
// rejecting adjusted values of at most α keeps the probability of any false alarm at most α. The
// null hypothesis is that each unit might as well have had all its signs reversed, independently of
// the others, as if chance had decided which of two equal things was measured first. The test
// assumes no distribution, and no independence of figures or units.
//
// The statistic of a figure is the magnitude of its sum over the root of its sum of squares. The
// adjusted value is the share of random assignments of signs in which any figure that is not
// clearer becomes at least as clear (the step-down method of Westfall and Young 1993, algorithm
// 4.1). Correlated figures are therefore adjusted less. The value is (r+1)/(resamples+1) for the r
// assignments that count, and depends only on the arguments. A figure without a difference has the
// value 1. Different lengths, units below 0 and values that are not finite are errors of the
// caller: FlipFamily panics or returns NaN.
func FlipFamily(figures []Flips, resamples int, seed uint64) []float64 {
	seen, order := make([]float64, len(figures)), make([]int, len(figures))
	scale, units := make([]float64, len(figures)), 0
	for i, f := range figures {
		order[i] = i
		sum, squares := 0.0, 0.0
		for j, v := range f.Values {
			sum, squares, units = sum+v, squares+v*v, max(units, f.Units[j]+1)
		}
		if squares > 0 {
			scale[i] = 1 / math.Sqrt(squares)
		}
		seen[i] = math.Abs(sum) * scale[i] * (1 - 1e-12) // sums that are equal on paper differ by rounding
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(seen[j], seen[i]) })
	far := make([]bool, resamples*len(order)) // by resample and figure in this order: whether it is as clear
	eachChunk(resamples, seed, func(random *rand.PCG, from, to int) {
		signs := make([]float64, units)
		for r := from; r < to; r++ {
			drawSigns(signs, random)
			clearest := 0.0
			for k, i := range slices.Backward(order) {
				sum := 0.0
				for j, v := range figures[i].Values {
					sum += v * signs[figures[i].Units[j]]
				}
				clearest = max(clearest, math.Abs(sum)*scale[i])
				far[r*len(order)+k] = clearest >= seen[i]
			}
		}
	})
	out, least := make([]float64, len(figures)), 0.0
	for k, i := range order {
		count := 1
		for r := range resamples {
			if far[r*len(order)+k] {
				count++
			}
		}
		least = max(least, float64(count)/float64(resamples+1))
		out[i] = least
	}
	return out
}

// drawSigns sets each of signs to 1 or -1.
func drawSigns(signs []float64, random *rand.PCG) {
	var bits uint64
	for i := range signs {
		if i%64 == 0 {
			bits = random.Uint64()
		}
		signs[i] = 1 - 2*float64(bits>>(i%64)&1)
	}
}
