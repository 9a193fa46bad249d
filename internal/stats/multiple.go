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

// BenjaminiHochberg returns p-values adjusted so that of the tests with an adjusted value at most
// q, a share of at most q is expected to be false alarms, for independent or positively dependent
// tests (Benjamini and Hochberg 1995). Order and NaN are as in Holm.
func BenjaminiHochberg(p []float64) []float64 {
	out, order := adjusted(p)
	m, most := len(order), 1.0
	for i := m - 1; i >= 0; i-- {
		at := order[i]
		most = min(most, float64(m)/float64(i+1)*p[at])
		out[at] = most
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
