package stats

import (
	"math"
	"sort"
)

// PPIDesign determines the width of an interval by PPIRate, for labels that are drawn at random.
type PPIDesign struct {
	// Items counts all items. Known ones need no label, because they are certainly wrong: they have
	// no answer.
	Items, Known int
	// Rate is the expected mean of the labels and Judged the expected mean of the verdicts, both
	// over the items that are not known. Correlation is between verdicts and labels: 0 if the judge
	// says nothing, 1 if it never errs.
	Rate, Judged, Correlation float64
	// Clusters counts the clusters, two or more, and as many as Items if all are independent. Effect is
	// their design effect on the verdicts, 1 for independent items.
	Clusters int
	Effect   float64
	// Alone leaves the verdicts out, as PPIRate without a judge does.
	Alone bool
}

// Width returns the expected width at confidence conf of an interval from this many labels. It uses
// the formula of the interval, including the labels that the interval assumes. With clusters, the
// interval depends on how much these seem to differ. That varies as χ² does, and the width is the
// mean over it.
func (d PPIDesign) Width(labels int, conf float64) float64 {
	p := d.population(float64(labels))
	lambda := 0.0
	if !d.Alone {
		lambda = max(0, p.lambda())
	}
	labelVar, _ := p.labelVariance(lambda)
	least := d.Effect * p.itemVariance()
	if d.Clusters >= d.Items {
		e := p.interval(lambda, least, conf)
		return e.Hi - e.Lo
	}
	// The variance by clusters has no assumed labels.
	rate, _ := p.means(0)
	open := &p.strata[0]
	drawn := d.labelEffect()*rate*(1-rate)/p.size + p.weight(open)*open.raw.at(lambda)/open.labels
	const points = 20
	width := 0.0
	for i := range points {
		found := drawn * chiSquareShare((float64(i)+.5)/points, float64(d.Clusters-1))
		e := p.interval(lambda, max(least, found-labelVar), conf)
		width += (e.Hi - e.Lo) / points
	}
	return width
}

// labelEffect is the design effect of the clusters on the labels. Errors of the judge hide it: they
// make the verdicts of a cluster less alike than its labels.
func (d PPIDesign) labelEffect() float64 {
	if d.Correlation <= 0 {
		return d.Effect
	}
	alike := float64(d.Items) / float64(d.Clusters)
	return max(d.Effect, min(alike, 1+(d.Effect-1)/(d.Correlation*d.Correlation)))
}

// chiSquareShare returns the p-quantile of χ² with df degrees of freedom, divided by df (Wilson and
// Hilferty 1931).
func chiSquareShare(p, df float64) float64 {
	v := 2 / (9 * df)
	root := max(0, 1-v+NormalQuantile(p)*math.Sqrt(v))
	return root * root * root
}

// population returns the expected moments of this many labels.
func (d PPIDesign) population(labels float64) *ppiPopulation {
	open := float64(d.Items - d.Known)
	rate, judged := min(1, max(0, d.Rate)), min(1, max(0, d.Judged))
	both := rate*judged + d.Correlation*math.Sqrt(rate*(1-rate)*judged*(1-judged))
	both = min(rate, judged, max(both, rate+judged-1, 0))
	s := ppiStratum{size: open, f: open * judged, ff: open * judged}
	for _, cell := range []struct{ y, f, share float64 }{
		{1, 1, both}, {1, 0, rate - both}, {0, 1, judged - both}, {0, 0, 1 - rate - judged + both},
	} {
		s.label(cell.y, cell.f, labels*cell.share)
	}
	s.labels = labels // without rounding
	p := &ppiPopulation{size: float64(d.Items), width: 1, strata: []ppiStratum{s}, clusters: d.Clusters, labels: labels + float64(d.Known)}
	if d.Known > 0 {
		known := ppiStratum{size: float64(d.Known)}
		known.label(0, 0, known.size)
		p.strata = append(p.strata, known)
	}
	p.assume(ratePseudo)
	return p
}

// Labels returns the least number of labels, at least 20, with which the interval is expected to be
// at most this wide. ok is false if the interval is wider even with all items labelled: only more
// items help then.
func (d PPIDesign) Labels(width, conf float64) (labels int, ok bool) {
	// With fewer labels, the quality of the judge is not known well enough to plan with.
	open := d.Items - d.Known
	fewest := min(20, open)
	if open < 2 || d.Width(open, conf) > width {
		return 0, false
	}
	return fewest + sort.Search(open-fewest, func(n int) bool { return d.Width(fewest+n, conf) <= width }), true
}

// JudgeCorrelation returns the correlation of a judge's verdicts with the truth, and the share that
// the judge passes, if the share rate is right. The correlation is 0 if the verdicts are all the
// same.
func JudgeCorrelation(rate, sensitivity, specificity float64) (correlation, judged float64) {
	judged = rate*sensitivity + (1-rate)*(1-specificity)
	spread := judged * (1 - judged)
	if spread <= 0 {
		return 0, judged
	}
	return math.Sqrt(rate*(1-rate)/spread) * (sensitivity + specificity - 1), judged
}
