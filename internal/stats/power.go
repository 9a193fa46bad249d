package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// NonInferiority tests whether a difference, new minus old, is above -margin: z = (diff+margin)/se,
// and p is the one-sided probability of a z at least this large if the new one is worse by exactly
// margin. A p of at most 0.05 shows that it is not worse by margin or more. Both are NaN unless
// se > 0: without discordant items Pairs.SE is 0, and the lower end of Pairs.Newcombe decides
// instead. margin has the unit of diff and is at least 0.
func NonInferiority(diff, se, margin float64) (z, p float64) {
	if !(se > 0) || !(margin >= 0) {
		return math.NaN(), math.NaN()
	}
	z = (diff + margin) / se
	return z, distuv.UnitNormal.Survival(z)
}

// McNemarSize returns how many items a paired comparison needs to find, with probability power, a
// difference of p10-p01 in a two-sided test at level alpha. p10 and p01 are the shares of items
// that only the first and only the second passes. With ψ = p10+p01 and d = p10-p01 it is
//
//	(z(1-alpha/2)·√ψ + z(power)·√(ψ-d²))² / d²
//
// (Connor 1987), not rounded: round up. It is +Inf for p10 = p01, and NaN unless both are at least
// 0, ψ <= 1, 0 < alpha < 1 and 0 < power < 1. It is an approximation for large samples.
func McNemarSize(p10, p01, alpha, power float64) float64 {
	if !(p10 >= 0 && p01 >= 0 && p10+p01 <= 1) {
		return math.NaN()
	}
	psi, d := p10+p01, p10-p01
	za, zb := powerQuantiles(alpha, power)
	root := za*math.Sqrt(psi) + zb*math.Sqrt(psi-d*d)
	switch {
	case math.IsNaN(root):
		return root
	case d == 0:
		return math.Inf(1)
	}
	return root * root / (d * d)
}

// MinDetectable returns the smallest difference of pass rates that n paired items would show with
// probability power in a two-sided test at level alpha, if the share psi of them is discordant: the
// difference for which McNemarSize is n. It is at most psi, because no difference can be larger.
// If the result is psi, not even a difference without any discordance the other way may be shown:
// McNemarSize(psi, 0, alpha, power) items would show it. It is NaN unless n >= 1,
// 0 < psi <= 1, 0 < alpha < 1 and 0 < power < 1.
func MinDetectable(n int, psi, alpha, power float64) float64 {
	size := func(d float64) float64 { return McNemarSize((psi+d)/2, (psi-d)/2, alpha, power) }
	if n < 1 || !(psi > 0 && psi <= 1) || math.IsNaN(size(psi)) {
		return math.NaN()
	}
	lo, hi := 0.0, psi
	for range 200 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if size(mid) > float64(n) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// MillerSize returns how many questions show a difference delta between the mean scores of two
// systems with probability power in a two-sided paired test at level alpha (Miller 2024, section
// 5):
//
//	(z(1-alpha/2) + z(power))² · (omega2 + varA/kA + varB/kB) / delta²
//
// omega2 is the variance over questions of the difference of the expected scores; varA and varB are
// the mean variances of repeated answers to one question, of which kA and kB are averaged. The
// result is not rounded: round up. It is +Inf for delta = 0, and NaN unless the variances are at
// least 0, kA and kB at least 1, 0 < alpha < 1 and 0 < power < 1.
func MillerSize(delta, omega2, varA float64, kA int, varB float64, kB int, alpha, power float64) float64 {
	za, zb := powerQuantiles(alpha, power)
	if !(omega2 >= 0 && varA >= 0 && varB >= 0) || kA < 1 || kB < 1 || math.IsNaN(za) || math.IsNaN(delta) {
		return math.NaN()
	}
	if delta == 0 {
		return math.Inf(1)
	}
	return (za + zb) * (za + zb) * (omega2 + varA/float64(kA) + varB/float64(kB)) / (delta * delta)
}

// powerQuantiles returns the normal quantiles of 1-alpha/2 and of power, NaN if one has no meaning.
func powerQuantiles(alpha, power float64) (za, zb float64) {
	if !(alpha > 0 && alpha < 1 && power > 0 && power < 1) {
		return math.NaN(), math.NaN()
	}
	return distuv.UnitNormal.Quantile(1 - alpha/2), distuv.UnitNormal.Quantile(power)
}
