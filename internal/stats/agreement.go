package stats

import "math"

// Agreement counts the items that two raters passed or failed, such as a judge and a person.
type Agreement struct {
	BothPassed, FirstPassed, SecondPassed, BothFailed int // FirstPassed: by the first rater only
}

// Observed returns the share of items on which the raters agree. It is NaN without items and for
// negative counts, as are all measures of agreement.
func (a Agreement) Observed() float64 {
	n := a.total()
	return float64(a.BothPassed+a.BothFailed) / n
}

// Kappa returns Cohen's kappa, (Po-Pe)/(1-Pe), with Po the observed agreement and Pe that of two
// independent raters with the same pass rates (Cohen 1960). It is low in spite of high agreement if
// nearly all items pass, so PABAK and AC1 should be reported next to it. It is NaN if both raters
// gave all items the same verdict, where 1-Pe is 0.
func (a Agreement) Kappa() float64 {
	if math.IsNaN(a.total()) {
		return math.NaN()
	}
	both, first, second, none := a.floats()
	// (Po-Pe)/(1-Pe), with numerator and denominator multiplied by n².
	return 2 * (both*none - first*second) /
		((both+first)*(first+none) + (both+second)*(second+none))
}

// PABAK returns the prevalence-adjusted and bias-adjusted kappa, 2Po-1 (Byrt, Bishop and Carlin
// 1993).
func (a Agreement) PABAK() float64 { return 2*a.Observed() - 1 }

// AC1 returns Gwet's first-order agreement coefficient, (Po-Pe)/(1-Pe) with Pe = 2π(1-π) and π the
// mean of the raters' pass rates (Gwet 2008). Unlike Kappa it is stable if nearly all items pass.
func (a Agreement) AC1() float64 {
	n := a.total()
	both, first, second, _ := a.floats()
	pi := (2*both + first + second) / (2 * n)
	pe := 2 * pi * (1 - pi)
	return (a.Observed() - pe) / (1 - pe)
}

// total returns the number of items, or NaN if there is none or a count is negative.
func (a Agreement) total() float64 {
	if min(a.BothPassed, a.FirstPassed, a.SecondPassed, a.BothFailed) < 0 || a == (Agreement{}) {
		return math.NaN()
	}
	both, first, second, none := a.floats()
	return both + first + second + none
}

func (a Agreement) floats() (both, first, second, none float64) {
	return float64(a.BothPassed), float64(a.FirstPassed),
		float64(a.SecondPassed), float64(a.BothFailed)
}
