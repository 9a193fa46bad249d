package stats

import "math"

// SPRT is Wald's sequential test of whether a pass rate is P0 or P1, of which P0 is the lower one,
// that stops as soon as the answers suffice (Wald 1945). Alpha is the probability to accept P1 if
// P0 is true, Beta that to accept P0 if P1 is true, both approximately.
type SPRT struct{ P0, P1, Alpha, Beta float64 }

// Bounds returns the limits of the logarithm of the likelihood ratio: at most lower, P0 is
// accepted; at least upper, P1 is. Both are NaN unless 0 < P0 < P1 < 1, Alpha and Beta are above 0
// and Alpha+Beta < 1, and so is the ratio.
func (s SPRT) Bounds() (lower, upper float64) {
	if !s.valid() {
		return math.NaN(), math.NaN()
	}
	return math.Log(s.Beta / (1 - s.Alpha)), math.Log((1 - s.Beta) / s.Alpha)
}

// LogRatio returns the logarithm of the likelihood ratio of P1 to P0 after so many passes and
// failures.
func (s SPRT) LogRatio(passed, failed int) float64 {
	if !s.valid() || passed < 0 || failed < 0 {
		return math.NaN()
	}
	return float64(passed)*math.Log(s.P1/s.P0) + float64(failed)*math.Log((1-s.P1)/(1-s.P0))
}

func (s SPRT) valid() bool {
	return s.P0 > 0 && s.P0 < s.P1 && s.P1 < 1 && s.Alpha > 0 && s.Beta > 0 && s.Alpha+s.Beta < 1
}
