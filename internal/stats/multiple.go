package stats

import (
	"cmp"
	"math"
	"slices"
)

// Holm returns p-values adjusted for being a family of tests, in the order of p: an adjusted value
// at most α keeps the probability of any false alarm at most α, whatever the dependence of the
// tests (Holm 1979). The smallest of m values is multiplied by m, the next by m-1, and so on; none
// is below the one before it or above 1. A NaN is no test: it stays NaN and does not count.
func Holm(p []float64) []float64 {
	out, order := adjusted(p)
	m, least := len(order), 0.0
	for i, at := range order {
		least = max(least, min(1, float64(m-i)*p[at]))
		out[at] = least
	}
	return out
}

// adjusted returns a slice of NaN like p, and the indices of the numbers in p in ascending order.
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
