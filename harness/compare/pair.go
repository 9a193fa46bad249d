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
	cluster        []int
	// unscored is the number of questions that are left out.
	unscored int
}

// ratesOf pairs two runs. cluster is that of each row, nil for none.
func ratesOf(rows [][]*question, reference, run int, cluster []int) rates {
	var out rates
	for i, row := range rows {
		x, n := row[run].passes()
		y, m := row[reference].passes()
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
// se is the standard error of the difference.
func (r rates) table(repeated bool, resamples int) (t Table, se float64) {
	t = Table{N: len(r.run), Unscored: r.unscored, Test: "mcnemar_exact"}
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
	if repeated {
		t.Test = "sign_flip"
	}
	if t.N == 0 {
		return t, math.NaN()
	}
	if repeated {
		m := stats.PairedMeans(r.run, r.reference, Confidence)
		p, exact := stats.SignFlip(r.differences(), resamples, seed)
		if exact {
			t.Test = "sign_flip_exact"
		}
		t.Difference, t.P = known(m.Mean), known(p)
		t.Interval = interval("student_t_paired", m.Lo, m.Hi, -1, 1)
		return t, m.SE
	}
	p := stats.Pairs{Both: t.Both, First: t.OnlyRun, Second: t.OnlyReference, Neither: t.Neither}
	lo, hi := p.Newcombe(Confidence)
	t.Difference, t.P = known(p.Difference()), known(stats.McNemarExact(t.OnlyRun, t.OnlyReference))
	t.Interval = interval("newcombe_paired", lo, hi, -1, 1)
	return t, p.SE()
}

// comparePairs fills in Pairs and their p-values.
func (c *Comparison) comparePairs(a *aligned, opts Options) {
	var cluster []int
	if opts.ClusterTag != "" {
		cluster, _, _ = a.clusters(opts.ClusterTag)
	}
	for reference := range c.Runs {
		if c.Baseline != "" && reference > 0 {
			break
		}
		for run := reference + 1; run < len(c.Runs); run++ {
			c.Pairs = append(c.Pairs, Pair{Reference: reference, Run: run})
		}
	}
	c.Tests = len(c.Pairs)
	tables := make([]*Table, len(c.Pairs))
	for i := range c.Pairs {
		c.Pairs[i].compare(a.rows, cluster, c.Repeated, opts)
		tables[i] = &c.Pairs[i].Table
	}
	adjust(tables)
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if k := p.Clustered; k != nil && (k.Interval == nil || k.Interval.Low <= 0 && k.Interval.High >= 0) {
			p.Verdict = NotSeen
		}
	}
	adjustMeasures(c.Pairs)
	adjustLatencies(c.Pairs)
}

func (p *Pair) compare(rows [][]*question, cluster []int, repeated bool, opts Options) {
	r := ratesOf(rows, p.Reference, p.Run, cluster)
	var se float64
	p.Table, se = r.table(repeated, opts.Resamples)
	p.SE = known(se)
	p.OnlyRunIDs, p.OnlyReferenceIDs = []string{}, []string{}
	for i, x := range r.run {
		if x > r.reference[i] {
			p.OnlyRunIDs = append(p.OnlyRunIDs, r.ids[i])
		} else if x < r.reference[i] {
			p.OnlyReferenceIDs = append(p.OnlyReferenceIDs, r.ids[i])
		}
	}
	if p.N > 0 {
		p.RunRate, p.ReferenceRate = known(mean(r.run)), known(mean(r.reference))
		if cluster != nil {
			p.Clustered = r.clustered()
		}
		if !repeated {
			p.Power = powerOf(p.Table)
		}
		if opts.Margin != nil {
			p.Margin = p.margin(*opts.Margin, se)
		}
	}
	p.compareMeasures(rows, cluster, opts.Resamples)
	p.compareLatencies(rows)
}

func (r rates) clustered() *ClusteredDifference {
	m := stats.Clustered(r.differences(), r.cluster, Confidence)
	c := &ClusteredDifference{Clusters: m.Clusters, SE: known(m.SE)}
	if naive := known(m.NaiveSE); naive != nil {
		c.NaiveSE = *naive
	}
	c.Interval = interval("student_t_clustered", m.Lo, m.Hi, -1, 1)
	return c
}

// The level and the power that a comparison is planned with.
const (
	alpha = 1 - Confidence
	power = 0.8
)

// powerOf says what McNemar's test could see with so many pairs and so much disagreement.
func powerOf(t Table) *Power {
	discordant := t.OnlyRun + t.OnlyReference
	if discordant == 0 {
		return nil
	}
	p := &Power{Alpha: 0.05, Power: power, Disagreement: float64(discordant) / float64(t.N)}
	if d := stats.MinDetectable(t.N, p.Disagreement, alpha, power); d <= 1 {
		p.Detectable = known(d)
	}
	if seen := math.Abs(*t.Difference); seen > 0 {
		n := stats.McNemarSize((p.Disagreement+seen)/2, (p.Disagreement-seen)/2, alpha, power)
		if n < math.MaxInt32 { // and it is not NaN
			needed := int(math.Ceil(n - 1e-9))
			p.Confirm, p.Needed = &seen, &needed
		}
	}
	return p
}

func (p *Pair) margin(margin, se float64) *MarginTest {
	m := &MarginTest{Margin: margin, Interval: p.Interval, Verdict: result.Unknown}
	if p.Clustered != nil {
		m.Interval, se = p.Clustered.Interval, math.NaN()
		if p.Clustered.SE != nil {
			se = *p.Clustered.SE
		}
	}
	z, prob := stats.NonInferiority(*p.Difference, se, margin)
	m.Z, m.P = known(z), known(prob)
	switch {
	case m.Interval == nil:
	case m.Interval.Low > -margin:
		m.Verdict = result.NotWorse
	case m.Interval.High < -margin:
		m.Verdict = result.Worse
	}
	return m
}

// adjust sets the adjusted p-values of a family of tests, and the verdicts.
func adjust(tables []*Table) {
	var ps []float64
	for _, t := range tables {
		if t.P != nil {
			ps = append(ps, *t.P)
		}
	}
	adjusted := stats.Holm(ps)
	for _, t := range tables {
		t.Verdict = NotSeen
		if t.P != nil {
			t.Adjusted, adjusted = &adjusted[0], adjusted[1:]
			t.Verdict = verdictOf(*t.Adjusted, *t.Difference)
		}
	}
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
