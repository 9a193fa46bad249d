package stats

import "math"

// Mean returns the mean of values, NaN for none.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// MeanCI returns the two-sided t interval, at confidence conf such as 0.95, of the mean of n values
// with this mean and sample variance (with denominator n-1): mean ± t·√(variance/n) with n-1
// degrees of freedom. The interval of identical values has no width, which says little if they are
// few. Both ends are NaN unless n >= 2, variance >= 0 and 0 < conf < 1. The caller clamps them if
// the values have a range.
func MeanCI(n int, mean, variance, conf float64) (lo, hi float64) {
	if n < 2 || !(variance >= 0) || !(conf > 0 && conf < 1) {
		return math.NaN(), math.NaN()
	}
	t := StudentQuantile((1+conf)/2, float64(n-1))
	half := t * math.Sqrt(variance/float64(n))
	return mean - half, mean + half
}

// PairedMean is the mean of the differences of paired scores.
type PairedMean struct {
	// Mean is the mean of a-b. N counts the pairs.
	Mean float64
	N    int
	// SE, the t interval Lo to Hi, the statistic T = Mean/SE and the two-sided p-value P of no
	// difference. All are NaN for fewer than two pairs. If SE is 0, the others are NaN.
	SE, Lo, Hi, T, P float64
}

// PairedMeans compares the scores a and b of the same items in the same order by a paired t test,
// with the interval at confidence conf. A pair with a NaN score, such as an item without a score,
// does not count. If all differences are the same, SE is 0, which does not prove that the mean is
// precise: there is no interval and no test then, but P is 1 if all differences are 0. Slices of
// different lengths yield NaN.
func PairedMeans(a, b []float64, conf float64) PairedMean {
	d := differences(a, b)
	nan := math.NaN()
	r := PairedMean{Mean: nan, N: len(d), SE: nan, Lo: nan, Hi: nan, T: nan, P: nan}
	if len(d) == 0 {
		return r
	}
	mean, variance := Moments(d)
	r.Mean = mean
	if len(d) < 2 {
		return r
	}
	r.SE = math.Sqrt(variance / float64(len(d)))
	switch {
	case mean == 0:
		r.T, r.P = 0, 1
	case rounding(r.SE, d):
		r.SE = 0
	}
	if r.SE == 0 {
		return r
	}
	r.Lo, r.Hi = MeanCI(len(d), mean, variance, conf)
	r.T = mean / r.SE
	r.P = min(1, 2*StudentCDF(-math.Abs(r.T), float64(len(d)-1)))
	return r
}

// differences returns a-b of each pair without those that are NaN.
func differences(a, b []float64) []float64 {
	if len(a) != len(b) {
		return nil
	}
	d := make([]float64, 0, len(a))
	for i := range a {
		if v := a[i] - b[i]; !math.IsNaN(v) {
			d = append(d, v)
		}
	}
	return d
}
