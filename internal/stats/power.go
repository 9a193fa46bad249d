package stats

import (
	"math"
	"sort"
)

// NonInferiority returns the one-sided p-value of a difference, new minus old, of -margin or less,
// by inverting two-sided intervals: it is (1-conf)/2 for the interval with a lower end of -margin.
// ends returns the interval of the difference at a confidence, such as Pairs.Newcombe. A small
// value shows that the new one is not worse by margin or more. It is at most level exactly if the
// interval at 1-2·level lies above -margin. It is NaN if ends has no interval, and unless 0 < level
// < 0.5.
func NonInferiority(diff, margin, level float64, ends func(conf float64) (lo, hi float64)) float64 {
	lo, hi := ends(1 - 2*level)
	switch {
	case math.IsNaN(lo) || math.IsNaN(hi) || !(level > 0 && level < .5) || math.IsNaN(diff+margin):
		return math.NaN()
	case diff == -margin:
		return .5
	case diff < -margin:
		return 1 - inverted(level, func(conf float64) bool { _, hi := ends(conf); return hi < -margin })
	}
	return inverted(level, func(conf float64) bool { lo, _ := ends(conf); return lo > -margin })
}

// TwoSidedTest is a two-sided test of a difference of m, and the intervals at a confidence that
// invert it. The intervals are NaN if there is no test.
type TwoSidedTest struct {
	P        func(m float64) float64
	Interval func(conf float64) (lo, hi float64)
}

// NonInferiorityWider is NonInferiority with a second test that must agree. It returns the larger
// p-value, and the interval at 1-2·level that contains both intervals. They are NaN if the second
// test is undetermined.
func NonInferiorityWider(diff, margin, level float64, ends func(conf float64) (lo, hi float64), other TwoSidedTest) (p, lo, hi float64) {
	lo, hi = ends(1 - 2*level)
	l, h := other.Interval(1 - 2*level)
	lo, hi = min(lo, l), max(hi, h) // NaN if one is
	p = other.P(-margin) / 2
	if diff < -margin {
		p = 1 - p
	}
	return max(p, NonInferiority(diff, margin, level, ends)), lo, hi
}

