// Package stats provides the statistics in evaluation results. Every function is pure, and returns
// NaN instead of panicking where its arguments have no meaning.
package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Wilson returns the two-sided score interval of k successes in n trials at confidence conf, such
// as 0.95 (Wilson 1927; Newcombe 1998, method 3):
//
//	(p + z²/2n ± z·√(p(1-p)/n + z²/4n²)) / (1 + z²/n), z = Φ⁻¹((1+conf)/2)
//
// lo is exactly 0 for k = 0, and hi is exactly 1 for k = n. Without trials, n = 0, the interval is
// 0, 1. Both ends are NaN unless 0 <= k <= n and 0 < conf < 1.
func Wilson(k, n int, conf float64) (lo, hi float64) {
	if !(conf > 0 && conf < 1) || k < 0 || k > n {
		return math.NaN(), math.NaN()
	}
	if n == 0 {
		return 0, 1
	}
	return score(float64(k)/float64(n), float64(n), NormalQuantile((1+conf)/2))
}

// score returns the score interval of the rate p in a sample of this size, which need not be whole.
func score(p, size, z float64) (lo, hi float64) {
	zz := z * z
	centre := p + zz/(2*size)
	half := z * math.Sqrt(p*(1-p)/size+zz/(4*size*size))
	lo = max(0, (centre-half)/(1+zz/size))
	hi = min(1, (centre+half)/(1+zz/size))
	// Rounding leaves the ends a few ulps away from 0 and 1.
	if p == 0 {
		lo = 0
	}
	if p == 1 {
		hi = 1
	}
	return lo, hi
}

// ClopperPearson returns the two-sided exact interval of k successes in n trials at confidence conf
// (Clopper and Pearson 1934, by quantiles of beta distributions). It covers at least conf for every
// rate, and is wider than Wilson's. Ends, edges and NaN are as in Wilson.
func ClopperPearson(k, n int, conf float64) (lo, hi float64) {
	if !(conf > 0 && conf < 1) || k < 0 || k > n {
		return math.NaN(), math.NaN()
	}
	passed, failed := float64(k), float64(n-k)
	lo, hi = 0, 1
	if k > 0 {
		lo = mathext.InvRegIncBeta(passed, failed+1, (1-conf)/2)
	}
	if k < n {
		hi = mathext.InvRegIncBeta(passed+1, failed, (1+conf)/2)
	}
	return lo, hi
}

// ExactLower returns the one-sided lower bound of ClopperPearson at confidence conf, above 0.5. A
// rate is proven to reach a floor if this bound does. Wilson's one-sided bound is too high for few
// trials: it is 0.526 for 3 of 3, which a rate of 0.5 reaches in 12.5 % of cases.
func ExactLower(k, n int, conf float64) float64 {
	lo, _ := ClopperPearson(k, n, 2*conf-1)
	return lo
}

// ExactUpper returns the one-sided upper bound of ClopperPearson. A floor is refuted if this bound
// is below it.
func ExactUpper(k, n int, conf float64) float64 {
	_, hi := ClopperPearson(k, n, 2*conf-1)
	return hi
}
