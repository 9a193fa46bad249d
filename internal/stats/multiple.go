package stats

import (
	"cmp"
	"math"
	"slices"
)

// Holm returns p-values adjusted for being a family of tests, in the order of p: rejecting adjusted
// values of at most α keeps the probability of any false alarm at most α, whatever the dependence
// of the tests (Holm 1979). The smallest of m values is multiplied by m, the next by m-1, and so
// on; none is below the one before it or above 1. A NaN stays NaN and does not count as a test.
func Holm(p []float64) []float64 {
	out, order := adjusted(p)
	for i, at := range order {
		out[at] = min(1, stepped(p, out, order, i))
	}
	return out
}

// HolmFactors returns the factors by which Holm's method multiplies each of p, such as m for the
// smallest of m values, without a limit of 1: the adjusted value is at most alpha exactly if p
// times the factor is. So an interval at confidence 1 - alpha/factor agrees with the adjusted
// value. Factors are at least 1, and NaN for NaN.
func HolmFactors(p []float64) []float64 {
	out, order := adjusted(p)
	for i, at := range order {
		out[at] = stepped(p, out, order, i)
	}
	for i, at := range order {
		if p[at] > 0 {
			out[at] /= p[at]
		} else {
			out[at] = float64(len(order) - i)
		}
	}
	return out
}

// stepped returns the i-th smallest value times the number of values that are not smaller, or its
// predecessor in out if that is larger.
func stepped(p, out []float64, order []int, i int) float64 {
	v := float64(len(order)-i) * p[order[i]]
	if i > 0 {
		return max(v, out[order[i-1]])
	}
	return v
}

// adjusted returns a slice of NaN as long as p, and the indices of the numbers in p in ascending
// order.
func adjusted(p []float64) (out []float64, order []int) {
	out = make([]float64, len(p))
	for i, v := range p {
		out[i] = math.NaN()
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	return out, order
}
