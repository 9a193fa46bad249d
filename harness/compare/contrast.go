package compare

import (
	"math"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// design says which questions of a comparison are dependent.
type design struct {
	// cluster is the cluster of each row, nil if questions are independent.
	cluster []int
	// repeated is set if questions have several attempts.
	repeated  bool
	resamples int
	// byDocument is unset if the runs determined the documents of passages in different ways, so
	// that their document measures are not comparable.
	byDocument bool
}

// contrast is the difference in the mean of a measure between a run and its reference, over the
// questions both have, with its test.
type contrast struct {
	// run and reference hold the mean of each question.
	run, reference []float64
	ids            []string
	cluster        []int
	// verdicts is set if each question has exactly one verdict on each side.
	verdicts bool
	// left is the number of questions that either side lacks.
	left int
	// flips is the sign-flip test, nil if the exact McNemar test is used. crossed includes the
	// variance between runs, nil if both sides have one run.
	flips   *stats.ClusterFlips
	crossed *stats.CrossedMean
}

// contrast pairs two sides by value, which returns NaN for a question without one. verdicts is set
// if value is 0 or 1 for each attempt.
func (d design) contrast(rows [][]*question, reference, run int, verdicts bool, value func(*question) float64) contrast {
	c := contrast{verdicts: verdicts && !d.repeated}
	x, y := make([][]float64, len(rows[0][run].each(value))), make([][]float64, len(rows[0][reference].each(value)))
	for i, row := range rows {
		a, b := row[run].each(value), row[reference].each(value)
		mean, other := meanKnown(a), meanKnown(b)
		if math.IsNaN(mean) || math.IsNaN(other) {
			c.left++
			continue
		}
		if math.Abs(mean-other) < 1e-12 { // means over repeats that are equal on paper differ by rounding
			mean = other
		}
		c.run, c.reference, c.ids = append(c.run, mean), append(c.reference, other), append(c.ids, row[run].id)
		for k, v := range a {
			x[k] = append(x[k], v)
		}
		for k, v := range b {
			y[k] = append(y[k], v)
		}
		if d.cluster != nil {
			c.cluster = append(c.cluster, d.cluster[i])
		}
	}
	if c.verdicts && d.cluster == nil || len(c.run) == 0 {
		return c
	}
	flips := stats.FlipClusters(c.differences(), c.cluster, d.resamples, seed)
	c.flips = &flips
	if len(x) > 1 || len(y) > 1 {
		crossed := stats.CrossedDifference(x, y, c.cluster)
		c.crossed = &crossed
	}
	return c
}

// meanKnown returns the mean of the values that are not NaN, NaN if there are none.
func meanKnown(values []float64) float64 {
	var known []float64
	for _, v := range values {
		known = appendKnown(known, v)
	}
	return stats.Mean(known)
}

// differences returns run minus reference for each question.
func (c contrast) differences() []float64 {
	d := make([]float64, len(c.run))
	for i := range d {
		d[i] = c.run[i] - c.reference[i]
	}
	return d
}

// pairs counts the questions by their two verdicts. Each mean must be 0 or 1.
func (c contrast) pairs() stats.Pairs {
	t := c.counts()
	return stats.Pairs{Both: t.Both, First: t.OnlyRun, Second: t.OnlyReference, Neither: t.Neither}
}

// counts counts the questions by which side has more.
func (c contrast) counts() Table {
	t := Table{N: len(c.run), Unscored: c.left}
	for i, x := range c.run {
		switch y := c.reference[i]; {
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

// test names the test.
func (c contrast) test() string {
	if c.flips == nil {
		return "mcnemar_exact"
	}
	name := c.method()
	if c.flips.Exact && c.crossed == nil {
		name += "_exact"
	}
	return name
}

// method names the interval.
func (c contrast) method() string {
	switch {
	case c.flips == nil:
		return "newcombe_paired"
	case c.cluster == nil && c.crossed == nil:
		return "sign_flip"
	case c.cluster == nil:
		return "sign_flip_crossed"
	case c.crossed == nil:
		return "sign_flip_clusters"
	}
	return "sign_flip_clusters_crossed"
}

// p returns the two-sided p-value of a true difference m, NaN without a test. With several runs, it
// is the larger of two: the sign-flip test covers variance between questions, the crossed test
// variance between runs.
func (c contrast) p(m float64) float64 {
	if c.flips == nil {
		t := c.counts()
		return stats.McNemarExact(t.OnlyRun, t.OnlyReference)
	}
	p := c.flips.P(m)
	if c.crossed != nil {
		if other := c.crossed.P(m); other > p {
			return other
		}
	}
	return p
}

// interval returns the differences that the test does not reject at level 1-conf, nil if
// undetermined. For the exact McNemar test it is Newcombe's interval, extended to 0 or cut off
// before 0 where the two disagree.
func (c contrast) interval(conf float64) *result.Interval {
	if c.flips == nil {
		lo, hi := c.pairs().Newcombe(conf)
		switch d, p := c.pairs().Difference(), c.p(0); {
		case p > 1-conf:
			lo, hi = min(lo, 0), max(hi, 0)
		case d > 0:
			lo = max(lo, math.Nextafter(0, 1))
		case d < 0:
			hi = min(hi, math.Nextafter(0, -1))
		}
		return interval(c.method(), conf, lo, hi, -1, 1)
	}
	lo, hi := c.flips.Interval(conf)
	if c.crossed != nil {
		if l, h := c.crossed.Interval(conf); !math.IsNaN(l) {
			lo, hi = min(lo, l), max(hi, h)
		}
	}
	return interval(c.method(), conf, lo, hi, -1, 1)
}

// ends returns the ends of the interval, or NaN without one.
func (c contrast) ends(conf float64) (lo, hi float64) {
	if i := c.interval(conf); i != nil {
		return i.Low, i.High
	}
	return math.NaN(), math.NaN()
}

// se returns the standard error of the difference.
func (c contrast) se() float64 {
	switch {
	case c.crossed != nil:
		return c.crossed.SE
	case c.flips != nil:
		return stats.Clustered(c.differences(), c.cluster, Confidence).SE
	}
	return c.pairs().SE()
}

// independent returns a function that computes the interval at a confidence level as if questions
// were independent and runs did not vary.
func (c contrast) independent() (ends func(conf float64) (lo, hi float64)) {
	if c.verdicts {
		return c.pairs().Newcombe
	}
	return func(conf float64) (lo, hi float64) {
		m := stats.PairedMeans(c.run, c.reference, conf)
		return m.Lo, m.Hi
	}
}

// margin tests whether the run is not worse by a margin or more. With sign flips, the test that
// treats questions as independent must show it too: if few questions differ, sign flips are
// overconfident (docs/statistics.md, Clusters).
func (c contrast) margin(margin float64) *MarginTest {
	const oneSided = alpha / 2
	difference := stats.Mean(c.differences())
	ends := c.independent()
	lo, hi := ends(Confidence)
	prob, method := stats.NonInferiority(difference, margin, oneSided, ends), c.method()
	if c.flips != nil {
		method += "_wider"
		prob, lo, hi = stats.NonInferiorityWider(difference, margin, oneSided, ends, stats.TwoSidedTest{P: c.p, Interval: c.ends})
	}
	m := &MarginTest{Margin: margin, Interval: interval(method, Confidence, lo, hi, -1, 1), Verdict: result.Unknown}
	if m.Interval == nil {
		return m
	}
	m.P = known(prob)
	switch {
	case prob <= oneSided:
		m.Verdict = result.NotWorse
	case hi < -margin:
		m.Verdict = result.Worse
	}
	return m
}
