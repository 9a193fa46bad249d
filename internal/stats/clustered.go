package stats

import "math"

// ClusteredMean is the mean of values that come in clusters, with its uncertainty.
type ClusteredMean struct {
	Mean float64
	// SE has the correction for few clusters. It is NaN for fewer than two clusters. NaiveSE takes
	// the values as independent, and is NaN for fewer than two values.
	SE, NaiveSE float64
	// Lo and Hi are the ends of the t interval with Clusters-1 degrees of freedom, NaN without SE
	// and if SE is 0. The caller clamps them if the values have a range.
	Lo, Hi   float64
	Clusters int
}

// Clustered returns the mean of values and its standard error if values in a cluster, such as
// questions about one conversation or repeats of one question, resemble each other more than other
// values do:
//
//	SE = √(Σ_c (Σ_i∈c (x_i - mean))²) / n · √(C/(C-1))
//
// with C clusters (Miller 2024, appendix A; the second factor is the correction for few clusters).
// cluster[i] is any label of the cluster of values[i]. A nil cluster means that all values are
// independent. With clusters of one, SE equals NaiveSE. Below about 20 clusters SE itself is
// imprecise. SE is exactly 0 if all values are equal or the clusters do not differ. This does not
// prove that the mean is precise: there is no interval then, and a score interval such as Wilson's
// is needed. All figures are NaN without values and if the lengths differ.
func Clustered(values []float64, cluster []int, conf float64) ClusteredMean {
	nan := math.NaN()
	r := ClusteredMean{Mean: nan, SE: nan, NaiveSE: nan, Lo: nan, Hi: nan}
	cluster = labelled(cluster, len(values))
	if len(values) == 0 || len(values) != len(cluster) {
		return r
	}
	n := float64(len(values))
	var variance float64
	r.Mean, variance = Moments(values)
	r.NaiveSE = math.Sqrt(variance / n)
	// In order of appearance: the sum must not depend on the order of a map.
	sums := centred(values, cluster, r.Mean).sums
	r.Clusters = len(sums)
	if r.Clusters < 2 {
		return r
	}
	squares, c := 0.0, float64(r.Clusters)
	for _, s := range sums {
		squares += s * s
	}
	r.SE = math.Sqrt(squares) / n * math.Sqrt(c/(c-1))
	if rounding(r.SE, values) {
		r.SE = 0
		return r
	}
	r.Lo, r.Hi = MeanCI(r.Clusters, r.Mean, r.SE*r.SE*c, conf)
	return r
}

// labelled returns cluster, or a label of its own for each of n values if cluster is nil.
func labelled(cluster []int, n int) []int {
	if cluster != nil {
		return cluster
	}
	of := make([]int, n)
	for i := range of {
		of[i] = i
	}
	return of
}

// DesignEffect returns the ratio of the variance of the mean with clusters to the variance with
// independent values, at least 1. It is 1 if the clusters do not determine it (see Clustered).
func DesignEffect(values []float64, cluster []int) float64 {
	c := Clustered(values, cluster, 0.95)
	if !(c.NaiveSE > 0) || !(c.SE > c.NaiveSE) {
		return 1
	}
	return c.SE * c.SE / (c.NaiveSE * c.NaiveSE)
}

// rounding reports whether a standard error of these values is 0 but for rounding.
func rounding(se float64, values []float64) bool {
	largest := 0.0
	for _, v := range values {
		largest = max(largest, math.Abs(v))
	}
	return se <= 1e-12*largest
}

// Moments returns the mean of values and their sample variance, which is NaN for fewer than two.
func Moments(values []float64) (mean, variance float64) {
	mean = Mean(values)
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	if len(values) < 2 {
		return mean, math.NaN()
	}
	return mean, squares / float64(len(values)-1)
}
