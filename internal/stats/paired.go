package stats

import "math"

// McNemarExact returns the two-sided p-value of the exact test that two raters of the same items
// pass equally many, where b items passed only with the first and c only with the second (McNemar
// 1947, with the binomial distribution of b+c items at 1/2):
//
//	min(1, 2·Σ C(b+c,i)/2^(b+c)), i = 0 … min(b,c)
//
// It is 1 for b = c = 0, and NaN unless both are at least 0.
func McNemarExact(b, c int) float64 {
	if b < 0 || c < 0 {
		return math.NaN()
	}
	if b == c {
		return 1
	}
	return min(1, 2*binomialCDF(min(b, c), b+c, 0.5))
}
