package stats

import "math"

// ppiPopulation has the moments of the items of all strata. Labels are mapped to 0..1, verdicts are
// not, which changes only λ.
type ppiPopulation struct {
	items    []JudgedItem // nil for one that is expected
	size     float64      // number of items
	low      float64
	width    float64
	strata   []ppiStratum
	clusters int
	labels   float64
}

// ppiStratum has the sums of a stratum. Those with the prefix aug include the assumed labels.
type ppiStratum struct {
	size, labels   float64
	f, ff          float64 // sums of verdicts of all items, and of their squares
	labelF, labelY float64 // sums of verdicts and labels of the labelled

	augN, augY, augF       float64
	augYY, augFF, augYF    float64 // centred sums of squares and products
	raw                    spread  // the same without the assumed labels
	squareY, squareF, both float64 // raw ones, until they are centred
}

func newPPIPopulation(items []JudgedItem, low, high, pseudo float64) (*ppiPopulation, bool) {
	p := &ppiPopulation{items: items, size: float64(len(items)), low: low, width: high - low}
	for _, it := range items {
		labelled := !math.IsNaN(it.Label)
		if it.Stratum < 0 || it.Cluster < 0 || !(it.Judge >= low && it.Judge <= high) ||
			labelled && !(it.Label >= low && it.Label <= high) {
			return nil, false
		}
		p.clusters = max(p.clusters, it.Cluster+1)
		for len(p.strata) <= it.Stratum {
			p.strata = append(p.strata, ppiStratum{})
		}
		s := &p.strata[it.Stratum]
		s.size++
		s.f += it.Judge
		s.ff += it.Judge * it.Judge
		if labelled {
			s.label(p.unit(it.Label), it.Judge, 1)
			p.labels++
		}
	}
	for i := range p.strata {
		if p.strata[i].labels == 0 {
			return nil, false
		}
	}
	p.assume(pseudo)
	return p, p.labels >= 2 && p.clusters >= 2
}

// assume adds so many assumed labels at each end of the range. Each item carries its part of them,
// with its own verdict. Strata that are labelled as a whole, such as questions without an answer,
// carry none unless all are: nothing about their labels is in doubt.
func (p *ppiPopulation) assume(pseudo float64) {
	carriers := p.open()
	if len(carriers) == 0 {
		for i := range p.strata {
			carriers = append(carriers, &p.strata[i])
		}
	}
	size := 0.0
	for _, s := range carriers {
		size += s.size
	}
	for _, s := range carriers {
		weight := pseudo / size
		s.augN += 2 * weight * s.size
		s.augY += weight * s.size
		s.augF += 2 * weight * s.f
		s.squareY += weight * s.size
		s.squareF += 2 * weight * s.ff
		s.both += weight * s.f
	}
	for i := range p.strata {
		p.strata[i].centre()
	}
}

// open returns the strata that have items without a label.
func (p *ppiPopulation) open() (open []*ppiStratum) {
	for i := range p.strata {
		if s := &p.strata[i]; s.labels < s.size {
			open = append(open, s)
		}
	}
	return open
}

func (p *ppiPopulation) unit(label float64) float64 { return (label - p.low) / p.width }

// label adds labels y of items with a verdict.
func (s *ppiStratum) label(y, verdict, count float64) {
	s.labels += count
	s.labelF += count * verdict
	s.labelY += count * y
	s.raw = s.raw.plus(spread{y * y, y * verdict, verdict * verdict}, count)
	s.augN += count
	s.augY += count * y
	s.augF += count * verdict
	s.squareY += count * y * y
	s.squareF += count * verdict * verdict
	s.both += count * y * verdict
}

func (s *ppiStratum) centre() {
	s.augYY = max(0, s.squareY-s.augY*s.augY/s.augN)
	s.augFF = max(0, s.squareF-s.augF*s.augF/s.augN)
	s.augYF = s.both - s.augY*s.augF/s.augN
	s.raw = s.raw.plus(spread{s.labelY * s.labelY, s.labelY * s.labelF, s.labelF * s.labelF}, -1/s.labels)
	if s.augFF < 1e-12*s.squareF { // all verdicts are equal but for rounding
		s.augFF, s.augYF = 0, 0
	}
}

// weight is the factor with which the variance of a stratum enters the variance of the mean:
// W²·(1-n/N)/n.
func (p *ppiPopulation) weight(s *ppiStratum) float64 {
	share := s.size / p.size
	return share * share * (1 - s.labels/s.size) / s.labels
}

// spread is a sum of squares of residuals y - λ·f, for every λ.
type spread struct{ yy, yf, ff float64 }

func (s spread) at(lambda float64) float64 {
	return max(0, s.yy-2*lambda*s.yf+lambda*lambda*s.ff)
}

func (s spread) plus(o spread, weight float64) spread {
	return spread{s.yy + weight*o.yy, s.yf + weight*o.yf, s.ff + weight*o.ff}
}

