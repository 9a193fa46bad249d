package compare

import (
	"math"
	"slices"

	"evalctl/internal/stats"
)

// valuesOf returns a measure of a run and of its reference over the questions that have it in both.
func valuesOf(rows [][]*question, cluster []int, measure, reference, run int) (x, y []float64, of []int) {
	for i, row := range rows {
		a, b := row[run].mean(measure), row[reference].mean(measure)
		if math.IsNaN(a) || math.IsNaN(b) {
			continue
		}
		x, y = append(x, a), append(y, b)
		if cluster != nil {
			of = append(of, cluster[i])
		}
	}
	return x, y, of
}

// compareMeasures fills in Measures and Latencies, without adjusted p-values.
func (p *Pair) compareMeasures(rows [][]*question, cluster []int, resamples int) {
	p.Measures, p.Latencies = []MeasureDifference{}, []LatencyRatio{}
	for measure := range measureTotal {
		x, y, of := valuesOf(rows, cluster, measure, p.Reference, p.Run)
		verdictsOnly := measure == measureScore && binary(x) && binary(y)
		if len(x) > 0 && !verdictsOnly {
			p.Measures = append(p.Measures, difference(measureNames[measure], x, y, of, resamples))
		}
	}
	for measure := measureTotal; measure < measureCount; measure++ {
		if measure == measureFelt && !waited(rows, p.Reference) && !waited(rows, p.Run) {
			continue // it would repeat the latencies of the answering attempts
		}
		if x, y, _ := valuesOf(rows, nil, measure, p.Reference, p.Run); len(x) > 0 {
			p.Latencies = append(p.Latencies, ratio(measureNames[measure], x, y))
		}
	}
}

// waited reports whether a caller of a run felt more than the time of the answering attempt.
func waited(rows [][]*question, run int) bool {
	return slices.ContainsFunc(rows, func(row []*question) bool {
		return slices.ContainsFunc(row[run].attempts, func(a attempt) bool {
			return a.values[measureFelt] > a.values[measureTotal]
		})
	})
}

// binary reports whether the scores say no more than the verdicts.
func binary(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v != 0 && v != 1 })
}

func difference(name string, x, y []float64, cluster []int, resamples int) MeasureDifference {
	d := make([]float64, len(x))
	for i := range d {
		// Means over repeats that are equal on paper differ by rounding.
		if d[i] = x[i] - y[i]; math.Abs(d[i]) < 1e-12 {
			d[i] = 0
		}
	}
	m := MeasureDifference{Name: name, N: len(x), ReferenceMean: mean(y), RunMean: mean(x), Difference: mean(d)}
	if cluster != nil {
		f := stats.FlipClusters(d, cluster, resamples, seed)
		m.Interval, m.Test, m.P = clusterInterval(f), clusterTest(f), f.P(0)
		return m
	}
	boot := stats.Bootstrap(d, nil, resamples, seed, Confidence)
	p, exact := stats.SignFlip(d, resamples, seed)
	m.Interval = interval("bootstrap_percentile_paired", boot.Lo, boot.Hi, -1, 1)
	if m.Test, m.P = "sign_flip", p; exact {
		m.Test = "sign_flip_exact"
	}
	return m
}

func ratio(name string, x, y []float64) LatencyRatio {
	r := stats.LogRatio(x, y, Confidence)
	return LatencyRatio{
		Name: name, N: len(x), RunP50: median(x), ReferenceP50: median(y), Ratio: r.Ratio,
		Interval: interval("student_t_log_ratio", r.Lo, r.Hi, 0, math.Inf(1)), Test: "log_ratio_t", P: known(r.P),
	}
}

func median(values []float64) float64 {
	return stats.Percentile(slices.Sorted(slices.Values(values)), 0.5)
}

// adjustMeasures sets the adjusted p-values and the verdicts of each measure over the pairs.
func adjustMeasures(pairs []Pair) {
	for _, name := range measureNames {
		var means []*MeasureDifference
		var ratios []*LatencyRatio
		var ps []float64
		for i := range pairs {
			for j := range pairs[i].Measures {
				if m := &pairs[i].Measures[j]; m.Name == name {
					means, ps = append(means, m), append(ps, m.P)
				}
			}
			for j := range pairs[i].Latencies {
				l := &pairs[i].Latencies[j]
				if l.Name != name {
					continue
				}
				l.Verdict = NotSeen
				if l.P != nil {
					ratios, ps = append(ratios, l), append(ps, *l.P)
				}
			}
		}
		adjusted := stats.Holm(ps)
		for i, m := range means {
			m.Adjusted = adjusted[i]
			m.Verdict = verdictOf(adjusted[i], m.Difference)
		}
		for i, l := range ratios {
			l.Adjusted = &adjusted[i]
			l.Verdict = verdictOf(adjusted[i], 1-l.Ratio)
		}
	}
}
