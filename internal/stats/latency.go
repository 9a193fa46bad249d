package stats

import (
	"cmp"
	"math"
	"slices"
)

// BackFill returns the latencies that requests at a fixed interval would have seen while one of
// them took value: value, value-interval, and so on, as long as they are at least interval. A
// client that waits for each answer before its next request sends none of those, so that its
// percentiles are too low (coordinated omission; the correction of HdrHistogram). It is value
// alone for interval <= 0 and for values that are not finite.
func BackFill(value, interval float64) []float64 {
	out := []float64{value}
	if !(interval > 0) || math.IsInf(value, 0) {
		return out
	}
	for i := 1.0; value-i*interval >= interval; i++ {
		out = append(out, value-i*interval)
	}
	return out
}

// OperatingPoint is how accurate a system is at some mean latency.
type OperatingPoint struct {
	Accuracy float64 // in any unit, which is that of LAFS
	Latency  float64 // in seconds, above 0
}

// LAFS returns the latency-aware frontier score of LongMemEval-V2: the best accuracy of a point
// with at most a given latency, 0 if there is none, averaged over the logarithm of the latency from
// from to to. The benchmark uses 1 and 200 seconds. It is NaN unless 0 < from < to and all
// latencies are above 0.
func LAFS(points []OperatingPoint, from, to float64) float64 {
	if !(from > 0 && from < to) || math.IsInf(to, 1) {
		return math.NaN()
	}
	sorted := slices.SortedFunc(slices.Values(points), func(a, b OperatingPoint) int { return cmp.Compare(a.Latency, b.Latency) })
	best, since, area := 0.0, from, 0.0
	for _, p := range sorted {
		if !(p.Latency > 0) || math.IsNaN(p.Accuracy) {
			return math.NaN()
		}
		at := min(max(p.Latency, from), to)
		area += best * math.Log(at/since)
		best, since = max(best, p.Accuracy), at
	}
	return (area + best*math.Log(to/since)) / math.Log(to/from)
}
