package stats

import "math"

// Slope returns the slope of ys over xs by least squares, with its t interval at confidence conf.
// It assumes independent errors of about equal size. The ends are NaN for fewer than three values.
// The slope is not finite for fewer than two values or equal xs.
func Slope(xs, ys []float64, conf float64) (slope, low, high float64) {
	n := float64(len(xs))
	mx, my := Mean(xs), Mean(ys)
	sxx, sxy := 0.0, 0.0
	for i := range xs {
		sxx += (xs[i] - mx) * (xs[i] - mx)
		sxy += (xs[i] - mx) * (ys[i] - my)
	}
	slope = sxy / sxx
	if n < 3 {
		return slope, math.NaN(), math.NaN()
	}
	rest := 0.0
	for i := range xs {
		r := ys[i] - my - slope*(xs[i]-mx)
		rest += r * r
	}
	reach := math.Sqrt(rest/(n-2)/sxx) * StudentQuantile((1+conf)/2, n-2)
	return slope, slope - reach, slope + reach
}
