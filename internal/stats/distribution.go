package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"
)

// NormalQuantile returns the p-quantile of the standard normal distribution, 0 <= p <= 1.
func NormalQuantile(p float64) float64 { return mathext.NormalQuantile(p) }

// NormalCDF returns the probability that a standard normal value is at most x.
func NormalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// StudentQuantile returns the p-quantile of Student's t distribution, 0 <= p <= 1, with df degrees
// of freedom, which need not be whole.
func StudentQuantile(p, df float64) float64 {
	if p > 0.5 {
		return -StudentQuantile(1-p, df)
	}
	if p == 0.5 {
		return 0
	}
	// df/(df+t²) has a beta distribution.
	x := mathext.InvRegIncBeta(df/2, 0.5, 2*p)
	return -math.Sqrt(df * (1 - x) / x)
}

// StudentCDF returns the probability that a value of Student's t distribution with df degrees of
// freedom is at most t.
func StudentCDF(t, df float64) float64 {
	tail := mathext.RegIncBeta(df/2, 0.5, df/(df+t*t)) / 2
	if t > 0 {
		return 1 - tail
	}
	return tail
}

// binomialCDF returns the probability of at most k successes in n trials with probability p, for
// k < n.
func binomialCDF(k, n int, p float64) float64 {
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p)
}

// drawBinomial returns the number of successes in n trials with probability p, 0 < p < 1. It makes
// 64 trials at a time: each bit is a number of 0..1 whose binary digits are drawn, one a word, until
// it differs from p.
func drawBinomial(n int, p float64, random *rand.PCG) (successes int) {
	for ; n > 0; n -= 64 {
		undecided := ^uint64(0)
		if n < 64 {
			undecided = 1<<n - 1
		}
		for rest := p; undecided != 0 && rest > 0; {
			digits := random.Uint64()
			if rest *= 2; rest >= 1 {
				rest--
				successes += bits.OnesCount64(undecided &^ digits)
				undecided &= digits
			} else {
				undecided &^= digits
			}
		}
	}
	return successes
}
