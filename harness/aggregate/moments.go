package aggregate

import (
	"maps"
	"math"
	"slices"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// moments adds up shares and their squares in units of 1e-9, so that the order of adding does not
// matter.
type moments struct {
	values, squares int64
}

func (s *moments) add(share float64) {
	s.values += int64(math.Round(share * 1e9))
	s.squares += int64(math.Round(share * share * 1e9))
}

func (s moments) mean(n int) float64 { return float64(s.values) / 1e9 / float64(n) }

// interval returns the confidence interval of the mean of n shares; ok is false if all are equal.
func (s moments) interval(n int) (i result.Interval, ok bool) {
	mean := s.mean(n)
	variance := (float64(s.squares)/1e9 - float64(n)*mean*mean) / float64(n-1)
	if n < 2 || variance < 1e-7 { // rounding alone can cause as much
		return i, false
	}
	lo, hi := stats.MeanCI(n, mean, variance, confidence)
	i = result.Interval{Method: result.MethodT, Confidence: confidence, Low: max(0, lo), High: min(1, hi)}
	return i, true
}

// histogram counts how often each number occurs.
type histogram map[int]int

// spread returns the range and the median of at least one number.
func (h histogram) spread() result.Spread {
	numbers, n := slices.Sorted(maps.Keys(h)), 0
	for _, count := range h {
		n += count
	}
	at := func(index int) int {
		for _, number := range numbers {
			if index -= h[number]; index < 0 {
				return number
			}
		}
		return 0
	}
	median := float64(at((n-1)/2)+at(n/2)) / 2
	return result.Spread{Min: numbers[0], Median: median, Max: numbers[len(numbers)-1]}
}

// Quantiles summarises latencies in milliseconds, rounded to microseconds.
func Quantiles(values []float64) result.Quantiles {
	q := result.Quantiles{N: len(values)}
	if q.N == 0 {
		return q
	}
	sorted := slices.Sorted(slices.Values(values))
	q.P50, q.P50Interval = quantile(sorted, 0.50)
	q.P95, q.P95Interval = quantile(sorted, 0.95)
	q.P99, q.P99Interval = quantile(sorted, 0.99)
	return q
}

// quantile returns the quantile p of sorted values with its interval, nil if there are too few
// values.
func quantile(sorted []float64, p float64) (*float64, *result.Interval) {
	lo, hi, _ := stats.QuantileCI(len(sorted), p, confidence)
	if lo == 0 {
		return nil, nil
	}
	rounded := func(v float64) float64 { return math.Round(v*1000) / 1000 }
	return new(rounded(stats.Percentile(sorted, p))), &result.Interval{
		Method: "order_statistics", Confidence: confidence,
		Low: rounded(sorted[lo-1]), High: rounded(sorted[hi-1]),
	}
}
