package stats

import "math"

// Pairs counts items that two systems answered, or two raters judged, by who passed them.
type Pairs struct {
	Both, First, Second, Neither int // First: passed by the first only
}

// N returns the number of items.
func (p Pairs) N() int { return p.Both + p.First + p.Second + p.Neither }

// Discordant returns the number of items that only one of the two passed.
func (p Pairs) Discordant() int { return p.First + p.Second }

// Difference returns the pass rate of the first minus the rate of the second. Like all figures of
// Pairs it is NaN without items and if a count is negative.
func (p Pairs) Difference() float64 {
	_, first, second, _, n := p.floats()
	return (first - second) / n
}

// SE returns the standard error of Difference, √((b+c)-(b-c)²/n)/n with b and c the discordant
// items (Wald). It is 0 if no item is discordant or all are in the same way, and then says nothing
// about the precision.
func (p Pairs) SE() float64 {
	_, first, second, _, n := p.floats()
	d := first - second
	return math.Sqrt(max(0, first+second-d*d/n)) / n
}

// Newcombe returns the interval of Difference at confidence conf by method 10 of Newcombe 1998
// (Statistics in Medicine 17, 2635-2650): Wilson's intervals of the two rates, combined with their
// correlation. It has a width even if no item is discordant. Both ends are in -1..1, and NaN unless
// 0 < conf < 1.
func (p Pairs) Newcombe(conf float64) (lo, hi float64) {
	both, first, second, _, n := p.floats()
	if math.IsNaN(n) || !(conf > 0 && conf < 1) {
		return math.NaN(), math.NaN()
	}
	p1, p2 := (both+first)/n, (both+second)/n
	l1, u1 := Wilson(p.Both+p.First, p.N(), conf)
	l2, u2 := Wilson(p.Both+p.Second, p.N(), conf)
	phi, d := p.correlation(), (first-second)/n
	lo = d - combine(p1-l1, u2-p2, phi)
	hi = d + combine(u1-p1, p2-l2, phi)
	return max(-1, lo), min(1, hi)
}

// NewcombeUnpaired returns the interval at confidence conf of k1/n1 minus k2/n2, two rates of different
// items, by method 10 of Newcombe 1998 (Statistics in Medicine 17, 873-890): Wilson's intervals of the
// two rates, combined as of independent errors. Both ends are in -1..1, and NaN without items, unless
// 0 <= k <= n, and unless 0 < conf < 1.
func NewcombeUnpaired(k1, n1, k2, n2 int, conf float64) (lo, hi float64) {
	l1, u1 := Wilson(k1, n1, conf)
	l2, u2 := Wilson(k2, n2, conf)
	p1, p2 := float64(k1)/float64(n1), float64(k2)/float64(n2)
	lo = p1 - p2 - combine(p1-l1, u2-p2, 0)
	hi = p1 - p2 + combine(u1-p1, p2-l2, 0)
	return max(-1, lo), min(1, hi)
}

// combine returns the length of the difference of two errors with this correlation.
func combine(x, y, phi float64) float64 {
	return math.Sqrt(max(0, x*x-2*phi*x*y+y*y))
}

// correlation returns φ of the two outcomes with the continuity correction of method 10, and 0 if
// one of the two passed all items or none.
func (p Pairs) correlation() float64 {
	both, first, second, none, n := p.floats()
	// Roots of the parts, because the product of four counts of millions loses digits.
	margins := math.Sqrt((both+first)*(second+none)) * math.Sqrt((both+second)*(first+none))
	if margins == 0 {
		return 0
	}
	cross := both*none - first*second
	if cross > 0 {
		cross = max(0, cross-n/2)
	}
	return cross / margins
}

// floats returns the counts and their sum n, which is NaN if there are no figures.
func (p Pairs) floats() (both, first, second, none, n float64) {
	both, first, second, none = float64(p.Both), float64(p.First), float64(p.Second), float64(p.Neither)
	n = both + first + second + none
	if n == 0 || min(p.Both, p.First, p.Second, p.Neither) < 0 {
		n = math.NaN()
	}
	return both, first, second, none, n
}