// total returns the variance of the residuals of the items in open strata: as a random draw would
// estimate it, with the assumed labels, and of the drawn labels alone.
func (p *ppiPopulation) total(open []*ppiStratum) (random, drawn spread) {
	var size, augmented, lost float64
	for _, s := range open {
		size += s.size
		augmented += s.augN
	}
	for _, s := range open {
		lost += s.size / size * s.size / size / s.labels
	}
	random = around(open, size, func(s *ppiStratum) (y, f float64) { return s.augY / s.augN, s.augF / s.augN },
		func(s *ppiStratum) spread { return spread{}.plus(spread{s.augYY, s.augYF, s.augFF}, 1/s.augN) })
	drawn = around(open, size, func(s *ppiStratum) (y, f float64) { return s.labelY / s.labels, s.labelF / s.labels },
		func(s *ppiStratum) spread { return spread{}.plus(s.raw, 1/s.labels) })
	return spread{}.plus(random, (augmented-1)/max(1, augmented-2)), spread{}.plus(drawn, 1/max(1e-12, 1-lost))
}

// around returns the mean squares of all items of strata around their mean, from the means of the
// strata and the mean squares around these.
func around(strata []*ppiStratum, size float64, mean func(s *ppiStratum) (y, f float64), squares func(s *ppiStratum) spread) (v spread) {
	var y, f float64
	for _, s := range strata {
		my, mf := mean(s)
		y, f = y+s.size/size*my, f+s.size/size*mf
	}
	for _, s := range strata {
		my, mf := mean(s)
		dy, df := my-y, mf-f
		v = v.plus(squares(s), s.size/size).plus(spread{dy * dy, dy * df, df * df}, s.size/size)
	}
	return v
}

// within returns the variance of the residuals of a stratum: that of a random draw, less what the
// labels of the stratum differ less among themselves than all labels do. Its own variance has the
// weight of its labels but one, so that one label says nothing about it.
func (s *ppiStratum) within(random, drawn spread) spread {
	return random.plus(drawn, 1/s.labels-1).plus(s.raw, 1/s.labels)
}

// lambda returns the weight of the verdicts with the least variance of the mean.
func (p *ppiPopulation) lambda() float64 {
	var sum spread
	open := p.open()
	random, drawn := p.total(open)
	for _, s := range open {
		sum = sum.plus(s.within(random, drawn), p.weight(s))
	}
	if sum.ff < 1e-12 {
		return 0
	}
	return sum.yf / sum.ff
}

// means returns the estimate, and the one with the assumed labels, in units of 0..1.
func (p *ppiPopulation) means(lambda float64) (point, centre float64) {
	for i := range p.strata {
		s := &p.strata[i]
		share := s.size / p.size
		point += share * (lambda*s.f/s.size + (s.labelY-lambda*s.labelF)/s.labels)
		centre += share * (lambda*s.f/s.size + (s.augY-lambda*s.augF)/s.augN)
	}
	return point, centre
}

// labelVariance is the variance due to the items without labels, with the degrees of freedom of
// Welch and Satterthwaite. These are of the design: the variances of few labels say nothing about
// how exact they are.
func (p *ppiPopulation) labelVariance(lambda float64) (v, df float64) {
	open := p.open()
	random, drawn := p.total(open)
	var sum, shared, parts, labels float64
	for _, s := range open {
		weight := p.weight(s)
		v += weight * s.within(random, drawn).at(lambda)
		sum += weight
		shared += weight / s.labels
		parts += weight * weight * (s.labels - 1) / (s.labels * s.labels)
		labels += s.labels
	}
	most := max(1, labels-1)
	if parts += shared * shared / most; parts == 0 {
		return v, most
	}
	return v, min(most, sum*sum/parts)
}

// itemVariance is the variance of the mean of all labels if all items had one and were independent.
func (p *ppiPopulation) itemVariance() float64 {
	n := p.size
	var mean, variance float64
	for i := range p.strata {
		mean += p.strata[i].size / n * p.strata[i].augY / p.strata[i].augN
	}
	for i := range p.strata {
		s := &p.strata[i]
		d := s.augY/s.augN - mean
		variance += s.size / n * (s.augYY/s.augN + d*d)
	}
	return variance / n
}

// effect is the design effect of the clusters on the verdicts, 1 if each item is its own cluster.
func (p *ppiPopulation) effect() float64 {
	if !p.clustered() {
		return 1
	}
	verdicts := make([]float64, len(p.items))
	for i, it := range p.items {
		verdicts[i] = it.Judge
	}
	return DesignEffect(verdicts, p.clusterLabels())
}

// clusterVariance is the variance of the estimate by clusters, 0 if each item is its own cluster.
// The judge's errors hide how alike the labels of a cluster are; many labelled items show it.
func (p *ppiPopulation) clusterVariance(lambda float64) float64 {
	if !p.clustered() {
		return 0
	}
	values := make([]float64, len(p.items))
	for i, it := range p.items {
		s := &p.strata[it.Stratum]
		rest := (s.labelY - lambda*s.labelF) / s.labels
		values[i] = lambda*it.Judge + rest
		if !math.IsNaN(it.Label) {
			values[i] += (p.unit(it.Label) - values[i]) * s.size / s.labels
		}
	}
	c := Clustered(values, p.clusterLabels(), 0.95)
	return c.SE * c.SE
}

func (p *ppiPopulation) clustered() bool { return p.clusters < int(p.size) }

func (p *ppiPopulation) clusterLabels() []int {
	labels := make([]int, len(p.items))
	for i, it := range p.items {
		labels[i] = it.Cluster
	}
	return labels
}
