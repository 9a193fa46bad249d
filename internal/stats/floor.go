package stats

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
)

// RequiredProven returns the fewest passes among n that prove floor: their one-sided lower exact
// bound at confidence conf (ExactLower) reaches it. For every n, a run whose true rate is below
// floor has as many with a probability of at most 1-conf. It is n+1 if no number does, and -1 where
// ExactLower is NaN.
func RequiredProven(n int, floor, conf float64) int {
	return fewest(n, conf, func(lo, _ float64) bool { return lo >= floor })
}

// RequiredNotRefuted returns the fewest passes among n that do not refute floor: their one-sided
// upper exact bound at confidence conf (ExactUpper) still reaches it. For every n, a run whose true
// rate is floor or more has fewer with a probability of at most 1-conf. It is n+1 if no number
// does, and -1 where ExactUpper is NaN.
func RequiredNotRefuted(n int, floor, conf float64) int {
	return fewest(n, conf, func(_, hi float64) bool { return hi >= floor })
}

// fewest returns the fewest passes among n for whose one-sided bounds ok is true. Both bounds rise
// with the passes.
func fewest(n int, conf float64, ok func(lo, hi float64) bool) int {
	if n < 0 || !(conf > 0.5 && conf < 1) {
		return -1
	}
	return sort.Search(n+1, func(k int) bool { return ok(ClopperPearson(k, n, 2*conf-1)) })
}

// AtLeast returns the probability of required passes or more among n independent questions, each
// passed with probability p: P(X >= required) for X binomial, as the regularised incomplete beta
// function I_p(required, n-required+1). It is NaN for n < 1 and for p outside 0..1.
func AtLeast(required, n int, p float64) float64 {
	switch {
	case n < 1 || !(p >= 0 && p <= 1):
		return math.NaN()
	case required <= 0:
		return 1
	case required > n:
		return 0
	}
	return mathext.RegIncBeta(float64(required), float64(n-required+1), p)
}

// ProportionSize returns how many questions show, with probability power, that a true pass rate p
// is above floor, or below it, in a one-sided test at level alpha:
//
//	m = (z(1-alpha)·√(floor(1-floor)) + z(power)·√(p(1-p)))² / (p-floor)²
//	n = m/4 · (1 + √(1 + 2/(m·|p-floor|)))²
//
// The second line corrects for exact bounds, which are wider for few questions. n is not rounded:
// round up. It is +Inf for p = floor, and NaN unless p and floor are in 0..1 and
// alpha and power between 0 and 1. It is an approximation for large samples (Fleiss, Levin and Paik
// 2003, section 2.5).
func ProportionSize(p, floor, alpha, power float64) float64 {
	if !(p >= 0 && p <= 1 && floor >= 0 && floor <= 1 && alpha > 0 && alpha < 1 && power > 0 && power < 1) {
		return math.NaN()
	}
	if p == floor {
		return math.Inf(1)
	}
	root := NormalQuantile(1-alpha)*math.Sqrt(floor*(1-floor)) +
		NormalQuantile(power)*math.Sqrt(p*(1-p))
	d := math.Abs(p - floor)
	m := root * root / (d * d)
	if m == 0 { // for a floor of 0 or 1 and a p of 1 or 0
		return 1
	}
	continuity := 1 + math.Sqrt(1+2/(m*d))
	return m / 4 * continuity * continuity
}
