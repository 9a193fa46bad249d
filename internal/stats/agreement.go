package stats

import "math"

// Observed returns the share of items on which both agree, such as a judge and a person.
func (p Pairs) Observed() float64 {
	both, _, _, none, n := p.floats()
	return (both + none) / n
}

// Kappa returns Cohen's kappa, (Po-Pe)/(1-Pe), with the observed agreement Po and the agreement Pe
// of two independent raters with the same pass rates (Cohen 1960). It is low in spite of high
// agreement if nearly all items pass, so PABAK and AC1 should be reported next to it. It is NaN if
// both raters gave all items the same verdict, where 1-Pe is 0.
func (p Pairs) Kappa() float64 {
	both, first, second, none, n := p.floats()
	if math.IsNaN(n) {
		return n
	}
	// (Po-Pe)/(1-Pe), with numerator and denominator multiplied by n².
	return 2 * (both*none - first*second) /
		((both+first)*(first+none) + (both+second)*(second+none))
}

// PABAK returns the prevalence-adjusted and bias-adjusted kappa, 2Po-1 (Byrt, Bishop and Carlin
// 1993).
func (p Pairs) PABAK() float64 { return 2*p.Observed() - 1 }

// AC1 returns Gwet's first-order agreement coefficient, (Po-Pe)/(1-Pe) with Pe = 2π(1-π) and π the
// mean of the raters' pass rates (Gwet 2008). Unlike Kappa it is stable if nearly all items pass.
func (p Pairs) AC1() float64 {
	both, first, second, _, n := p.floats()
	pi := (2*both + first + second) / (2 * n)
	pe := 2 * pi * (1 - pi)
	return (p.Observed() - pe) / (1 - pe)
}
