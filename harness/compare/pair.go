package compare

import (
	"math"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// rates are the pass rates of a run and of its reference, question by question.
type rates struct {
	run, reference []float64
	ids            []string
	// flips is the test of the difference over the clusters, nil without clusters.
	flips *stats.ClusterFlips
	// cluster is that of each question, nil for none.
	cluster []int
	// unscored is the number of questions that are left out.
	unscored int
}

// ratesOf pairs two runs. cluster is that of each row, nil for none.
func ratesOf(rows [][]*question, reference, run int, cluster []int, resamples int) rates {
	return ratesBy(rows, reference, run, cluster, resamples, (*question).passes)
}

// ratesBy is ratesOf by verdicts that passes counts.
func ratesBy(
	rows [][]*question, reference, run int, cluster []int, resamples int, passes func(*question) (passed, judged int),
) rates {
	var out rates
	for i, row := range rows {
		x, n := passes(row[run])
		y, m := passes(row[reference])
		if n == 0 || m == 0 {
			out.unscored++
			continue
		}
		out.run = append(out.run, float64(x)/float64(n))
		out.reference = append(out.reference, float64(y)/float64(m))
		out.ids = append(out.ids, row[run].id)
		if cluster != nil {
			out.cluster = append(out.cluster, cluster[i])
		}
	}
	if cluster != nil {
		flips := stats.FlipClusters(out.differences(), out.cluster, resamples, seed)
		out.flips = &flips
	}
	return out
}

// differences returns the rate of the run less that of the reference for each question.
func (r rates) differences() []float64 {
	d := make([]float64, len(r.run))
	for i := range d {
		d[i] = r.run[i] - r.reference[i]
	}
	return d
}

// table counts the pairs and tests their difference. Adjusted and Verdict are the caller's to set.
func (r rates) table(repeated bool, resamples int) Table {
	t := r.counts()
	switch {
	case r.flips != nil:
		t.Clusters, t.Test = r.flips.Clusters, clusterTest(*r.flips)
	case repeated:
		t.Test = "sign_flip"
	default:
		t.Test = "mcnemar_exact"
	}
	if t.N == 0 {
		return t
	}
	t.Difference = known(stats.Mean(r.differences()))
	switch {
	case r.flips != nil:
		t.P = known(r.flips.P(0))
		t.Interval = clusterInterval(*r.flips)
		return t
	case repeated:
		p, exact := stats.SignFlip(r.differences(), resamples, seed)
		if exact {
			t.Test = "sign_flip_exact"
		}
		t.P = known(p)
	default:
		t.P = known(stats.McNemarExact(t.OnlyRun, t.OnlyReference))
	}
	method, ends := r.ends(t, repeated)
	lo, hi := ends(Confidence)
	t.Interval = interval(method, lo, hi, -1, 1)
	return t
}

// counts counts the pairs.
func (r rates) counts() Table {
	t := Table{N: len(r.run), Unscored: r.unscored}
	for i, x := range r.run {
		switch y := r.reference[i]; {
		case x > y:
			t.OnlyRun++
		case x < y:
			t.OnlyReference++
		case x == 1:
			t.Both++
		case x == 0:
			t.Neither++
		default:
			t.Tied++
		}
	}
	return t
}

// pairsOf returns the pairs of a table without repeats.
func pairsOf(t Table) stats.Pairs {
	return stats.Pairs{Both: t.Both, First: t.OnlyRun, Second: t.OnlyReference, Neither: t.Neither}
}

// ends returns the interval of the difference by its confidence that takes the questions as
// independent.
func (r rates) ends(t Table, repeated bool) (method string, ends func(conf float64) (lo, hi float64)) {
	if !repeated {
		return "newcombe_paired", pairsOf(t).Newcombe
	}
	return "student_t_paired", func(conf float64) (lo, hi float64) {
		m := stats.PairedMeans(r.run, r.reference, conf)
		return m.Lo, m.Hi
	}
}

// se returns the standard error of the difference.
func (r rates) se(t Table, repeated bool) float64 {
	switch {
	case r.flips != nil:
		return stats.Clustered(r.differences(), r.cluster, Confidence).SE
	case repeated:
		return stats.PairedMeans(r.run, r.reference, Confidence).SE
	}
	return pairsOf(t).SE()
}

// clusterTest names the test over clusters.
func clusterTest(f stats.ClusterFlips) string {
	if f.Exact {
		return "sign_flip_clusters_exact"
	}
	return "sign_flip_clusters"
}

// clusterInterval returns the differences that the test over clusters does not reject, nil if it
// cannot tell.
func clusterInterval(f stats.ClusterFlips) *result.Interval {
	lo, hi := f.Interval(Confidence)
	return interval("sign_flip_clusters", lo, hi, -1, 1)
}

// comparePairs fills in Pairs and their p-values.
func (c *Comparison) comparePairs(runs []*Run, a *aligned, opts Options) {
	for reference := range c.Runs {
		if c.Baseline != "" && reference > 0 {
			break
		}
		for run := reference + 1; run < len(c.Runs); run++ {
			c.Pairs = append(c.Pairs, Pair{Reference: reference, Run: run})
		}
	}
	c.Tests = len(c.Pairs)
	cluster := a.clusterOf(c.ClusterTag)
	tables := make([]*Table, len(c.Pairs))
	for i := range c.Pairs {
		c.Pairs[i].compare(a.rows, cluster, c.Repeated, opts)
		p := &c.Pairs[i]
		p.compareRecipes(bothHave(recipesOf(runs[p.Reference]), recipesOf(runs[p.Run])), a.rows, cluster, c.Repeated, opts.Resamples)
		tables[i] = &p.Table
	}
	adjustTables(tables)
	adjustMeasures(c.Pairs)
	adjustLatencies(c.Pairs)
}

func (p *Pair) compare(rows [][]*question, cluster []int, repeated bool, opts Options) {
	r := ratesOf(rows, p.Reference, p.Run, cluster, opts.Resamples)
	p.Table = r.table(repeated, opts.Resamples)
	p.OnlyRunIDs, p.OnlyReferenceIDs = []string{}, []string{}
	for i, x := range r.run {
		if x > r.reference[i] {
			p.OnlyRunIDs = append(p.OnlyRunIDs, r.ids[i])
		} else if x < r.reference[i] {
			p.OnlyReferenceIDs = append(p.OnlyReferenceIDs, r.ids[i])
		}
	}
	if p.N > 0 {
		p.SE = known(r.se(p.Table, repeated))
		p.RunRate, p.ReferenceRate = known(stats.Mean(r.run)), known(stats.Mean(r.reference))
		if !repeated && cluster == nil {
			p.Power = powerOf(p.Table)
		}
		if opts.Margin != nil {
			p.Margin = r.margin(p.Table, repeated, *opts.Margin)
		}
	}
	p.compareMeasures(rows, cluster, opts.Resamples)
	p.compareLatencies(rows)
}

// The level and the power that a comparison is planned with.
const (
	alpha = 1 - Confidence
	power = 0.8
)

// powerOf says what McNemar's test could see with so many pairs and so much disagreement.
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

// margin tests whether the run is not worse by a margin or more. With clusters both their test and
// the one that takes the questions as independent must show it: if few questions differ, the
// clusters look more certain than they are (docs/statistics.md, Clusters).
func (r rates) margin(t Table, repeated bool, margin float64) *MarginTest {
	const level = alpha / 2
	method, ends := r.ends(t, repeated)
	lo, hi := ends(Confidence)
	prob := stats.NonInferiority(*t.Difference, margin, level, ends)
	if r.flips != nil {
		method = "sign_flip_clusters_wider"
		fromLo, fromHi := r.flips.Interval(Confidence)
		clustered := r.flips.P(-margin) / 2
		if *t.Difference < -margin {
			clustered = 1 - clustered
		}
		lo, hi, prob = min(lo, fromLo), max(hi, fromHi), max(prob, clustered)
	}
	m := &MarginTest{Margin: margin, Interval: interval(method, lo, hi, -1, 1), Verdict: result.Unknown}
	if m.Interval == nil {
		return m
	}
	m.P = known(prob)
	switch {
	case prob <= level:
		m.Verdict = result.NotWorse
	case hi < -margin:
		m.Verdict = result.Worse
	}
	return m
}

// tested is a test of a family, whose p-value is adjusted for the number of tests in it.
type tested struct {
	p float64
	// set is called with the adjusted p-value.
	set func(adjusted float64)
}

// adjust adjusts the p-values of a family of tests.
func adjust(family []tested) {
	ps := make([]float64, len(family))
	for i, t := range family {
		ps[i] = t.p
	}
	for i, adjusted := range stats.Holm(ps) {
		family[i].set(adjusted)
	}
}

// adjustTables adjusts the p-values of tables, and sets their verdicts.
func adjustTables(tables []*Table) {
	var family []tested
	for _, t := range tables {
		if t.Verdict = NotSeen; t.P != nil {
			family = append(family, tested{*t.P, func(p float64) { t.Adjusted, t.Verdict = &p, verdictOf(p, *t.Difference) }})
		}
	}
	adjust(family)
}

// verdictOf returns the verdict on a difference that is better if it is above 0.
func verdictOf(p, difference float64) Verdict {
	switch {
	case !(p < alpha):
		return NotSeen
	case difference > 0:
		return Better
	}
	return Worse
}
