package stats

import (
	"cmp"
	"math"
	"slices"
)

// mannWhitneyMax is the largest sample of MannWhitneyExact: the time grows with its fourth power.
const mannWhitneyMax = 120

// MannWhitneyExact returns the statistic U of two independent samples, the number of pairs in which
// the value of x is larger plus half of the pairs in which both are equal, and the two-sided
// p-value of both having the same distribution. p is the share of all assignments of the values to
// samples of these sizes in which U is as far from its mean, so it is exact with ties, too (Mann
// and Whitney 1947). p is NaN for more than 120 values in all, for which a normal approximation is
// good, and both are NaN if a sample is empty or has a NaN.
func MannWhitneyExact(x, y []float64) (u, p float64) {
	if len(x) == 0 || len(y) == 0 || slices.ContainsFunc(slices.Concat(x, y), math.IsNaN) {
		return math.NaN(), math.NaN()
	}
	ranks, sum := doubledRanks(x, y)
	n, m := len(x), len(y)
	// Doubled ranks are whole numbers: u2 is 2U.
	u2 := sum - n*(n+1)
	u = float64(u2) / 2
	if n+m > mannWhitneyMax {
		return u, math.NaN()
	}
	// ways[k][s] are the subsets of k ranks with sum s.
	ways := make([][]float64, n+1)
	total := 0
	for _, r := range ranks {
		total += r
	}
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for i, r := range ranks {
		for k := min(i+1, n); k >= 1; k-- {
			for s := total; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	distance := abs(u2 - n*m)
	all, far := 0.0, 0.0
	for s, w := range ways[n] {
		all += w
		if abs(s-n*(n+1)-n*m) >= distance {
			far += w
		}
	}
	return u, far / all
}

// doubledRanks returns twice the ranks of all values, from 1, where equal values share the mean of
// their ranks, and the sum of those of x.
func doubledRanks(x, y []float64) (ranks []int, sum int) {
	type value struct {
		v     float64
		first bool
	}
	var all []value
	for _, v := range x {
		all = append(all, value{v, true})
	}
	for _, v := range y {
		all = append(all, value{v, false})
	}
	slices.SortFunc(all, func(a, b value) int { return cmp.Compare(a.v, b.v) })
	for start := 0; start < len(all); {
		end := start
		for end < len(all) && all[end].v == all[start].v {
			end++
		}
		for _, v := range all[start:end] {
			rank := start + 1 + end
			ranks = append(ranks, rank)
			if v.first {
				sum += rank
			}
		}
		start = end
	}
	return ranks, sum
}

func abs(n int) int { return max(n, -n) }
