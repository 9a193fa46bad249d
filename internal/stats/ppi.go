package stats

import "math"

// JudgedItem is an item with a judge's verdict, and a person's label if it was drawn for labelling.
type JudgedItem struct {
	Judge float64
	// Label is NaN without a label.
	Label float64
	// Stratum is 0 to S-1. Within a stratum the labelled items are a simple random sample, so the
	// inclusion probability of an item is the labelled share of its stratum.
	Stratum int
	// Cluster is 0 to C-1. Items of different clusters are independent.
	Cluster int
}

// PPIEstimate is a mean of labels, estimated from the verdicts on all items and the labels of some.
type PPIEstimate struct {
	Mean, Lo, Hi float64
	// Lambda is the weight of the verdicts, 0 if they say nothing about the labels. It is never
	// below 0: a judge that seems to say the opposite is a guessing judge with few labels.
	Lambda float64
	// ItemSE is the standard error due to the choice of items, which no label reduces. LabelSE is
	// due to the items without labels.
	ItemSE, LabelSE float64
	Items, Labels   int
}

const (
	// The interval assumes additional labels at both ends of the range: a few labels without an
	// error do not show that there are none. Two at each end follow Agresti and Coull 1998; the
	// third pays for λ, which is estimated from the same labels.
	ratePseudo = 3
	// A difference is -1 or 1 less often than a label is 0 or 1: one at each end, as in Bonett and
	// Price 2012.
	differencePseudo = 1
)

// PPIRate estimates the mean of labels from 0 to 1 by prediction-powered inference (Angelopoulos et
// al. 2023) with the weight of the least variance (PPI++, 2023) and inclusion probabilities that
// differ by stratum (Horvitz and Thompson 1952). With weights W of the strata, verdicts f and
// labels y, each mean within a stratum:
//
//	Mean = Σ W·(λ·mean(f of all items) + mean(y - λ·f of the labelled))
//
// It is unbiased whatever the judge, up to the error of λ, which vanishes with 1/labels. Lo and Hi
// are Wilson's limits for the effective sample size and Student's t with the degrees of freedom of
// Welch and Satterthwaite. The variance is Var(y)/N for the choice of the items, multiplied by the
// design effect of the clusters, plus Σ W²·(1-n/N)·Var(y - λ·f)/n for the labels. Var(y - λ·f) of a
// stratum is shrunk towards that of a random draw by the weight of one label. So labels in
// proportion to the strata have no wider an interval than a random draw.
//
// Use withJudge false for the estimate by labels alone. ok is false, and the figures are NaN, if a
// stratum has no label or there are fewer than two labels or two clusters, and for values outside
// the range.
func PPIRate(items []JudgedItem, withJudge bool, conf float64) (e PPIEstimate, ok bool) {
	return ppi(items, 0, 1, ratePseudo, withJudge, conf)
}

// PPIDifference is PPIRate for the mean of differences of two labels, from -1 to 1. The verdicts are
// the differences of two verdicts.
func PPIDifference(items []JudgedItem, withJudge bool, conf float64) (e PPIEstimate, ok bool) {
	return ppi(items, -1, 1, differencePseudo, withJudge, conf)
}

func ppi(items []JudgedItem, low, high, pseudo float64, withJudge bool, conf float64) (PPIEstimate, bool) {
	nan := math.NaN()
	none := PPIEstimate{Mean: nan, Lo: nan, Hi: nan, Lambda: nan, ItemSE: nan, LabelSE: nan}
	p, ok := newPPIPopulation(items, low, high, pseudo)
	if !ok || !(conf > 0 && conf < 1) {
		return none, false
	}
	return p.estimate(withJudge, p.effect(), conf), true
}

// estimate returns the estimate of a population, with the weight of the least variance if withJudge
// is set. effect is the design effect of the clusters.
func (p *ppiPopulation) estimate(withJudge bool, effect, conf float64) PPIEstimate {
	lambda := 0.0
	if withJudge {
		lambda = max(0, p.lambda())
	}
	labelVar, _ := p.labelVariance(lambda)
	return p.interval(lambda, max(effect*p.itemVariance(), p.clusterVariance(lambda)-labelVar), conf)
}

// interval returns the estimate with this weight of the verdicts and variance due to the choice of
// items.
func (p *ppiPopulation) interval(lambda, itemVar, conf float64) PPIEstimate {
	point, centre := p.means(lambda)
	labelVar, labelDF := p.labelVariance(lambda)
	total := itemVar + labelVar
	df := total * total / (itemVar*itemVar/float64(p.clusters-1) + labelVar*labelVar/labelDF)
	t := StudentQuantile((1+conf)/2, df)
	// The range is mapped to 0..1 and back, so that a difference has limits as a rate has.
	const tiny = 1e-9
	centre = min(1-tiny, max(tiny, centre))
	lo, hi := score(clamp(point), centre*(1-centre)/total, t)
	return PPIEstimate{
		Mean: p.low + p.width*clamp(point), Lo: p.low + p.width*lo, Hi: p.low + p.width*hi,
		Lambda: lambda * p.width, ItemSE: p.width * math.Sqrt(itemVar), LabelSE: p.width * math.Sqrt(labelVar),
		Items: len(p.items), Labels: int(p.labels),
	}
}
