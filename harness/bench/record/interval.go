package record

import (
	"math"
	"slices"

	"evalctl/internal/stats"
)

// bars holds the counts of several histograms over their common ascending values.
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
	// fewestOfQuantile is the minimum number of blocks for the interval of a quantile. With fewer
	// blocks, its coverage is below 90 % if one block in ten stalls or if blocks are correlated
	// (TestCoverage).
	fewestOfQuantile = 40
	// fewestEffective is the minimum number of effectively independent blocks.
	fewestEffective = 4
)

// interval returns the interval of quantile p, whose value is q in nanoseconds. lost has each
// block's failed requests, which count as slower than any other. high is +Inf if there is no upper
// bound. ok is false if there are too few blocks.
//
// The ends are the quantiles at p ± t·SE, where SE is the standard error of the share of requests
// above q (Woodruff 1952). Consecutive blocks are slowed down together and thus count as fewer
// independent blocks, by the autocorrelation of their shares above q or above the median, whichever
// is stronger.
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
	reach := se * stats.StudentQuantile((1+confidence)/2, effective-1)
	low, high = 0, math.Inf(1)
	if p-reach > 0 {
		low = inMilliseconds(b.quantile(p-reach, lost))
	}
	if p+reach < 1 {
		high = inMilliseconds(b.quantile(p+reach, lost))
	}
	return low, high, true
}

// never is the time of a request that counts as slower than any other.
const never = math.MaxInt64

// inMilliseconds converts nanoseconds, never to +Inf.
func inMilliseconds(ns int64) float64 {
	if ns == never {
		return math.Inf(1)
	}
	return milliseconds(ns)
}

// quantile returns the quantile p over all blocks.
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

// shares has the number of requests above a time in each block, minus the expected number.
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

// inflation returns the variance inflation of the shares. Random variation between blocks with few
// requests hides their correlation, so the known variance of independent requests is passed as
// chance.
func (s shares) inflation() float64 {
	return inflation(s.rest, s.share*(1-s.share)*s.requests)
}

// strongest is the largest autocorrelation considered; anything stronger is a trend.
const strongest = 0.97

// inflation returns the factor by which autocorrelation in the order of values inflates the
// variance of their mean. It is (1+r)/(1-r) for a first-order autoregression, with r corrected for
// small samples (Marriott and Pope 1954). If part of the variance is known to be chance, r is
// estimated with and without it, and the larger inflation is returned.
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
