// Package stats provides the statistics in evaluation results. Every function is pure, and returns
// NaN instead of panicking where its arguments have no meaning.
package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Wilson returns the two-sided score interval of k successes in n trials at confidence conf, such
// as 0.95 (Wilson 1927; Newcombe 1998, method 3):
//
//	(p + z²/2n ± z·√(p(1-p)/n + z²/4n²)) / (1 + z²/n), z = Φ⁻¹((1+conf)/2)
//
// lo is exactly 0 for k = 0, and hi is exactly 1 for k = n. Without trials, n = 0, the interval is
// 0, 1. Both ends are NaN unless 0 <= k <= n and 0 < conf < 1.
func Wilson(k, n int, conf float64) (lo, hi float64) {
	return wilson(k, n, conf, (1+conf)/2)
}

// WilsonLower returns the one-sided lower bound of the score interval: Wilson with z = Φ⁻¹(conf). A
// rate is proven to reach a floor if this bound does. It is 0 for k = 0 and for n = 0, and NaN
// where Wilson is.
func WilsonLower(k, n int, conf float64) float64 {
	lo, _ := wilson(k, n, conf, conf)
	return lo
}

// WilsonUpper returns the one-sided upper bound of the score interval, as WilsonLower does the lower
// one. A floor is refuted if this bound is below it. It is 1 for k = n and for n = 0, and NaN where
// Wilson is.
func WilsonUpper(k, n int, conf float64) float64 {
	_, hi := wilson(k, n, conf, conf)
	return hi
}

func wilson(k, n int, conf, level float64) (lo, hi float64) {
	if !(conf > 0 && conf < 1) || k < 0 || k > n {
		return math.NaN(), math.NaN()
	}
	if n == 0 {
		return 0, 1
	}
	return score(float64(k)/float64(n), float64(n), distuv.UnitNormal.Quantile(level))
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
