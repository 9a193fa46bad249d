package stats

import "math"

// LongRun returns the long-run variance of values in the order of time, and its degrees of freedom.
// The variance divided by their number is the variance of their mean, however far apart in time
// they are correlated, as long as it is not over most of them. It is the equal-weighted cosine
// estimator with 0.41·n^(2/3) and at least 2 terms (Lazarus, Lewis, Stock and Watson 2018).
func LongRun(values []float64) (variance float64, freedom int) {
	n, mean := float64(len(values)), Mean(values)
	freedom = max(2, int(0.41*math.Pow(n, 2.0/3)))
	for j := range freedom {
		sum := 0.0
		for t, v := range values {
			sum += (v - mean) * math.Cos(math.Pi*float64(j+1)*(float64(t)+0.5)/n)
		}
		variance += 2 / n * sum * sum / float64(freedom)
	}
	return variance, freedom
}
