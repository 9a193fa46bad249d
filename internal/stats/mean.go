package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// MeanCI returns the two-sided t interval, at confidence conf such as 0.95, of the mean of n values
// with this mean and sample variance (with denominator n-1): mean ± t·√(variance/n) with n-1
// degrees of freedom. The interval of identical values has no width, which says little if they are
// few. Both ends are NaN unless n >= 2, variance >= 0 and 0 < conf < 1. The caller clamps them if
// the values have a range.
func MeanCI(n int, mean, variance, conf float64) (lo, hi float64) {
	if n < 2 || !(variance >= 0) || !(conf > 0 && conf < 1) {
		return math.NaN(), math.NaN()
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile((1 + conf) / 2)
	half := t * math.Sqrt(variance/float64(n))
	return mean - half, mean + half
}
