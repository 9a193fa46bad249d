package stats

import "math"

// Coefficient is a measure of agreement with its standard error and interval. All are NaN if the
// measure is not defined. SE, Lo and Hi are also NaN if all items are alike, because the variance
// is unknown then.
type Coefficient struct{ Value, SE, Lo, Hi float64 }

// Ratings has for each item how many raters put it in each category. All items have the same number
// of raters, at least 2, and all rows the same number of categories, at least 2.
type Ratings [][]int

// Fleiss returns Fleiss' kappa, (Po-Pe)/(1-Pe) with Pe the sum of the squares of the categories'
// shares (Fleiss 1971). The variance is computed from the linearised coefficient over the items
// (Gwet 2014, 5.3). The interval is Student's t with n-1 degrees of freedom. cluster[i] is any
// label of the cluster of item i; variance and degrees of freedom are then over clusters
// (Clustered). A nil cluster means that items are independent.
func (r Ratings) Fleiss(cluster []int, conf float64) Coefficient {
	share := r.shares()
	pe := 0.0
	for _, p := range share {
		pe += p * p
	}
	return r.coefficient(pe, cluster, conf, func(item []float64) float64 {
		d := 0.0
		for k, p := range share {
			d += 2 * p * (item[k] - p)
		}
		return d
	})
}

// AC1 returns Gwet's AC1 of any number of raters, with Pe the sum of p(1-p) over the categories by
// the number of categories less one (Gwet 2008). Variance and interval are as in Fleiss.
func (r Ratings) AC1(cluster []int, conf float64) Coefficient {
	share := r.shares()
	pe, others := 0.0, float64(len(share)-1)
	for _, p := range share {
		pe += p * (1 - p) / others
	}
	return r.coefficient(pe, cluster, conf, func(item []float64) float64 {
		d := 0.0
		for k, p := range share {
			d += (1 - 2*p) * (item[k] - p) / others
		}
		return d
	})
}

// shares returns the share of each category of all ratings, nil for ratings without any.
func (r Ratings) shares() []float64 {
	if !r.valid() {
		return nil
	}
	share := make([]float64, len(r[0]))
	for _, item := range r {
		for k, p := range item {
			share[k] += float64(p)
		}
	}
	all := float64(len(r) * raters(r[0]))
	for k := range share {
		share[k] /= all
	}
	return share
}

func (r Ratings) valid() bool {
	if len(r) == 0 || len(r[0]) < 2 || raters(r[0]) < 2 {
		return false
	}
	for _, item := range r {
		if len(item) != len(r[0]) || raters(item) != raters(r[0]) {
			return false
		}
		for _, n := range item {
			if n < 0 {
				return false
			}
		}
	}
	return true
}

func raters(item []int) (n int) {
	for _, k := range item {
		n += k
	}
	return n
}

// coefficient returns (Po-Pe)/(1-Pe). slope returns by how much an item with these shares moves Pe.
func (r Ratings) coefficient(pe float64, cluster []int, conf float64, slope func(item []float64) float64) Coefficient {
	if !r.valid() {
		return undefined()
	}
	m := float64(raters(r[0]))
	agree, slopes := make([]float64, len(r)), make([]float64, len(r))
	for i, item := range r {
		share := make([]float64, len(item))
		for k, n := range item {
			agree[i] += float64(n) * float64(n-1) / (m * (m - 1))
			share[k] = float64(n) / m
		}
		slopes[i] = slope(share)
	}
	return corrected(agree, slopes, pe, cluster, conf)
}

// corrected returns a coefficient that corrects agreement for chance. slopes[i] is how much item i
// moves Pe, with a mean of 0.
func corrected(agree, slopes []float64, pe float64, cluster []int, conf float64) Coefficient {
	n := float64(len(agree))
	po := 0.0
	for _, a := range agree {
		po += a
	}
	po /= n
	c := undefined()
	if !(1-pe > 1e-12) {
		return c
	}
	if c.Value = (po - pe) / (1 - pe); math.Abs(c.Value) < 1e-12 {
		c.Value = 0 // and not a rounding error below it
	}
	linear := make([]float64, len(agree)) // with a mean of 0
	for i, a := range agree {
		linear[i] = ((a-po)*(1-pe) - (1-po)*slopes[i]) / ((1 - pe) * (1 - pe))
	}
	if m := Clustered(linear, cluster, conf); m.SE > 1e-9 {
		c.SE = m.SE
		half := StudentQuantile((1+conf)/2, float64(m.Clusters-1)) * m.SE
		c.Lo, c.Hi = max(-1, c.Value-half), min(1, c.Value+half)
	}
	return c
}

func undefined() Coefficient {
	nan := math.NaN()
	return Coefficient{nan, nan, nan, nan}
}

// ratings returns the items of two raters, as Ratings of failed and passed.
func (p Pairs) ratings() Ratings {
	var r Ratings
	for _, cell := range []struct {
		n    int
		item []int
	}{{p.Both, []int{0, 2}}, {p.Discordant(), []int{1, 1}}, {p.Neither, []int{2, 0}}} {
		for range cell.n {
			r = append(r, cell.item)
		}
	}
	return r
}

// AC1Interval returns AC1 with its interval. Like all figures of Pairs it is NaN without items and if
// a count is negative. cluster has the labels of Both, First, Second and Neither, in this order, as
// in Ratings.Fleiss.
func (p Pairs) AC1Interval(cluster []int, conf float64) Coefficient {
	if math.IsNaN(p.Observed()) {
		return undefined()
	}
	return p.ratings().AC1(cluster, conf)
}

// KappaInterval returns Kappa with its interval, by the delta method (Fleiss, Cohen and Everitt
// 1969) with Student's t. It is NaN where Kappa is. cluster is as in AC1Interval.
func (p Pairs) KappaInterval(cluster []int, conf float64) Coefficient {
	both, first, second, _, n := p.floats()
	if math.IsNaN(n) {
		return undefined()
	}
	p1, p2 := (both+first)/n, (both+second)/n
	pe := p1*p2 + (1-p1)*(1-p2)
	var agree, slopes []float64
	for _, cell := range []struct {
		n    int
		x, y float64
	}{{p.Both, 1, 1}, {p.First, 1, 0}, {p.Second, 0, 1}, {p.Neither, 0, 0}} {
		for range cell.n {
			agree = append(agree, 1-math.Abs(cell.x-cell.y))
			slopes = append(slopes, (cell.x-p1)*(2*p2-1)+(cell.y-p2)*(2*p1-1))
		}
	}
	return corrected(agree, slopes, pe, cluster, conf)
}
