package stats

import "math"

// JudgeAccuracy is how often a judge was right about answers with labels.
type JudgeAccuracy struct {
	// Sensitivity is the share of right answers that the judge passes, of Right labelled ones.
	Sensitivity float64
	Right       int
	// Specificity is the share of wrong answers that the judge fails, of Wrong labelled ones.
	Specificity float64
	Wrong       int
}

// FewestLabels is the number of labels of a kind from which Lang and Reiczigel's interval holds.
// With one right and 100 wrong answers, it covers the rate in as few as 27 % of simulations.
const FewestLabels = 5

// CorrectedRate is a pass rate without the errors of the judge, with its interval.
type CorrectedRate struct {
	// Lo and Hi are NaN if Clamped is set and no rate from 0 to 1 explains the verdicts.
	Rate, Lo, Hi float64
	// Clamped is set if the rate would be below 0 or above 1: the judge passed fewer answers than
	// if none were right, or more than if all were. The labels then do not fit the answers.
	Clamped bool
}

// JudgeCorrected returns the share of n answers that are right if a judge passed the share p of
// them: θ = (p+q0-1)/(q0+q1-1) with specificity q0 and sensitivity q1 (Rogan and Gladen 1978). The
// interval at confidence conf includes the uncertainty of n and of the labels (Lang and Reiczigel
// 2014, as in Lee et al. 2025). With p' = (np+z²/2)/(n+z²), n' = n+z², q' = (mq+1)/(m+2), m' = m+2,
// and θ' computed from these, it is θ'+Δ ± z·SE:
//
//	Δ  = 2z²·(θ'·q1'(1-q1')/m1' - (1-θ')·q0'(1-q0')/m0')
//	SE = √(p'(1-p')/n' + (1-θ')²·q0'(1-q0')/m0' + θ'²·q1'(1-q1')/m1') / (q0'+q1'-1)
//
// With fewer than FewestLabels of a kind, it is widened to the rates that the limits of p, q0
// and q1 permit. All three figures are limited to 0..1, and the interval contains the rate.
//
// ok is false, and the figures are NaN, if there is no correction: if the judge passes wrong
// answers as often as right ones (q0+q1 <= 1, or q0'+q1' <= 1, which few labels cause), without
// labels of both kinds, and for arguments outside their ranges.
func JudgeCorrected(p float64, n int, judge JudgeAccuracy, conf float64) (c CorrectedRate, ok bool) {
	none := CorrectedRate{Rate: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
	q0, q1 := judge.Specificity, judge.Sensitivity
	if !share(p) || !share(q0) || !share(q1) || n < 1 || judge.Wrong < 1 || judge.Right < 1 ||
		!(conf > 0 && conf < 1) || q0+q1 <= 1 {
		return none, false
	}
	z := NormalQuantile((1 + conf) / 2)
	size, m0, m1 := float64(n)+z*z, float64(judge.Wrong)+2, float64(judge.Right)+2
	pa := (float64(n)*p + z*z/2) / size
	q0a, q1a := (float64(judge.Wrong)*q0+1)/m0, (float64(judge.Right)*q1+1)/m1
	better := q0a + q1a - 1
	if better <= 0 {
		return none, false
	}
	theta := (pa + q0a - 1) / better
	v0, v1 := q0a*(1-q0a)/m0, q1a*(1-q1a)/m1
	delta := 2 * z * z * (theta*v1 - (1-theta)*v0)
	half := z * math.Sqrt(pa*(1-pa)/size+(1-theta)*(1-theta)*v0+theta*theta*v1) / better
	const slack = 1e-9 // more than the rounding of a rate that is 0 or 1 exactly
	rate := (p + q0 - 1) / (q0 + q1 - 1)
	c = CorrectedRate{
		Rate:    clamp(rate),
		Lo:      clamp(theta + delta - half),
		Hi:      clamp(theta + delta + half),
		Clamped: rate < -slack || rate > 1+slack,
	}
	if min(judge.Right, judge.Wrong) < FewestLabels {
		lo, hi := permitted(p, n, judge, conf)
		c.Lo, c.Hi = min(c.Lo, lo), max(c.Hi, hi)
	}
	c.Lo, c.Hi = min(c.Lo, c.Rate), max(c.Hi, c.Rate)
	if c.Lo == c.Hi {
		c.Lo, c.Hi = math.NaN(), math.NaN()
	}
	return c, true
}

// permitted returns the lowest and the highest corrected rate if the rate and the accuracy of
// the judge may be anything in their intervals, which contain all three at confidence conf.
func permitted(p float64, n int, judge JudgeAccuracy, conf float64) (lo, hi float64) {
	z := NormalQuantile(1 - (1-conf)/6)
	pLo, pHi := score(p, float64(n), z)
	q0Lo, q0Hi := score(judge.Specificity, float64(judge.Wrong), z)
	q1Lo, q1Hi := score(judge.Sensitivity, float64(judge.Right), z)
	lo, hi = 0, 1 // such a judge may be no better than chance
	if q0Lo+q1Hi > 1 {
		lo = clamp((pLo + q0Lo - 1) / (q0Lo + q1Hi - 1))
	}
	if q0Hi+q1Lo > 1 {
		hi = clamp((pHi + q0Hi - 1) / (q0Hi + q1Lo - 1))
	}
	return lo, hi
}

func share(x float64) bool { return x >= 0 && x <= 1 }

func clamp(x float64) float64 { return min(1, max(0, x)) }
