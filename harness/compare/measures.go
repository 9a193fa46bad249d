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

// compareMeasures fills in Measures, without adjusted p-values.
func (p *Pair) compareMeasures(rows [][]*question, cluster []int, resamples int) {
	p.Measures = []MeasureDifference{}
	for measure := range measureTotal {
		x, y, of := valuesOf(rows, cluster, measure, p.Reference, p.Run)
		verdictsOnly := measure == measureScore && binary(x) && binary(y)
		if len(x) > 0 && !verdictsOnly {
			p.Measures = append(p.Measures, difference(measureNames[measure], x, y, of, resamples))
		}
	}
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
	m := MeasureDifference{Name: name, N: len(x), ReferenceMean: stats.Mean(y), RunMean: stats.Mean(x), Difference: stats.Mean(d)}
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

// adjustMeasures sets the adjusted p-values and the verdicts of each measure over the pairs.
func adjustMeasures(pairs []Pair) {
	for _, name := range measureNames[:measureTotal] {
		var family []tested
		for i := range pairs {
			for j := range pairs[i].Measures {
				if m := &pairs[i].Measures[j]; m.Name == name {
					family = append(family, tested{m.P, func(p float64) { m.Adjusted, m.Verdict = p, verdictOf(p, m.Difference) }})
				}
			}
		}
		adjust(family)
	}
}
