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

// WilsonLower returns the one-sided lower bound of the score interval: Wilson with z = Φ⁻¹(conf).
// It is approximate: see ExactLower. It is 0 for k = 0 and for n = 0, and NaN where Wilson is.
func WilsonLower(k, n int, conf float64) float64 {
	lo, _ := wilson(k, n, conf, conf)
	return lo
}

// WilsonUpper returns the one-sided upper bound of the score interval, as WilsonLower does the
// lower one. It is 1 for k = n and for n = 0, and NaN where Wilson is.
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

// ClopperPearson returns the two-sided exact interval of k successes in n trials at confidence
// conf: it covers at least conf for every rate, and is wider than Wilson's (Clopper and Pearson
// 1934, by quantiles of beta distributions). Ends, edges and NaN are as in Wilson.
func ClopperPearson(k, n int, conf float64) (lo, hi float64) {
	return betaInterval(k, n, conf, 0, 1)
}

// ExactLower returns the one-sided lower bound of ClopperPearson at confidence conf, above 0.5. A
// rate is proven to reach a floor if this bound does. WilsonLower is too high for few trials: it is
// 0.526 for 3 of 3, which a rate of 0.5 reaches in 12.5 % of cases.
func ExactLower(k, n int, conf float64) float64 {
	lo, _ := ClopperPearson(k, n, 2*conf-1)
	return lo
}

// ExactUpper returns the one-sided upper bound, as ExactLower does the lower one. A floor is
// refuted if this bound is below it.
func ExactUpper(k, n int, conf float64) float64 {
	_, hi := ClopperPearson(k, n, 2*conf-1)
	return hi
}

// Jeffreys returns the equal-tailed posterior interval of the rate with Jeffreys' prior, the
// quantiles of Beta(k+1/2, n-k+1/2), with lo 0 for k = 0 and hi 1 for k = n (Brown, Cai and
// DasGupta 2001). Edges and NaN are as in Wilson.
func Jeffreys(k, n int, conf float64) (lo, hi float64) {
	return betaInterval(k, n, conf, 0.5, 0.5)
}

// betaInterval returns the quantile (1-conf)/2 of Beta(k+below, n-k+1-below) and the quantile
// (1+conf)/2 of Beta(k+above, n-k+1-above).
func betaInterval(k, n int, conf, below, above float64) (lo, hi float64) {
	if !(conf > 0 && conf < 1) || k < 0 || k > n {
		return math.NaN(), math.NaN()
	}
	passed, failed := float64(k), float64(n-k)
	lo, hi = 0, 1
	if k > 0 {
		lo = distuv.Beta{Alpha: passed + below, Beta: failed + 1 - below}.Quantile((1 - conf) / 2)
	}
	if k < n {
		hi = distuv.Beta{Alpha: passed + above, Beta: failed + 1 - above}.Quantile((1 + conf) / 2)
	}
	return lo, hi
}

// ZeroFailures returns the upper bound, at one-sided confidence conf, of the rate of failures if
// none was seen in n trials: exactly 1-(1-conf)^(1/n), and approximately -ln(1-conf)/n with the
// logarithm rounded to one decimal, which is 3/n for 0.95 (the rule of three). approx is at most 1.
// Without trials both are 1. They are NaN unless n >= 0 and 0 < conf < 1.
func ZeroFailures(n int, conf float64) (exact, approx float64) {
	if n < 0 || !(conf > 0 && conf < 1) {
		return math.NaN(), math.NaN()
	}
	if n == 0 {
		return 1, 1
	}
	log := math.Log1p(-conf)
	return -math.Expm1(log / float64(n)), min(1, math.Round(-log*10)/10/float64(n))
}

// NewcombeIndependent returns the interval of k1/n1 - k2/n2 at confidence conf for two independent
// samples, from Wilson's intervals of the rates (Newcombe 1998, Statistics in Medicine 17, 873-890,
// method 10). Runs of the same questions are not independent: use Pairs. Both ends are in -1..1,
// and NaN without trials and where Wilson is.
func NewcombeIndependent(k1, n1, k2, n2 int, conf float64) (lo, hi float64) {
	l1, u1 := Wilson(k1, n1, conf)
	l2, u2 := Wilson(k2, n2, conf)
	// 0/0 is NaN, which is the result then.
	p1, p2 := float64(k1)/float64(n1), float64(k2)/float64(n2)
	return max(-1, p1-p2-combine(p1-l1, u2-p2, 0)), min(1, p1-p2+combine(u1-p1, p2-l2, 0))
}
