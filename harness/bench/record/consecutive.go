package record

import (
	"math"

	"evalctl/internal/stats"
)

// exactness is the standard error of a mean, with its degrees of freedom.
type exactness struct{ se, freedom float64 }

// regression returns how exact the mean of consecutive values is, as if they were a first-order
// autoregression. times is their variance inflation.
func regression(values []float64, times float64) exactness {
	_, variance := stats.Moments(values)
	n := float64(len(values))
	return exactness{math.Sqrt(variance * times / n), n/times - 1}
}

func (e exactness) reach() float64 {
	return e.se * stats.StudentQuantile((1+confidence)/2, e.freedom)
}

// p returns the p-value of a mean if the true one is 0.
func (e exactness) p(mean float64) float64 {
	return 2 * stats.StudentCDF(-math.Abs(mean)/e.se, e.freedom)
}

// enough is the number of independent values that consecutive ones must be worth, or a third of them
// if there are few. Otherwise what slows them down lasts so long that they have not seen the long
// run. An interval of values that look less alike than they are, by chance, is rare (TestCoverage).
const enough = 10

// reachOf returns half the width of the interval of the mean of consecutive values, the wider one of
// two methods. ok is false if they are too alike, or fewer than four.
//
// Independent noise hides part of a correlation from the autoregression, but not from the long run,
// which in turn is too optimistic if the correlation is strong.
func reachOf(values []float64, times float64) (reach float64, ok bool) {
	_, variance := stats.Moments(values)
	n := float64(len(values))
	long, freedom := stats.LongRun(values)
	worth := n / times
	if variance > 0 {
		worth = min(worth, n*variance/long)
	}
	if worth <= 2 || worth < min(enough, n/3) {
		return 0, false
	}
	return max(regression(values, times).reach(), exactness{math.Sqrt(long / n), float64(freedom)}.reach()), true
}

// strongest is the largest autocorrelation considered; anything stronger is a trend.
const strongest = 0.97

// inflation returns the factor by which autocorrelation in the order of values inflates the
// variance of their mean. It is (1+r)/(1-r) for a first-order autoregression, with r corrected for
// small samples (Marriott and Pope 1954). If part of the variance is known to be chance, r is
// estimated with and without it, and the larger inflation is returned. A rest within the standard
// error of the variance is chance too.
func inflation(values []float64, chance float64) float64 {
	mean, variance := stats.Moments(values)
	if variance == 0 || len(values) < 2 {
		return 1
	}
	n, shared := float64(len(values)), 0.0
	for i := 1; i < len(values); i++ {
		shared += (values[i] - mean) * (values[i-1] - mean) / (n - 1)
	}
	times := func(of float64) float64 {
		r := max(0, shared/of)
		r = min(r+(1+3*r)/n, strongest)
		return (1 + r) / (1 - r)
	}
	worst := times(variance)
	if common := variance - chance; chance > 0 && common > chance*math.Sqrt(2/(n-1)) {
		worst = max(worst, (chance+common*times(common))/variance)
	}
	return worst
}
