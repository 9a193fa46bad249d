package stats

import "math"

// ppiPopulation has the moments of the items of all strata. Labels are mapped to 0..1, verdicts are
// not, which changes λ only.
type ppiPopulation struct {
	items    []Judged
	low      float64
	width    float64
	strata   []ppiStratum
	clusters int
	labels   int
}

// ppiStratum has the sums of a stratum. Those with the prefix aug include the assumed labels.
type ppiStratum struct {
	size, labels      float64
	f, labelF, labelY float64 // sums of verdicts of all items, and of verdicts and labels of the labelled

	augN, augY, augF       float64
	augYY, augFF, augYF    float64 // centred sums of squares and products
	squareY, squareF, both float64 // raw ones, until they are centred
}

func newPPIPopulation(items []Judged, low, high, pseudo float64) (*ppiPopulation, bool) {
	p := &ppiPopulation{items: items, low: low, width: high - low}
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
		// Each item carries its part of the assumed labels at both ends, with its own verdict.
		assumed := pseudo / float64(len(items))
		s.augment(0, it.Judge, assumed)
		s.augment(1, it.Judge, assumed)
		if labelled {
			y := p.unit(it.Label)
			s.labels++
			s.labelF += it.Judge
			s.labelY += y
			s.augment(y, it.Judge, 1)
			p.labels++
		}
	}
	for i := range p.strata {
		if s := &p.strata[i]; s.labels == 0 {
			return nil, false
		} else {
			s.centre()
		}
	}
	return p, p.labels >= 2 && p.clusters >= 2
}

func (p *ppiPopulation) unit(label float64) float64 { return (label - p.low) / p.width }

func (s *ppiStratum) augment(y, f, weight float64) {
	s.augN += weight
	s.augY += weight * y
	s.augF += weight * f
	s.squareY += weight * y * y
	s.squareF += weight * f * f
	s.both += weight * y * f
}

func (s *ppiStratum) centre() {
	s.augYY = max(0, s.squareY-s.augY*s.augY/s.augN)
	s.augFF = max(0, s.squareF-s.augF*s.augF/s.augN)
	s.augYF = s.both - s.augY*s.augF/s.augN
	if s.augFF < 1e-12*s.squareF { // all verdicts are equal but for rounding
		s.augFF, s.augYF = 0, 0
	}
}

// weight is the factor of the variance of a stratum in that of the mean: W²·(1-n/N)/n.
func (p *ppiPopulation) weight(s *ppiStratum) float64 {
	share := s.size / float64(len(p.items))
	return share * share * (1 - s.labels/s.size) / s.labels
}

// lambda returns the weight of the verdicts with the least variance of the mean.
func (p *ppiPopulation) lambda() float64 {
	var yf, ff float64
	for i := range p.strata {
		s := &p.strata[i]
		if s.augN > 1 {
			yf += p.weight(s) * s.augYF / (s.augN - 1)
			ff += p.weight(s) * s.augFF / (s.augN - 1)
		}
	}
	if ff == 0 {
		return 0
	}
	return yf / ff
}

// means returns the estimate, and the one with the assumed labels, in units of 0..1.
func (p *ppiPopulation) means(lambda float64) (point, centre float64) {
	for i := range p.strata {
		s := &p.strata[i]
		share := s.size / float64(len(p.items))
		point += share * (lambda*s.f/s.size + (s.labelY-lambda*s.labelF)/s.labels)
		centre += share * (lambda*s.f/s.size + (s.augY-lambda*s.augF)/s.augN)
	}
	return point, centre
}

// labelVariance is the variance due to the items without labels. The variance of a stratum with few
// labels is drawn to that of all strata by the weight of one label.
func (p *ppiPopulation) labelVariance(lambda float64) float64 {
	squares := func(s *ppiStratum) float64 {
		return max(0, s.augYY-2*lambda*s.augYF+lambda*lambda*s.augFF)
	}
	var all, n float64
	for i := range p.strata {
		all += squares(&p.strata[i])
		n += p.strata[i].augN
	}
	pooled := all / max(1, n-1-float64(len(p.strata)))
	sum := 0.0
	for i := range p.strata {
		s := &p.strata[i]
		sum += p.weight(s) * (squares(s) + pooled) / s.augN
	}
	return sum
}

// itemVariance is the variance of the mean of all labels if all items had one. Clusters multiply it
// by the design effect of the verdicts.
func (p *ppiPopulation) itemVariance() float64 {
	n := float64(len(p.items))
	var mean, variance float64
	for i := range p.strata {
		mean += p.strata[i].size / n * p.strata[i].augY / p.strata[i].augN
	}
	for i := range p.strata {
		s := &p.strata[i]
		d := s.augY/s.augN - mean
		variance += s.size / n * (s.augYY/s.augN + d*d)
	}
	effect := 1.0
	if p.clustered() {
		verdicts := make([]float64, len(p.items))
		for i, it := range p.items {
			verdicts[i] = it.Judge
		}
		effect = DesignEffect(verdicts, p.clusterLabels())
	}
	return effect * variance / n
}

// clusterVariance is the variance of the estimate by clusters, 0 if each item is its own. The errors
// of the judge hide how alike the labels of a cluster are; the labelled items show it if they are
// many.
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

func (p *ppiPopulation) clustered() bool { return p.clusters < len(p.items) }

func (p *ppiPopulation) clusterLabels() []int {
	labels := make([]int, len(p.items))
	for i, it := range p.items {
		labels[i] = it.Cluster
	}
	return labels
}
