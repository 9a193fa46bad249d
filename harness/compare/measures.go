package compare

import (
	"slices"

	"evalctl/internal/stats"
)

// compareMeasures fills in Measures.
func (p *Pair) compareMeasures(rows [][]*question, d design, f *families) {
	p.Measures = make([]MeasureDifference, 0, measureTotal)
	for measure := range measureTotal {
		if measure >= measureRecall && !d.byDocument {
			continue
		}
		c := d.contrast(rows, p.Reference, p.Run, false, func(q *question) float64 { return q.mean(measure) })
		verdictsOnly := measure == measureScore && binary(c.run) && binary(c.reference)
		if len(c.run) == 0 || verdictsOnly {
			continue
		}
		p.Measures = append(p.Measures, MeasureDifference{
			Name: measureNames[measure], N: len(c.run), ReferenceMean: stats.Mean(c.reference), RunMean: stats.Mean(c.run),
			Difference: stats.Mean(c.differences()), Test: c.test(), P: c.p(0),
		})
		m := &p.Measures[len(p.Measures)-1]
		f.add(p, m.Name, &m.P, func(j judgement) {
			m.Adjusted, m.Interval, m.Verdict = j.adjusted, c.interval(1-j.level), j.verdict(m.Difference)
		})
	}
}

// binary reports whether all scores are 0 or 1, so that they repeat the verdicts.
func binary(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v != 0 && v != 1 })
}
