package stats

import "math"

// Cell is one stratum of a population: its size, and how many items were sampled and passed.
type Cell struct{ Population, Sampled, Passed int }

// StratifiedRate is the pass rate of a population as estimated from a sample of each stratum.
type StratifiedRate struct {
	Rate   float64
	SE     float64
	Lo, Hi float64
	// Unsampled are the indices of the cells without a sample: with any of them the rate of the
	// population is unknown, and all figures are NaN.
	Unsampled []int
	// Single are the indices of the cells with a sample of one from several, which has no variance:
	// only SE is NaN.
	Single []int
}

// Stratified estimates the pass rate of the population of all cells, with weights W = N_h/N:
//
//	Rate = Σ W·p_h, SE = √Σ W²·p_h(1-p_h)/(n_h-1)·(1-n_h/N_h)
//
// The factor 1-n_h/N_h is the finite population correction: the estimate is about this population,
// so a sample of all of it has SE 0 and an interval without width.
//
// Lo and Hi are the Wilson interval of Rate at confidence conf for the effective sample size
// 1/Σ(W²/n_h·(1-n_h/N_h)). Rate ± z·SE would be too narrow for high rates, and of no width if each
// cell passed as a whole. The interval exists for samples of one, too.
//
// Cells without population have no weight. All figures are NaN without a population, for cells with
// contradictory counts, and unless 0 < conf < 1.
func Stratified(cells []Cell, conf float64) StratifiedRate {
	nan := math.NaN()
	r := StratifiedRate{Rate: nan, SE: nan, Lo: nan, Hi: nan}
	total := 0
	for i, c := range cells {
		if c.Passed < 0 || c.Passed > c.Sampled || c.Sampled > c.Population {
			return StratifiedRate{Rate: nan, SE: nan, Lo: nan, Hi: nan}
		}
		total += c.Population
		switch {
		case c.Sampled == 0 && c.Population > 0:
			r.Unsampled = append(r.Unsampled, i)
		case c.Sampled == 1 && c.Population > 1:
			r.Single = append(r.Single, i)
		}
	}
	if total == 0 || len(r.Unsampled) > 0 || !(conf > 0 && conf < 1) {
		return r
	}
	rate, variance, spread := sums(cells, float64(total))
	z := NormalQuantile((1 + conf) / 2)
	r.Rate = clamp(rate)
	r.Lo, r.Hi = score(r.Rate, 1/spread, z)
	if len(r.Single) == 0 {
		r.SE = math.Sqrt(variance)
	}
	return r
}

// ClusteredCell is the outcomes of one stratum in one cluster of questions.
type ClusteredCell struct{ Stratum, Cluster, Sampled, Passed int }

// StratifiedClusters is Stratified for questions in clusters, which may have questions of several
// strata. parts divide the samples of cells, which are the strata, by cluster. A question of
// stratum h adds W·(x - p_h)/n_h to the error of the rate. The variance is the sum of the squares
// of the clusters' sums, with the correction C/(C-1) for few clusters (Clustered). Lo and Hi are
// Student's t with C-1 degrees of freedom, or Wilson's limits with one question for each cluster if
// the clusters do not differ. There is no correction for a finite population, because its clusters
// are a sample too, and no interval with fewer than two clusters.
func StratifiedClusters(cells []Cell, parts []ClusteredCell, conf float64) StratifiedRate {
	r := Stratified(cells, conf)
	if math.IsNaN(r.Rate) {
		return r
	}
	r.SE, r.Lo, r.Hi, r.Single = math.NaN(), math.NaN(), math.NaN(), nil
	total := 0
	for _, c := range cells {
		total += c.Population
	}
	sums := map[int]float64{}
	for _, part := range parts {
		c := cells[part.Stratum]
		p, n := float64(c.Passed)/float64(c.Sampled), float64(part.Sampled)
		weight := float64(c.Population) / float64(total) / float64(c.Sampled)
		sums[part.Cluster] += weight * (float64(part.Passed) - n*p)
	}
	squares, c := 0.0, float64(len(sums))
	for cluster := range len(sums) {
		squares += sums[cluster] * sums[cluster]
	}
	switch {
	case c < 2:
		return r
	case squares < 1e-24:
		r.Lo, r.Hi = score(r.Rate, c, NormalQuantile((1+conf)/2))
		return r
	}
	r.SE = math.Sqrt(squares * c / (c - 1))
	t := StudentQuantile((1+conf)/2, c-1)
	r.Lo, r.Hi = max(0, r.Rate-t*r.SE), min(1, r.Rate+t*r.SE)
	return r
}

// sums returns Σ W·p_h, Σ W²·p_h(1-p_h)/(n_h-1)·(1-n_h/N_h) and Σ W²/n_h·(1-n_h/N_h). A cell that
// was sampled as a whole adds nothing to the last two.
func sums(cells []Cell, total float64) (rate, variance, spread float64) {
	for _, c := range cells {
		if c.Sampled == 0 {
			continue
		}
		n, size := float64(c.Sampled), float64(c.Population)
		p := float64(c.Passed) / n
		rate += size * p
		if c.Sampled == c.Population {
			continue
		}
		rest := size / total * size / total * (1 - n/size)
		variance += rest * p * (1 - p) / (n - 1)
		spread += rest / n
	}
	return rate / total, variance, spread
}
