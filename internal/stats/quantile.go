package stats

import "math"

// Percentile returns the quantile p of values sorted in ascending order, by linear interpolation
// between the two nearest (type 7 of Hyndman and Fan 1996, the default of R and NumPy). p is a
// fraction: 0.95 is the 95th percentile. A single value is its own quantile for every p. The result
// is NaN for no values, for p outside 0..1, and if a value is NaN, which sorts first.
func Percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 || math.IsNaN(sorted[0]) || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	whole, part := math.Modf(float64(len(sorted)-1) * p)
	lo := sorted[int(whole)]
	if part == 0 {
		return lo
	}
	return lo + part*(sorted[int(whole)+1]-lo)
}

// QuantileCIMin returns the smallest sample for which a two-sided interval of quantile p at
// confidence conf exists without assuming a distribution. The widest interval extends from the
// smallest value to the largest and covers with probability 1 - pⁿ - (1-p)ⁿ (order statistics; Hahn
// and Meeker 1991). With fewer values, a quantile should not be reported as if it were known. p and
// conf are fractions. Outside 0 < p < 1 and 0 <= conf < 1 no sample suffices, and the result is
// math.MaxInt.
func QuantileCIMin(p, conf float64) int {
	if !(p > 0 && p < 1 && conf >= 0 && conf < 1) {
		return math.MaxInt
	}
	miss := func(n int) float64 {
		return math.Pow(p, float64(n)) + math.Pow(1-p, float64(n))
	}
	// The larger term alone yields a lower bound that is close.
	n := max(1, int(math.Log(1-conf)/math.Log(max(p, 1-p))))
	for miss(n) > 1-conf {
		n++
	}
	return n
}
