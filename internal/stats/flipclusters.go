package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// FlipClustersExact is the largest number of clusters for which FlipClusters tries all signs: 8192
// different assignments.
const FlipClustersExact = 14

// ClusterFlips is the sign-flip test of a mean over clusters, with the interval that inverts it.
type ClusterFlips struct {
	// Mean is NaN if there is no test.
	Mean     float64
	Clusters int
	// Exact reports that P(0) counts all assignments of signs.
	Exact bool
	// zero is P(0), NaN if low and high tell it.
	zero float64
	// low and high have, in ascending order, the lower and the higher of the two means into which
	// each assignment of signs divides the clusters.
	low, high []float64
}

// FlipClusters tests the mean of values, such as differences of pairs. The clusters are
// independent; values in a cluster need not be. cluster[i] is any label of the cluster of
// values[i]. A nil cluster means that all values are independent. If the true mean is m and the
// cluster sums of value-m are symmetric about 0, the signs of these sums are random. The p-value of
// m is the share of all assignments of signs to the clusters whose sum is at least as far from 0
// (Fisher 1935; for clusters Canay, Romano and Shaikh 2017). An assignment divides the clusters
// into those that keep their sign and those that change it. It counts exactly if m lies between the
// means of the two parts (Hartigan 1969). So the means with a p-value above a level are an
// interval, which contains 0 exactly if the test of 0 is not significant at that level.
//
// The test assumes no distribution, no number of clusters and no similar sizes. With 25 clusters,
// one of them with half the values, a t test with clustered standard errors reports false
// differences far more often than its level; this test does not (docs/dev/simulations.md, Whole
// comparisons).
// With fewer than 6 clusters no p-value is below 0.05.
//
// Up to 14 clusters, all assignments count. With more, resamples random ones count, which depend
// only on the arguments, and p is (r+1)/(resamples+1) for the r that count. The p-value of 0 counts
// all assignments if at most 14 clusters have a sum other than 0, because only their signs matter.
// Means on the same side of 0 as the mean then have at least this p-value, and means on the other
// side at most this one. So the interval agrees with the test of 0: an end on the wrong side of 0
// is moved to 0 or, if 0 is rejected, to the number next to it.
//
// There is no test if the lengths differ, without values, if a value is NaN or infinite, and if
// there are more than 14 clusters and resamples is below 1.
func FlipClusters(values []float64, cluster []int, resamples int, seed uint64) ClusterFlips {
	f := ClusterFlips{Mean: math.NaN(), zero: math.NaN()}
	cluster = labelled(cluster, len(values))
	if len(values) == 0 || len(values) != len(cluster) {
		return f
	}
	u := centred(values, cluster, 0)
	total, size, magnitude := 0.0, 0.0, 0.0
	for i, sum := range u.sums {
		total, size, magnitude = total+sum, size+u.sizes[i], magnitude+math.Abs(sum)
	}
	all := len(u.sums) <= FlipClustersExact
	f.Clusters, f.Exact = len(u.sums), all
	if math.IsNaN(magnitude) || math.IsInf(magnitude, 0) || !all && resamples < 1 {
		return f
	}
	f.Mean = total / size
	if moved := u.moved(magnitude); !all && len(moved) <= FlipClustersExact {
		f.zero, f.Exact = shareOfSigns(moved, math.Abs(total)-1e-12*magnitude), true
	}
	signed, weights := u.assignments(total, size, all, resamples, seed)
	f.low, f.high = make([]float64, len(signed)), make([]float64, len(signed))
	for i, sum := range signed {
		a, b := math.Inf(-1), math.Inf(1)
		if n := weights[i]; n < size && n > -size {
			a, b = unrounded(total+sum, magnitude)/(size+n), unrounded(total-sum, magnitude)/(size-n)
		}
		f.low[i], f.high[i] = min(a, b), max(a, b)
	}
	slices.Sort(f.low)
	slices.Sort(f.high)
	return f
}

// moved returns the sums other than 0 of clusters whose sums have this magnitude.
func (u units) moved(magnitude float64) []float64 {
	var moved []float64
	for _, sum := range u.sums {
		if sum = unrounded(sum, magnitude); sum != 0 {
			moved = append(moved, sum)
		}
	}
	return moved
}

// assignments returns the sums and the sizes of the clusters for each assignment of signs. The
// first assignment changes none.
func (u units) assignments(total, size float64, all bool, resamples int, seed uint64) (signed, weights []float64) {
	if all {
		// The sign of the first cluster is fixed: the reverse of an assignment divides alike.
		signed, weights = signedSums(u.sums[1:]), signedSums(u.sizes[1:])
		for i := range signed {
			signed[i], weights[i] = signed[i]+u.sums[0], weights[i]+u.sizes[0]
		}
		return signed, weights
	}
	signed, weights = make([]float64, resamples+1), make([]float64, resamples+1)
	signed[0], weights[0] = total, size
	sums, sizes := signedGroups(u.sums), signedGroups(u.sizes)
	eachChunk(resamples, seed, func(random *rand.PCG, from, to int) {
		for i := from; i < to; i++ {
			same := *random
			signed[i+1], weights[i+1] = flip(sums, random), flip(sizes, &same)
		}
	})
	return signed, weights
}

// unrounded returns sum, or 0 if the difference can be due to rounding of parts of this magnitude.
func unrounded(sum, magnitude float64) float64 {
	if math.Abs(sum) <= 1e-12*magnitude {
		return 0
	}
	return sum
}

// P returns the two-sided p-value of a true mean m, NaN if there is no test.
func (f ClusterFlips) P(m float64) float64 {
	p := f.counted(m)
	switch {
	case math.IsNaN(f.zero) || m == f.Mean:
		return p
	case m == 0:
		return f.zero
	case (m > 0) == (f.Mean > 0) && math.Abs(m) < math.Abs(f.Mean):
		return max(p, f.zero)
	case (m > 0) != (f.Mean > 0):
		return min(p, f.zero)
	}
	return p
}

// counted returns the p-value of m by the assignments that low and high have.
func (f ClusterFlips) counted(m float64) float64 {
	switch {
	case math.IsNaN(f.Mean) || math.IsNaN(m):
		return math.NaN()
	case m < f.Mean:
		above, _ := slices.BinarySearch(f.low, math.Nextafter(m, math.Inf(1)))
		return float64(above) / float64(len(f.low))
	case m > f.Mean:
		below, _ := slices.BinarySearch(f.high, m)
		return float64(len(f.high)-below) / float64(len(f.high))
	}
	return 1
}

// Interval returns the least and the largest mean with a p-value above 1-conf. Both are NaN if
// there is no test, and if no mean is rejected, as with fewer than 6 clusters at 0.95. They are
// also NaN if all clusters have the same mean, because an interval without a width would prove
// anything.
func (f ClusterFlips) Interval(conf float64) (lo, hi float64) {
	rejected := int((1 - conf) * float64(len(f.low)))
	if math.IsNaN(f.Mean) || !(conf > 0 && conf < 1) || rejected < 1 {
		return math.NaN(), math.NaN()
	}
	lo, hi = f.low[rejected], f.high[len(f.high)-1-rejected]
	if hi-lo <= 1e-12*math.Abs(f.Mean) {
		return math.NaN(), math.NaN()
	}
	switch {
	case f.zero > 1-conf:
		return min(lo, 0), max(hi, 0)
	case f.Mean > 0 && f.zero <= 1-conf && lo <= 0:
		return math.Nextafter(0, 1), hi
	case f.Mean < 0 && f.zero <= 1-conf && hi >= 0:
		return lo, math.Nextafter(0, -1)
	}
	return lo, hi
}
