package record

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"evalctl/internal/stats"
)

// bars are the counts of several histograms over the values that any of them has, ascending.
type bars struct {
	values []int64
	counts [][]int64 // by histogram
}

func newBars(hs []*Histogram) bars {
	var b bars
	at := map[int64]int{}
	for _, h := range hs {
		if h.N() == 0 {
			continue
		}
		for _, bar := range h.h.Distribution() {
			if bar.Count > 0 {
				at[bar.To] = 0
			}
		}
	}
	for v := range at {
		b.values = append(b.values, v)
	}
	slices.Sort(b.values)
	for i, v := range b.values {
		at[v] = i
	}
	for _, h := range hs {
		counts := make([]int64, len(b.values))
		if h.N() > 0 {
			for _, bar := range h.h.Distribution() {
				if bar.Count > 0 {
					counts[at[bar.To]] += bar.Count
				}
			}
		}
		b.counts = append(b.counts, counts)
	}
	return b
}

const (
	// fewestOfQuantile are the blocks with which the interval of a quantile is shown. With fewer, one
	// in ten of which has a stall, or that are alike, it covers in less than 90 % (TestCoverage).
	fewestOfQuantile = 40
	// fewestEffective are independent blocks that say as much.
	fewestEffective = 4
)

// interval returns the ends of the interval of quantile p, whose value is q in nanoseconds, with the
// requests of each block that count as slower than any. high is +Inf if it may be any time. ok is
// false if the blocks say too little.
//
// The share of requests above q in each block has a variance, which is that of the share below the
// quantile (Woodruff 1952): the ends are the quantiles at p ± t·SE. Blocks that follow each other
// share what slows them down. They count as fewer independent ones, by the autocorrelation of these
// shares or of those above the median, whichever is stronger.
func (b bars) interval(p float64, q int64, lost []int64) (low, high float64, ok bool) {
	above := b.above(q, lost)
	median := b.above(b.quantile(0.5, lost), lost)
	each := max(above.inflation(), median.inflation())
	blocks := float64(len(b.counts))
	effective := blocks / each
	if effective < fewestEffective || len(b.counts) < fewestOfQuantile {
		return 0, 0, false
	}
	_, variance := stats.Moments(above.rest)
	se := math.Sqrt(variance*blocks*each) / (blocks * above.requests)
	reach := se * distuv.StudentsT{Sigma: 1, Nu: effective - 1}.Quantile((1+confidence)/2)
	low, high = 0, math.Inf(1)
	if p-reach > 0 {
		low = inMilliseconds(b.quantile(p-reach, lost))
	}
	if p+reach < 1 {
		high = inMilliseconds(b.quantile(p+reach, lost))
	}
	return low, high, true
}

// never is the time of a request that counts as slower than any.
const never = math.MaxInt64

// inMilliseconds converts a time in nanoseconds, +Inf for never.
func inMilliseconds(ns int64) float64 {
	if ns == never {
		return math.Inf(1)
	}
	return milliseconds(ns)
}

// quantile returns the quantile p of all blocks together.
func (b bars) quantile(p float64, lost []int64) int64 {
	n := int64(0)
	for i, counts := range b.counts {
		n += lost[i]
		for _, c := range counts {
			n += c
		}
	}
	rank := rankOf(p, n)
	for i, v := range b.values {
		for _, counts := range b.counts {
			rank -= counts[i]
		}
		if rank <= 0 {
			return v
		}
	}
	return never
}

// shares are the requests of each block above a time, less as many as on average.
type shares struct {
	rest     []float64
	share    float64 // of all requests
	requests float64 // of a block, on average
}

func (b bars) above(q int64, lost []int64) shares {
	s := shares{rest: make([]float64, len(b.counts))}
	n := make([]float64, len(b.counts))
	for i, counts := range b.counts {
		s.rest[i], n[i] = float64(lost[i]), float64(lost[i])
		for j, c := range counts {
			if n[i] += float64(c); b.values[j] > q {
				s.rest[i] += float64(c)
			}
		}
	}
	s.requests = stats.Mean(n)
	s.share = stats.Mean(s.rest) / s.requests
	for i := range s.rest {
		s.rest[i] -= s.share * n[i]
	}
	return s
}

// inflation returns that of the shares. Few requests of a block vary by chance, which hides how much
// blocks have in common: the variance that independent requests have is known.
func (s shares) inflation() float64 {
	return inflation(s.rest, s.share*(1-s.share)*s.requests)
}

// strongest is the strongest autocorrelation that is told from a trend.
const strongest = 0.97

// inflation returns how many times as large the variance of the mean of values in their order is as if
// they were independent. It is (1+r)/(1-r) of a first-order autoregression, whose r is estimated with
// the correction for few values of Marriott and Pope (1954). If a part of the variance is known to be
// chance, r is estimated with and without it, and the larger inflation counts.
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
	if common := variance - chance; chance > 0 && common > 0 {
		worst = max(worst, (chance+common*times(common))/variance)
	}
	return worst
}
