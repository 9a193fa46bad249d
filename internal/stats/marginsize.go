package stats

import (
	"math"
	"sort"
)

// Scaled returns n items in the proportions of p, rounded by the largest remainders.
func (p Pairs) Scaled(n int) Pairs {
	counts := []int{p.Both, p.First, p.Second, p.Neither}
	out, rest := make([]int, len(counts)), make([]float64, len(counts))
	left := n
	for i, c := range counts {
		exact := float64(n) * float64(c) / float64(p.N())
		out[i] = int(exact)
		rest[i] = exact - float64(out[i])
		left -= out[i]
	}
	for ; left > 0; left-- {
		most := 0
		for i := range rest {
			if rest[i] > rest[most] {
				most = i
			}
		}
		out[most]++
		rest[most] = -1
	}
	return Pairs{out[0], out[1], out[2], out[3]}
}

// NotWorseSize returns the fewest items, at least from and at most most, in the proportions of p
// whose Newcombe interval at conf lies above -margin. ok is false if there is no such number.
func NotWorseSize(p Pairs, margin, conf float64, from, most int) (n int, ok bool) {
	shows := func(n int) bool {
		lo, _ := p.Scaled(n).Newcombe(conf)
		return lo > -margin
	}
	if p.N() == 0 || most < from {
		return 0, false
	}
	n = from + sort.Search(most-from+1, func(i int) bool { return shows(from + i) })
	if n > most {
		return 0, false
	}
	for n > from && shows(n-1) { // rounding makes it come and go near the least
		n--
	}
	return n, true
}

// NotWorsePower returns the probability that n pairs of equal systems have a Newcombe interval at
// conf above -margin. Each passes at rate. The share psi of the pairs is discordant, half of it
// either way. The result is NaN unless n >= 1, 0 <= psi <= 2·min(rate, 1-rate), 0 < margin < 1 and
// 0 < conf < 1.
func NotWorsePower(n int, rate, psi, margin, conf float64) float64 {
	if n < 1 || !(psi >= 0 && psi <= 2*min(rate, 1-rate)+1e-12 && rate <= 1 && margin > 0 && margin < 1 && conf > 0 && conf < 1) {
		return math.NaN()
	}
	shows := func(m, first int) bool {
		both := 0
		if psi < 1 {
			both = int(math.Round(float64(n-m) * (rate - psi/2) / (1 - psi)))
		}
		lo, _ := Pairs{both, first, m - first, n - m - both}.Newcombe(conf)
		return lo > -margin
	}
	if psi == 0 {
		if shows(0, 0) {
			return 1
		}
		return 0
	}
	power, all := 0.0, 0.0
	from, to := likely(n, psi)
	for m := from; m <= to; m++ {
		weight := binomialTerm(n, m, psi)
		all += weight
		// The more of the discordant pairs are the first's, the higher is the interval.
		least := sort.Search(m+1, func(first int) bool { return shows(m, first) })
		for first := least; first <= m; first++ {
			power += weight * binomialTerm(m, first, .5)
		}
	}
	return min(1, power/all)
}

// NotWorseQuestions returns the fewest pairs with a NotWorsePower of at least power, up to most. ok
// is false if there are none. Near the least number the power is not monotonic; all numbers from
// the result up to the next twentieth have it.
func NotWorseQuestions(rate, psi, margin, conf, power float64, most int) (n int, ok bool) {
	enough := func(n int) bool { return NotWorsePower(n, rate, psi, margin, conf) >= power }
	if math.IsNaN(NotWorsePower(1, rate, psi, margin, conf)) {
		return 0, false
	}
	n = 1 + sort.Search(most, func(i int) bool { return enough(1 + i) })
	if n > most {
		return 0, false
	}
	for last := n + n/20 + 1; n <= min(last, most); n++ {
		if stays(n, last, enough) {
			return n, true
		}
	}
	return min(n, most), true
}

// stays reports whether all numbers from n to last are enough.
func stays(n, last int, enough func(int) bool) bool {
	for ; n <= last; n++ {
		if !enough(n) {
			return false
		}
	}
	return true
}
