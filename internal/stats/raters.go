package stats

import "math"

// Fleiss returns Fleiss' kappa of several raters (Fleiss 1971): counts[i][j] raters put item i in
// category j, and all items have the same number of raters, at least two. It is (P-Pe)/(1-Pe), with
// P the mean share of agreeing pairs of raters and Pe that of chance. It is NaN without items, for
// counts that are negative or differ in their sums or lengths, and if all ratings are of one
// category.
func Fleiss(counts [][]int) float64 {
	if len(counts) == 0 {
		return math.NaN()
	}
	raters, totals, pairs := 0, make([]float64, len(counts[0])), 0.0
	for i, item := range counts {
		sum := 0
		if len(item) != len(totals) {
			return math.NaN()
		}
		for j, c := range item {
			if c < 0 {
				return math.NaN()
			}
			sum += c
			totals[j] += float64(c)
			pairs += float64(c) * float64(c-1)
		}
		if i == 0 {
			raters = sum
		}
		if sum != raters || raters < 2 {
			return math.NaN()
		}
	}
	n, r := float64(len(counts)), float64(raters)
	chance := 0.0
	for _, t := range totals {
		chance += t / (n * r) * t / (n * r)
	}
	if chance >= 1 {
		return math.NaN()
	}
	return (pairs/(n*r*(r-1)) - chance) / (1 - chance)
}

// Krippendorff returns Krippendorff's alpha, 1-Do/De, of any number of raters with missing ratings
// (Krippendorff 2011): units[i] are the ratings of item i, NaN where one is missing. Do is the mean
// disagreement of two ratings of one item, De that of two ratings of any items. Two ratings
// disagree by 1 unless they are equal, or by the square of their difference if interval is set.
// Items with fewer than two ratings do not count. It is NaN if no two ratings disagree, because
// De is 0 then.
func Krippendorff(units [][]float64, interval bool) float64 {
	disagreement := unequalPairs
	if interval {
		disagreement = squaredPairs
	}
	var all []float64
	observed := 0.0
	for _, unit := range units {
		var ratings []float64
		for _, r := range unit {
			if !math.IsNaN(r) {
				ratings = append(ratings, r)
			}
		}
		if len(ratings) < 2 {
			continue
		}
		observed += disagreement(ratings) / float64(len(ratings)-1)
		all = append(all, ratings...)
	}
	expected := disagreement(all)
	if expected == 0 {
		return math.NaN()
	}
	return 1 - observed*float64(len(all)-1)/expected
}

// unequalPairs returns how many ordered pairs of values are unequal.
func unequalPairs(values []float64) float64 {
	counts := map[float64]float64{}
	for _, v := range values {
		counts[v]++
	}
	n, equal := float64(len(values)), 0.0
	for _, c := range counts { // whole numbers: the order does not matter
		equal += c * (c - 1)
	}
	return n*(n-1) - equal
}

// squaredPairs returns the sum of (x-y)² over all ordered pairs of values.
func squaredPairs(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	_, variance := moments(values)
	n := float64(len(values))
	return 2 * n * (n - 1) * variance
}
