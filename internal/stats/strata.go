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
// stratum h in m_h clusters adds
//
//	W·(x - p_h)/n_h · √(m_h/(m_h-1))
//
// to the error of the rate. The variance is the sum of the squares of the clusters' sums. The
// root corrects for few clusters, as in Clustered: with all C clusters in each stratum the
// variance has the factor C/(C-1).
//
// A stratum of a single cluster does not show how much clusters differ: its sum would be 0. Such
// strata count as one stratum with their common rate (collapsed strata, Cochran 1977, 5A.12). If
// that has a single cluster too, its questions are compared with the rate of all.
//
// Lo and Hi are Student's t with C-1 degrees of freedom, or Wilson's limits with one question
// for each cluster if the clusters do not differ, widened to the ends of Stratified if these are
// farther out. There is no correction for a finite population, because its clusters are a sample
// too, and no interval with fewer than two clusters.
func StratifiedClusters(cells []Cell, parts []ClusteredCell, conf float64) StratifiedRate {
	r := Stratified(cells, conf)
	if math.IsNaN(r.Rate) {
		return r
	}
	independent := r
	r.SE, r.Lo, r.Hi, r.Single = math.NaN(), math.NaN(), math.NaN(), nil
	sums := clusterSums(cells, parts, r.Rate)
	squares, c := 0.0, float64(len(sums))
	for _, sum := range sums {
		squares += sum * sum
	}
	switch {
	case c < 2:
		return r
	case squares < 1e-24:
		r.Lo, r.Hi = score(r.Rate, c, NormalQuantile((1+conf)/2))
	default:
		r.SE = math.Sqrt(squares)
		t := StudentQuantile((1+conf)/2, c-1)
		r.Lo, r.Hi = max(0, r.Rate-t*r.SE), min(1, r.Rate+t*r.SE)
	}
	r.Lo, r.Hi = min(r.Lo, independent.Lo), max(r.Hi, independent.Hi)
	if independent.SE > r.SE {
		r.SE = independent.SE
	}
	return r
}

// clusterSums returns what each cluster adds to the error of the rate of all, in the order in
// which the clusters first appear in parts.
func clusterSums(cells []Cell, parts []ClusteredCell, rate float64) []float64 {
	const collapsed = -1 // the stratum of all strata with a single cluster
	total := 0
	clusters := map[int]map[int]bool{} // by stratum
	note := func(stratum, cluster int) {
		if clusters[stratum] == nil {
			clusters[stratum] = map[int]bool{}
		}
		clusters[stratum][cluster] = true
	}
	for _, c := range cells {
		total += c.Population
	}
	for _, part := range parts {
		note(part.Stratum, part.Cluster)
	}
	passed, population := 0.0, 0.0 // of the collapsed stratum
	for _, part := range parts {
		if len(clusters[part.Stratum]) == 1 {
			c := cells[part.Stratum]
			note(collapsed, part.Cluster)
			passed += float64(c.Population) * float64(c.Passed) / float64(c.Sampled)
			population += float64(c.Population)
		}
	}
	var sums []float64
	place := map[int]int{}
	for _, part := range parts {
		c, of := cells[part.Stratum], part.Stratum
		p := float64(c.Passed) / float64(c.Sampled)
		if len(clusters[of]) == 1 {
			of, p = collapsed, passed/population
		}
		m := float64(len(clusters[of]))
		if m == 1 {
			m, p = math.Inf(1), rate
		}
		if _, ok := place[part.Cluster]; !ok {
			place[part.Cluster] = len(sums)
			sums = append(sums, 0)
		}
		weight := float64(c.Population) / float64(total) / float64(c.Sampled)
		sums[place[part.Cluster]] += weight * (float64(part.Passed) - float64(part.Sampled)*p) / math.Sqrt(1-1/m)
	}
	return sums
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
