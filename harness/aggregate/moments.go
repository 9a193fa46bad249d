package aggregate

import (
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

// interval returns the confidence interval of the mean of n shares; ok is false if all are the
// same.
func (s moments) interval(n int) (i result.Interval, ok bool) {
	mean := s.mean(n)
	variance := (float64(s.squares)/1e9 - float64(n)*mean*mean) / float64(n-1)
	if n < 2 || variance < 1e-7 { // rounding alone can cause as much
		return i, false
	}
	lo, hi := stats.MeanCI(n, mean, variance, 0.95)
	i = result.Interval{Method: "student_t", Confidence: 0.95, Low: max(0, lo), High: min(1, hi)}
	return i, true
}

// Quantiles summarises latencies in milliseconds, rounded to microseconds.
func Quantiles(values []float64) result.Quantiles {
	q := result.Quantiles{N: len(values)}
	if q.N == 0 {
		return q
	}
	sorted := slices.Sorted(slices.Values(values))
	at := func(p float64) *float64 {
		v := math.Round(stats.Percentile(sorted, p)*1000) / 1000
		return &v
	}
	q.P50, q.P95, q.P99 = at(0.50), at(0.95), at(0.99)
	return q
}
