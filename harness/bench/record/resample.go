package record

import (
	"math"
	"math/rand/v2"
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

// resampled returns the ends of the intervals of the quantiles in milliseconds, nil for too few
// blocks. A resample draws whole blocks with replacement (Carlstein 1986), since requests that
// follow each other share what slows them down. The percentiles are those of
// stats.ClusterBootstrap, expanded for few blocks.
func resampled(blocks []*Histogram) (lows, highs []float64) {
	if len(blocks) < fewestBlocks {
		return nil, nil
	}
	b := newBars(blocks)
	random := rand.New(rand.NewPCG(seed, uint64(len(blocks))))
	found := make([][]float64, len(quantiles))
	sum := make([]int64, len(b.values))
	for range resamples {
		clear(sum)
		n := int64(0)
		for range blocks {
			for i, c := range b.counts[random.IntN(len(blocks))] {
				sum[i] += c
				n += c
			}
		}
		if n == 0 {
			continue // all drawn blocks are without requests
		}
		b.quantiles(sum, n, found)
	}
	c := float64(len(blocks))
	t := distuv.StudentsT{Sigma: 1, Nu: c - 1}.Quantile((1 + confidence) / 2)
	tail := distuv.UnitNormal.CDF(-t * math.Sqrt(c/(c-1)))
	for _, values := range found {
		slices.Sort(values)
		lows = append(lows, stats.NearestRank(values, tail))
		highs = append(highs, stats.NearestRank(values, 1-tail))
	}
	return lows, highs
}

// quantiles adds those of n values with the counts sum to found, in milliseconds.
func (b bars) quantiles(sum []int64, n int64, found [][]float64) {
	below, q := int64(0), 0
	for i, c := range sum {
		below += c
		for q < len(quantiles) && float64(below) >= quantiles[q]*float64(n) {
			found[q] = append(found[q], milliseconds(b.values[i]))
			q++
		}
	}
	for ; q < len(quantiles); q++ { // which rounding can leave over
		found[q] = append(found[q], milliseconds(b.values[len(b.values)-1]))
	}
}
