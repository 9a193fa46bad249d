package stats

import "math"

// CrossedMean is a mean, or a difference of means, over units such as questions, each measured by
// all of several runs. Both another choice of units and another run would change it.
type CrossedMean struct {
	Mean float64
	// SE has the variances of units and of runs, and DF its degrees of freedom. Both are NaN if
	// they are not determined.
	SE, DF float64
	// Clusters is the number of clusters of units.
	Clusters int
}

// Crossed returns the mean of runs[k][i], the value of run k on unit i, or NaN if the run has none.
// cluster[i] is any label of the cluster of unit i. A nil cluster means that units are independent.
// With the means of units u, the effects of runs r and the remainder e,
//
//	SE² = V(u) + max(0, V(r) - V(e))
//
// where V(u) is Clustered, V(r) = Σ r_k²/(K(K-1)) for K runs, and V(e) is the part of the remainder
// in V(r). This is the two-way clustered error (Cameron, Gelbach and Miller 2011) if the part of
// the runs cannot be negative. DF is Satterthwaite's. One run counts as a run without an effect.
func Crossed(runs [][]float64, cluster []int) CrossedMean {
	s := sideOf(runs, cluster)
	return crossed(s.units, cluster, []runSpread{s.spread()})
}

// CrossedDifference returns the difference of the means of x and y, which have the same units, as
// Crossed does. Here u are the differences of the means of units, and each side has its own runs. A
// side with a single run gets the variance between runs of the other side.
func CrossedDifference(x, y [][]float64, cluster []int) CrossedMean {
	a, b := sideOf(x, cluster), sideOf(y, cluster)
	d := make([]float64, len(a.units))
	for i := range d {
		d[i] = a.units[i] - b.units[i]
	}
	one, other := a.spread(), b.spread()
	switch n, m := len(x), len(y); {
	case n == 1 && m > 1:
		other = other.times(float64(1 + m))
	case m == 1 && n > 1:
		one = one.times(float64(1 + n))
	}
	return crossed(d, cluster, []runSpread{one, other})
}

// crossed joins the variance of units with the spreads of runs.
func crossed(units []float64, cluster []int, runs []runSpread) CrossedMean {
	c := Clustered(units, cluster, 0.95)
	m := CrossedMean{Mean: c.Mean, SE: math.NaN(), DF: math.NaN(), Clusters: c.Clusters}
	if math.IsNaN(c.SE) {
		return m
	}
	variance := c.SE * c.SE
	below := variance * variance / float64(c.Clusters-1)
	for _, s := range runs {
		variance += max(0, s.runs-s.rest)
		if s.df > 0 {
			below += s.runs * s.runs / s.df
		}
	}
	m.SE = math.Sqrt(variance)
	if below > 0 {
		m.DF = max(1, variance*variance/below) // the part of rest could make it less
	}
	return m
}

// P returns the two-sided p-value of a true mean m, NaN if SE is 0 or not determined.
func (c CrossedMean) P(m float64) float64 {
	if !(c.SE > 0) {
		return math.NaN()
	}
	return min(1, 2*StudentCDF(-math.Abs(c.Mean-m)/c.SE, c.DF))
}

// Interval returns the means with a P above 1-conf. Both ends are NaN without P.
func (c CrossedMean) Interval(conf float64) (lo, hi float64) {
	if !(c.SE > 0) || !(conf > 0 && conf < 1) {
		return math.NaN(), math.NaN()
	}
	half := StudentQuantile((1+conf)/2, c.DF) * c.SE
	return c.Mean - half, c.Mean + half
}

// side has the values of runs, divided into the means of units, the effects of runs and the rest.
type side struct {
	units, effects []float64
	rest           [][]float64 // by run and unit, 0 where there is no value
	cluster        []int
}

func sideOf(runs [][]float64, cluster []int) side {
	s := side{cluster: cluster, effects: make([]float64, len(runs))}
	for i := range runs[0] {
		sum, n := 0.0, 0
		for _, r := range runs {
			if v := r[i]; !math.IsNaN(v) {
				sum, n = sum+v, n+1
			}
		}
		s.units = append(s.units, sum/float64(n))
	}
	for k, r := range runs {
		rest, n := make([]float64, len(r)), 0
		for i, v := range r {
			if !math.IsNaN(v) {
				rest[i] = v - s.units[i]
				s.effects[k] += rest[i]
				n++
			}
		}
		s.effects[k] /= float64(max(1, n))
		for i, v := range r {
			if !math.IsNaN(v) {
				rest[i] -= s.effects[k]
			}
		}
		s.rest = append(s.rest, rest)
	}
	return s
}

// runSpread is the variance of a mean that comes from its runs: runs includes rest. df is 0 for a
// single run.
type runSpread struct{ runs, rest, df float64 }

func (s runSpread) times(n float64) runSpread { return runSpread{s.runs * n, s.rest * n, s.df} }

func (s side) spread() runSpread {
	k := float64(len(s.effects))
	if k < 2 {
		return runSpread{}
	}
	out := runSpread{df: k - 1}
	cluster, n := labelled(s.cluster, len(s.units)), float64(len(s.units))
	for i, effect := range s.effects {
		out.runs += effect * effect / (k * (k - 1))
		sums := centred(s.rest[i], cluster, 0).sums
		squares, c := 0.0, float64(len(sums))
		for _, sum := range sums {
			squares += sum * sum
		}
		if c > 1 {
			out.rest += squares / n / n * c / (c - 1) / (k * (k - 1))
		}
	}
	return out
}
