package compare

import (
	"math"

	"evalctl/internal/stats"
)

// The level and the power for planning a comparison.
const (
	alpha = 1 - Confidence
	power = 0.8
)

// comparePairs fills in Pairs and adds their tests to the families.
func (c *Comparison) comparePairs(runs []*Run, a *alignment, opts Options, f *families) {
	for reference := range c.Runs {
		if c.Baseline != "" && reference > 0 {
			break
		}
		for run := reference + 1; run < len(c.Runs); run++ {
			c.Pairs = append(c.Pairs, Pair{Reference: reference, Run: run})
		}
	}
	d := design{a.clusterOf(c.ClusterTag), c.Repeated, opts.Resamples, documentsAlike(runs)}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		p.LeakedIDs = p.leaked(a.rows)
		p.Measures, p.Latencies = []MeasureDifference{}, []LatencyRatio{}
		if !c.Headlined(p) {
			p.compareRates(a.rows, d, opts, &families{})
			p.P, p.Verdict, p.Power, p.Margin = nil, NotJudged, nil, nil
			continue
		}
		p.compareRates(a.rows, d, opts, f)
		p.compareRecipes(bothHave(recipesOf(runs[p.Reference]), recipesOf(runs[p.Run])), a.rows, d)
		p.compareMeasures(a.rows, d, f)
		p.compareLatencies(a.rows, f)
	}
}

// leaked returns the ids of LeakedIDs.
func (p *Pair) leaked(rows [][]*question) (ids []string) {
	for _, row := range rows {
		before, known := row[p.Reference].leaks()
		if now, of := row[p.Run].leaks(); 2*now > of && before == 0 && known > 0 {
			ids = append(ids, row[p.Run].id)
		}
	}
	return ids
}

// compareRates fills in the pass rates and their difference.
func (p *Pair) compareRates(rows [][]*question, d design, opts Options, f *families) {
	r := d.contrast(rows, p.Reference, p.Run, true, (*question).passRate)
	p.Table = r.table()
	f.add(p, passRate, p.P, p.judge(r))
	p.OnlyRunIDs, p.OnlyReferenceIDs = []string{}, []string{}
	for i, x := range r.run {
		if x > r.reference[i] {
			p.OnlyRunIDs = append(p.OnlyRunIDs, r.ids[i])
		} else if x < r.reference[i] {
			p.OnlyReferenceIDs = append(p.OnlyReferenceIDs, r.ids[i])
		}
	}
	if p.N == 0 {
		return
	}
	p.SE = known(r.se())
	p.RunRate, p.ReferenceRate = known(stats.Mean(r.run)), known(stats.Mean(r.reference))
	if r.flips == nil {
		p.Power = powerOf(p.Table)
	}
	if opts.Margin != nil {
		p.Margin = r.margin(*opts.Margin)
	}
}

// table counts the pairs and tests their difference. judge sets Adjusted and Verdict later.
func (c contrast) table() Table {
	t := c.counts()
	if t.Test = c.test(); c.cluster != nil {
		t.Clusters = c.flips.Clusters
	}
	if t.N == 0 {
		return t
	}
	t.Difference, t.P = known(stats.Mean(c.differences())), known(c.p(0))
	t.Interval = c.interval(Confidence)
	return t
}

// judge returns a function that sets the adjusted p-value, the interval at its level, and the
// verdict.
func (t *Table) judge(c contrast) func(judgement) {
	return func(j judgement) {
		t.Adjusted, t.Interval = &j.adjusted, c.interval(1-j.level)
		t.Verdict = j.verdict(*t.Difference)
	}
}

// powerOf returns the power of McNemar's test for this number of pairs and this disagreement.
func powerOf(t Table) *Power {
	p := &Power{Alpha: 0.05, Power: power, Disagreement: float64(t.OnlyRun+t.OnlyReference) / float64(t.N)}
	p.Detectable = known(stats.MinDetectable(t.N, p.Disagreement, alpha, power))
	if seen := math.Abs(*t.Difference); seen > 0 {
		n := stats.McNemarSize(p.Disagreement, seen, alpha, power)
		if n < math.MaxInt32 { // and it is not NaN
			needed := int(n)
			p.Confirm, p.Needed = &seen, &needed
		}
	}
	return p
}