// inverted returns the least p for which excludes(1-2p) is true, up to rounding. It is at most
// level exactly if excludes(1-2·level) is true.
func inverted(level float64, excludes func(conf float64) bool) float64 {
	lo, hi := level, .5
	if excludes(1 - 2*level) {
		lo, hi = 0, level
	}
	for range 60 {
		if mid := (lo + hi) / 2; excludes(1 - 2*mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// McNemarPower returns the probability that McNemarExact of n pairs is at most alpha, if the share
// psi of all pairs is discordant and the rates of the two raters differ by d:
//
//	Σ_m B(m; n, psi) · P(McNemarExact(X, m-X) ≤ alpha), X binomial with m and (1-d/psi)/2
//
// It counts both directions. It is NaN unless n >= 1, 0 < psi <= 1, 0 <= d <= psi and 0 < alpha <
// 1.
func McNemarPower(n int, psi, d, alpha float64) float64 {
	if n < 1 || !(psi > 0 && psi <= 1 && d >= 0 && d <= psi && alpha > 0 && alpha < 1) {
		return math.NaN()
	}
	from, to := likely(n, psi)
	null := tailOf(from, -1, .5)
	for next := null.wider(); 2*next.sum <= alpha; next = null.wider() {
		null = next
	}
	share := (1 - d/psi) / 2
	against, along := tailOf(from, null.k, share), tailOf(from, null.k, 1-share)
	power, all := 0.0, 0.0
	for m := from; ; m++ {
		weight := binomialTerm(n, m, psi)
		power, all = power+weight*(against.sum+along.sum), all+weight
		if m == to {
			return min(1, power/all)
		}
		null, against, along = null.longer(), against.longer(), along.longer()
		// For each further discordant pair, at most one more may go against the trend.
		if next := null.wider(); 2*next.sum <= alpha {
			null, against, along = next, against.wider(), along.wider()
		}
	}
}

// likely returns a range that a binomial number leaves with a probability of next to 0.
func likely(n int, p float64) (from, to int) {
	mean := float64(n) * p
	far := 9*math.Sqrt(mean*(1-p)) + 40
	return int(max(0, mean-far)), int(min(float64(n), mean+far))
}

// tail is the probability sum of at most k of m for a binomial distribution with p, and the
// probability term of k. Both are 0 for k = -1.
type tail struct {
	m, k         int
	p, sum, term float64
}

// tailOf returns the tail for m and k, or for a larger k below which the probability is next to 0.
func tailOf(m, k int, p float64) tail {
	t := tail{m: m, p: p}
	t.k, _ = likely(m, p)
	if t.k--; t.k >= 0 {
		t.term = binomialTerm(m, t.k, p)
		t.sum = t.term
	}
	for t.k < k {
		t = t.wider()
	}
	return t
}

// longer returns the tail for m+1.
func (t tail) longer() tail {
	t.m++
	t.sum = max(0, t.sum-t.p*t.term)
	if t.k >= 0 {
		t.term *= (1 - t.p) * float64(t.m) / float64(t.m-t.k)
	}
	return t
}

// wider returns the tail for k+1.
func (t tail) wider() tail {
	switch t.k++; {
	case t.k == 0:
		t.term = binomialTerm(t.m, 0, t.p)
	case t.term > 0:
		t.term *= t.p / (1 - t.p) * float64(t.m-t.k+1) / float64(t.k)
	}
	t.sum += t.term
	return t
}

// binomialTerm returns the probability of k of n.
func binomialTerm(n, k int, p float64) float64 {
	switch k {
	case n:
		return math.Pow(p, float64(n))
	case 0:
		return math.Pow(1-p, float64(n))
	}
	all, _ := math.Lgamma(float64(n) + 1)
	in, _ := math.Lgamma(float64(k) + 1)
	out, _ := math.Lgamma(float64(n-k) + 1)
	return math.Exp(all - in - out + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// powerPairs is the most pairs for which McNemarSize and MinDetectable sum the power of the exact
// test.
const powerPairs = 10_000_000

// McNemarSize returns the fewest pairs from which on McNemarPower reaches power: with so many, a
// two-sided test at level alpha finds a difference of d if the share psi of pairs is discordant. If
// nearly all pairs are discordant, the power is a saw-tooth, and a few pairs more may fall short of
// it by less than 0.01. Above ten million the result is the approximation for large samples of
// Connor 1987 plus 2/d, which is within 0.1 % if psi is at least 0.001. It is +Inf for d = 0, and
// NaN unless 0 < psi <= 1, 0 <= d <= psi, 0 < alpha < 1 and 0 < power < 1.
func McNemarSize(psi, d, alpha, power float64) float64 {
	approximate := connorSize(psi, d, alpha, power)
	if math.IsNaN(approximate) || math.IsInf(approximate, 1) {
		return approximate
	}
	if approximate > powerPairs {
		return math.Ceil(approximate + 2/d)
	}
	reached := func(n int) bool {
		// If the number of discordant pairs is nearly certain, the power is a saw-tooth: it falls
		// whenever one more discordant pair leaves the critical number as it was.
		most := n
		if float64(n)*psi*(1-psi) < 20 {
			most += 3
		}
		for ; most >= n; most-- {
			if McNemarPower(most, psi, d, alpha) < power {
				return false
			}
		}
		return true
	}
	least := int(approximate / 2)
	if least > 0 && reached(least) {
		least = 0
	}
	most := 2*least + 8
	for !reached(most) {
		least, most = most, 2*most
	}
	return float64(least + 1 + sort.Search(most-least-1, func(i int) bool { return reached(least + 1 + i) }))
}

// connorSize returns the number of pairs by the approximation
//
//	(z(1-alpha/2)·√psi + z(power)·√(psi-d²))² / d²
//
// (Connor 1987). It is too low for few pairs, because the exact test is conservative.
func connorSize(psi, d, alpha, power float64) float64 {
	if !(psi > 0 && psi <= 1 && d >= 0 && d <= psi) {
		return math.NaN()
	}
	za, zb := powerQuantiles(alpha, power)
	root := za*math.Sqrt(psi) + zb*math.Sqrt(psi-d*d)
	switch {
	case math.IsNaN(root):
		return root
	case d == 0:
		return math.Inf(1)
	}
	return root * root / (d * d)
}

// MinDetectable returns the smallest difference of pass rates that n pairs show with probability
// power in the exact test at level alpha, if the share psi of them is discordant: the one with a
// McNemarPower of power, or above ten million pairs the one with a McNemarSize of n. A difference
// cannot be larger than psi. The result is NaN if no difference can be shown, as when 6 discordant
// pairs, the fewest that are significant at 0.05, are unlikely. It is also NaN unless n >= 1, 0 <
// psi <= 1, 0 < alpha < 1 and 0 < power < 1.
func MinDetectable(n int, psi, alpha, power float64) float64 {
	shown := func(d float64) bool {
		if n > powerPairs {
			return connorSize(psi, d, alpha, power)+2/d <= float64(n)
		}
		return McNemarPower(n, psi, d, alpha) >= power
	}
	if n < 1 || math.IsNaN(connorSize(psi, psi, alpha, power)) || !shown(psi) {
		return math.NaN()
	}
	lo, hi := 0.0, psi
	for range 40 {
		if mid := lo + (hi-lo)/2; shown(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// powerQuantiles returns the normal quantiles of 1-alpha/2 and of power, NaN if one has no meaning.
func powerQuantiles(alpha, power float64) (za, zb float64) {
	if !(alpha > 0 && alpha < 1 && power > 0 && power < 1) {
		return math.NaN(), math.NaN()
	}
	return NormalQuantile(1 - alpha/2), NormalQuantile(power)
}
