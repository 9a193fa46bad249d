package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// McNemarExact returns the two-sided p-value of the exact test that two raters of the same items
// pass equally many, where b items passed with the first only and c with the second only (McNemar
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
	half := distuv.Binomial{N: float64(b + c), P: 0.5}
	return min(1, 2*half.CDF(float64(min(b, c))))
}

// McNemarMidP returns the mid-p version of McNemarExact, which counts the probability of the
// observed split once instead of twice: less conservative, and close to its nominal level
// (Fagerland, Lydersen and Laake 2013). It is 1 for b = c = 0, and NaN unless both are at least 0.
func McNemarMidP(b, c int) float64 {
	if b < 0 || c < 0 {
		return math.NaN()
	}
	if b+c == 0 {
		return 1
	}
	half := distuv.Binomial{N: float64(b + c), P: 0.5}
	// The exact value for b = c is 1 because it is limited to 1, so half of the split is its excess.
	return McNemarExact(b, c) - half.Prob(float64(min(b, c)))
}

// McNemarChi2 returns the statistic (b-c)²/(b+c), or (|b-c|-1)²/(b+c) with Edwards' continuity
// correction, and its p-value from the chi-squared distribution with one degree of freedom. It is
// an approximation for many discordant items; McNemarExact needs none. A corrected difference is at
// least 0. For b = c = 0 the result is 0 and 1. Both are NaN unless b and c are at least 0.
func McNemarChi2(b, c int, corrected bool) (chi2, p float64) {
	if b < 0 || c < 0 {
		return math.NaN(), math.NaN()
	}
	if b == c {
		return 0, 1
	}
	d := math.Abs(float64(b) - float64(c))
	if corrected {
		d--
	}
	chi2 = d * d / (float64(b) + float64(c))
	return chi2, math.Erfc(math.Sqrt(chi2 / 2))
}
