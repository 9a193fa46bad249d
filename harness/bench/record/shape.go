package record

import (
	"math"
	"slices"

	"evalctl/internal/stats"
)

const (
	// fits is the largest factor by which a curve may miss the value at a size.
	fits = 1.1
	// bent is the confidence at which a curve must be shown to miss, if there are enough rounds.
	bent = 0.99
)

// shape replaces the exponent if the logarithms of rounds, by size, are not on a line. The
// replacement is a constant plus a power if that fits, or else the exponents of single steps.
func (g *Growth) shape(rounds [][]float64) {
	means := meanOfRounds(rounds)
	xs := logs(g.Sizes)
	if len(xs) < 3 || !missed(xs, rounds) {
		return
	}
	g.Low, g.High = nil, nil
	c := curveOf(g.Sizes, means)
	if c.constant == 0 || worstOf(c.rest(g.Sizes, means)) > math.Log(fits) {
		for i := range len(xs) - 1 {
			g.Steps = append(g.Steps, (means[i+1]-means[i])/(xs[i+1]-xs[i]))
		}
		return
	}
	g.Exponent, g.Constant = c.exponent, finite(c.constant)
	if len(rounds) < fewestBlocks {
		return
	}
	without := make([]float64, len(rounds))
	for i := range rounds {
		without[i] = curveOf(g.Sizes, meanOfRounds(slices.Delete(slices.Clone(rounds), i, i+1))).exponent
	}
	// The jackknife variance is (n-1)² times the variance of the mean of n values.
	_, variance := stats.Moments(without)
	n := float64(len(rounds))
	lo, hi := stats.MeanCI(len(rounds), c.exponent, variance*(n-1)*(n-1), confidence)
	g.Low, g.High = finite(lo), finite(hi)
}

// meanOfRounds returns the mean of each size.
func meanOfRounds(rounds [][]float64) []float64 {
	means := make([]float64, len(rounds[0]))
	for _, ys := range rounds {
		for i, y := range ys {
			means[i] += y / float64(len(rounds))
		}
	}
	return means
}

// missed reports whether a line misses the mean of a size by more than fits, and by more than
// chance explains if there are enough rounds to tell.
func missed(xs []float64, rounds [][]float64) bool {
	rest := make([][]float64, len(rounds))
	for i, ys := range rounds {
		rest[i] = offLine(xs, ys)
	}
	means := meanOfRounds(rest)
	at := slices.IndexFunc(means, func(r float64) bool { return math.Abs(r) == worstOf(means) })
	if math.Abs(means[at]) <= math.Log(fits) || len(rounds) < fewestBlocks {
		return math.Abs(means[at]) > math.Log(fits)
	}
	values := make([]float64, len(rest))
	for i := range rest {
		values[i] = rest[i][at]
	}
	mean, variance := stats.Moments(values)
	// Adjusted because the worst of all sizes was chosen.
	lo, hi := stats.MeanCI(len(values), mean, variance, 1-(1-bent)/float64(len(xs)))
	return lo > 0 || hi < 0
}

// offLine returns how far values lie above the least-squares line.
func offLine(xs, ys []float64) []float64 {
	slope, _, _ := stats.Slope(xs, ys, confidence)
	mx, my := stats.Mean(xs), stats.Mean(ys)
	rest := make([]float64, len(xs))
	for i := range xs {
		rest[i] = ys[i] - my - slope*(xs[i]-mx)
	}
	return rest
}

func worstOf(rest []float64) (worst float64) {
	for _, r := range rest {
		worst = max(worst, math.Abs(r))
	}
	return worst
}

// curve is constant + factor·size^exponent.
type curve struct{ constant, factor, exponent float64 }

// rest returns how far the logarithms of values lie above the curve.
func (c curve) rest(sizes []int, ys []float64) []float64 {
	rest := make([]float64, len(ys))
	for i, n := range sizes {
		rest[i] = ys[i] - math.Log(c.constant+c.factor*math.Pow(float64(n), c.exponent))
	}
	return rest
}

// The range of exponents that curveOf tries for a constant plus a power.
const (
	finest   = 0.01
	steepest = 4
)

// curveOf returns the curve with the least squared relative error, given the logarithms ys of the
// values. Its constant is 0 if a positive one does not improve the fit.
func curveOf(sizes []int, ys []float64) (best curve) {
	least := math.Inf(1)
	for e := finest; e <= steepest; e += finest {
		// The errors are 1 - constant·u - factor·w.
		var u, w, uu, uw, ww float64
		for i, n := range sizes {
			v := math.Exp(ys[i])
			x, z := 1/v, math.Pow(float64(n), e)/v
			u, w, uu, uw, ww = u+x, w+z, uu+x*x, uw+x*z, ww+z*z
		}
		c := curve{(u*ww - w*uw) / (uu*ww - uw*uw), (w*uu - u*uw) / (uu*ww - uw*uw), e}
		if !(c.constant > 0) {
			c.constant, c.factor = 0, w/ww
		}
		sum := 0.0
		for i, n := range sizes {
			r := 1 - (c.constant+c.factor*math.Pow(float64(n), e))/math.Exp(ys[i])
			sum += r * r
		}
		if c.factor > 0 && sum < least*(1-1e-9) {
			best, least = c, sum
		}
	}
	return best
}
