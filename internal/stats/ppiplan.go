package stats

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// PPIDesign is what the width of an interval by PPIRate depends on.
type PPIDesign struct {
	Items int
	// Rate is the expected pass rate, Correlation that of verdicts and labels: 0 if the judge says
	// nothing, 1 if it never errs.
	Rate, Correlation float64
	// Effect is the design effect of the clusters, 1 for independent items.
	Effect float64
}

// Width returns the expected width of the interval at confidence conf with so many labels. A rate of
// 0 or 1 is planned for as if one of the items were otherwise.
func (d PPIDesign) Width(labels int, conf float64) float64 {
	n, size := float64(labels), float64(d.Items)
	least := 1 / (size + 1)
	p := min(1-least, max(least, d.Rate))
	spread := p * (1 - p)
	variance := spread*d.Effect/size + (1-n/size)*spread*(1-d.Correlation*d.Correlation)/n
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: max(1, n-1)}.Quantile((1 + conf) / 2)
	lo, hi := score(p, spread/variance, t)
	return hi - lo
}

// Labels returns the least number of labels, from 20 on, with which the interval is expected to be
// at most so wide. ok is false if it is wider with all items labelled: only more items help then.
func (d PPIDesign) Labels(width, conf float64) (labels int, ok bool) {
	// With fewer labels, the quality of the judge is not known well enough to plan with.
	fewest := min(20, d.Items)
	if d.Items < 2 || d.Width(d.Items, conf) > width {
		return 0, false
	}
	return fewest + sort.Search(d.Items-fewest, func(n int) bool { return d.Width(fewest+n, conf) <= width }), true
}

// JudgeCorrelation returns the correlation of the verdicts of a judge with what is right, if the
// share rate is. It is 0 if the verdicts are all the same.
func JudgeCorrelation(rate, sensitivity, specificity float64) float64 {
	judged := rate*sensitivity + (1-rate)*(1-specificity)
	spread := judged * (1 - judged)
	if spread <= 0 {
		return 0
	}
	return math.Sqrt(rate*(1-rate)/spread) * (sensitivity + specificity - 1)
}
