package stats

import (
	"math"
	"slices"
)

// Percentile returns the quantile p of values sorted in ascending order, by linear interpolation
// between the two nearest (type 7 of Hyndman and Fan 1996, the default of R and NumPy). p is a
// fraction: 0.95 is the 95th percentile. A single value is its own quantile for every p. The result
// is NaN for no values, for p outside 0..1, and if a value is NaN, which sorts first.
func Percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 || math.IsNaN(sorted[0]) || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	whole, part := math.Modf(float64(len(sorted)-1) * p)
	lo := sorted[int(whole)]
	if part == 0 {
		return lo
	}
	return lo + part*(sorted[int(whole)+1]-lo)
}

// Median returns the Percentile 0.5 of values in any order.
func Median(values []float64) float64 {
	return Percentile(slices.Sorted(slices.Values(values)), 0.5)
}

// NearestRank returns the quantile p of values sorted in ascending order that is one of them: the
// value of rank ⌈p·n⌉, from 1 (type 1 of Hyndman and Fan 1996). A product less than 1e-9 above an
// integer counts as that integer, as in Required. NaN is as in Percentile.
func NearestRank(sorted []float64, p float64) float64 {
	if len(sorted) == 0 || math.IsNaN(sorted[0]) || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	return sorted[max(1, int(math.Ceil(p*float64(len(sorted))-1e-9)))-1]
}

// QuantileCIMin returns the smallest sample with a two-sided distribution-free interval of quantile
// p at confidence conf. The widest interval extends from the smallest value to the largest and
// covers with probability 1 - pⁿ - (1-p)ⁿ (order statistics; Hahn and Meeker 1991). With fewer
// values, a quantile should not be reported as if it were known. p and conf are fractions. Outside
// 0 < p < 1 and 0 <= conf < 1 no sample suffices, and the result is math.MaxInt.
func QuantileCIMin(p, conf float64) int {
	if !(p > 0 && p < 1 && conf >= 0 && conf < 1) {
		return math.MaxInt
	}
	miss := func(n int) float64 {
		return math.Pow(p, float64(n)) + math.Pow(1-p, float64(n))
	}
	// The larger term alone yields a lower bound that is close.
	n := max(1, int(math.Log(1-conf)/math.Log(max(p, 1-p))))
	for miss(n) > 1-conf {
		n++
	}
	return n
}

// QuantileCI returns the ranks, from 1, of two of n sorted values that enclose quantile p with
// probability covers, at least conf, for independent values of any distribution (order statistics;
// Hahn and Meeker 1991). With B binomial of n and p, covers is P(lo <= B < hi). It is the pair with
// the fewest values between, then the one that covers most, then the lower one: the median of 50
// values has 18, 32, with 0.951. lo, hi and covers are 0 for n below QuantileCIMin(p, conf), which
// includes invalid arguments.
func QuantileCI(n int, p, conf float64) (lo, hi int, covers float64) {
	if n < QuantileCIMin(p, conf) {
		return 0, 0, 0
	}
	first, below := binomialBelow(n, p)
	width := n
	for i, j := 0, 0; i < len(below); i++ {
		l := first + i
		if l < 1 {
			continue
		}
		// The end only moves up, because the probability from l on only falls.
		for j < len(below) && below[j]-below[i] < conf {
			j++
		}
		if j == len(below) || first+j > n {
			break
		}
		got := below[j] - below[i]
		if w := j - i; w < width || w == width && got > covers+1e-12 {
			lo, hi, covers, width = l, first+j, got, w
		}
	}
	return lo, hi, covers
}

// binomialBelow returns P(B < first+i) at index i, for B binomial of n and p. It covers the values
// within ten standard deviations and some 20 of the mean. The rest is below 1e-20.
func binomialBelow(n int, p float64) (first int, below []float64) {
	mean := float64(n) * p
	reach := 10*math.Sqrt(mean*(1-p)) + 20
	first = max(0, int(mean-reach))
	last := min(n, int(mean+reach))
	// The terms relative to the term of the mode, which avoids factorials. Their sum scales them.
	terms := make([]float64, last-first+1)
	mode := min(max(int(mean), first), last)
	terms[mode-first] = 1
	odds := p / (1 - p)
	for x := mode; x < last; x++ {
		terms[x+1-first] = terms[x-first] * float64(n-x) / float64(x+1) * odds
	}
	for x := mode; x > first; x-- {
		terms[x-1-first] = terms[x-first] * float64(x) / float64(n-x+1) / odds
	}
	sum := 0.0
	for _, t := range terms {
		sum += t
	}
	below = make([]float64, len(terms)+1)
	for i, t := range terms {
		below[i+1] = below[i] + t/sum
	}
	return first, below
}
