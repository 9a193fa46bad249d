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

// fewestOfQuantile is the minimum number of blocks for the interval of a quantile. With fewer
// blocks, its coverage is below 90 % if one block in ten stalls (TestCoverage).
const fewestOfQuantile = 40

// interval returns the interval of quantile p, whose value is q in nanoseconds. lost has each
// block's failed requests, which count as slower than any other. high is +Inf if there is no upper
// bound. ok is false if there are too few blocks, or if they are too alike.
//
// The ends are the quantiles at p ± t·SE, where SE is the standard error of the share of requests
// above q (Woodruff 1952). Consecutive blocks are slowed down together. So t·SE is the reach of
// these shares (reachOf), with the stronger of two autocorrelations: theirs, and the one of the shares
// above the median.
func (b bars) interval(p float64, q int64, lost []int64) (low, high float64, ok bool) {
	above := b.above(q, lost)
	median := b.above(b.quantile(0.5, lost), lost)
	each := max(above.inflation(), median.inflation())
	if len(b.counts) < fewestOfQuantile {
		return 0, 0, false
	}
	reach, ok := reachOf(above.rest, each)
	if !ok {
		return 0, 0, false
	}
	reach /= above.requests
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
