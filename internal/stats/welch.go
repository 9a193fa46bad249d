package stats

import "math"

// MeanDifference is the difference of the means of two independent samples.
type MeanDifference struct {
	Difference float64
	// SE, the t interval Lo to Hi, the statistic T = Difference/SE with DF degrees of freedom, and
	// the two-sided p-value P of no difference. All are NaN if a sample has fewer than two values.
	// If SE is 0, the others are NaN.
	SE, Lo, Hi, T, DF, P float64
}

// Welch compares the means of two independent samples by Welch's t test, which does not assume
// equal variances. An example are the mean logarithms of the latencies of several runs of two
// programs. With sample variances s² and sizes n,
//
//	SE = √(s₁²/n₁ + s₂²/n₂),  DF = SE⁴ / ((s₁²/n₁)²/(n₁-1) + (s₂²/n₂)²/(n₂-1))
//
// (Welch 1947, Satterthwaite 1946; scipy's ttest_ind with equal_var=False). The interval of a-b has
// confidence conf. It takes the values as about normal. Samples whose values are all equal have the
// SE 0, which does not prove that the means are precise: there is no test and no interval then.
func Welch(a, b []float64, conf float64) MeanDifference {
	nan := math.NaN()
	m := MeanDifference{Difference: nan, SE: nan, Lo: nan, Hi: nan, T: nan, DF: nan, P: nan}
	if len(a) == 0 || len(b) == 0 {
		return m
	}
	meanA, varianceA := Moments(a)
	meanB, varianceB := Moments(b)
	m.Difference = meanA - meanB
	va, vb := varianceA/float64(len(a)), varianceB/float64(len(b))
	m.SE = math.Sqrt(va + vb)
	if math.IsNaN(m.SE) {
		return m
	}
	if rounding(m.SE, a) && rounding(m.SE, b) {
		m.SE = 0
		return m
	}
	m.DF = (va + vb) * (va + vb) / (va*va/float64(len(a)-1) + vb*vb/float64(len(b)-1))
	m.T = m.Difference / m.SE
	m.P = min(1, 2*StudentCDF(-math.Abs(m.T), m.DF))
	if conf > 0 && conf < 1 {
		half := StudentQuantile((1+conf)/2, m.DF) * m.SE
		m.Lo, m.Hi = m.Difference-half, m.Difference+half
	}
	return m
}
