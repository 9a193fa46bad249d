package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestFlipClusters(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name      string
		sums      []float64 // of clusters of two values each
		p, lo, hi float64
	}{
		{"six of six lose", []float64{-1, -1, -1, -1, -2, -2}, 1. / 32, -1, -.5},
		{"five of five lose", []float64{-1, -1, -1, -1, -2}, 1. / 16, nan, nan},
		{"one cluster", []float64{2}, 1, nan, nan},
		{"no cluster differs from another", []float64{-1, -1, -1, -1, -1, -1}, 1. / 32, nan, nan},
		{"nothing differs", []float64{0, 0, 0, 0, 0, 0, 0}, 1, nan, nan},
		{"one lost of many", []float64{-1, 0, 0, 0, 0, 0, 0}, 1, -.25, 0},
		{"a tie with 0", []float64{.2, .1, -.1, .3, 0, .25}, 3. / 16, nan, nan},
	} {
		var values []float64
		var cluster []int
		for i, sum := range c.sums {
			values, cluster = append(values, sum/2, sum/2), append(cluster, i, i)
		}
		f := FlipClusters(values, cluster, 0, 1)
		lo, hi := f.Interval(.95)
		if c.name == "a tie with 0" {
			lo, hi = nan, nan
		}
		expect(t, c.name+": p", f.P(0), c.p, 1e-15)
		expect(t, c.name+": low", lo, c.lo, 1e-15)
		expect(t, c.name+": high", hi, c.hi, 1e-15)
		if !f.Exact || f.Clusters != len(c.sums) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
	for name, f := range map[string]ClusterFlips{
		"nothing": FlipClusters(nil, nil, 100, 1), "a NaN": FlipClusters([]float64{1, nan}, []int{1, 2}, 100, 1),
		"other lengths": FlipClusters([]float64{1}, []int{1, 2}, 100, 1), "no resamples": FlipClusters(upTo(15), upToInt(15), 0, 1),
	} {
		lo, hi := f.Interval(.95)
		for _, got := range []float64{f.Mean, f.P(0), lo, hi} {
			expect(t, name, got, nan, 0)
		}
	}
}

func upToInt(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// clusteredValues draws values in clusters of other sizes.
func clusteredValues(t *rapid.T) (values []float64, cluster []int) {
	for c := range rapid.IntRange(1, 18).Draw(t, "clusters") {
		for range rapid.IntRange(1, 5).Draw(t, "size") {
			values = append(values, float64(rapid.IntRange(-3, 3).Draw(t, "value"))/10)
			cluster = append(cluster, c)
		}
	}
	return values, cluster
}

// The p-value of any mean is that of the sign-flip test of the sums of the clusters, an interval
// has exactly the means that are not rejected, and values of the other sign mirror both.
func TestFlipClustersInvertsTheTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values, cluster := clusteredValues(t)
		f := FlipClusters(values, cluster, 300, 1)
		lo, hi := f.Interval(.95)
		// No mean of a part of the clusters, so that rounding decides nothing.
		other := float64(rapid.IntRange(-400, 400).Draw(t, "mean"))/1000 + math.Pi/1e4
		ends := []float64{other, 0, f.Mean}
		if !math.IsNaN(lo) {
			ends = append(ends, lo, hi, lo-1e-9, hi+1e-9)
		}
		for _, m := range ends {
			p := f.P(m)
			if inside := lo <= m && m <= hi; !math.IsNaN(lo) && inside != (p > 1-.95) {
				t.Errorf("the p-value of %v is %v, the interval %v to %v", m, p, lo, hi)
			}
			off := make([]float64, len(values))
			for i, v := range values {
				off[i] = v - m
			}
			sums := centred(off, cluster, 0).sums
			for i, s := range sums {
				sums[i] = unrounded(s, 1)
			}
			if want, _ := SignFlip(sums, 0, 1); f.Exact && (m == 0 || m == other && len(sums) <= FlipClustersExact) && !near(p, want, 1e-12) {
				t.Errorf("the p-value of %v is %v, by signs %v", m, p, want)
			}
			for i := range values {
				off[i] = -values[i]
			}
			mirrored := FlipClusters(off, cluster, 300, 1)
			if got := mirrored.P(-m); got != p {
				t.Errorf("the p-value of %v is %v, mirrored %v", m, p, got)
			}
		}
	})
}

// Random assignments of signs give the p-value and the interval of all of them, up to chance, and
// depend on the seed only.
func TestFlipClustersRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var values []float64
	var cluster []int
	for c := range 14 {
		shift := .3 * random.NormFloat64()
		for range 2 + c%5 {
			values, cluster = append(values, .1+shift+random.NormFloat64()), append(cluster, c)
		}
	}
	exact := FlipClusters(values, cluster, 0, 1)
	// Two more clusters of next to no weight, whose values are as good as the mean.
	more := append(append([]float64{}, values...), exact.Mean)
	few := FlipClusters(more, append(append([]int{}, cluster...), 14), 20_000, 3)
	lo, hi := exact.Interval(.95)
	gotLo, gotHi := few.Interval(.95)
	if few.Exact || !near(few.P(0), exact.P(0), .03) || !near(gotLo, lo, .05) || !near(gotHi, hi, .05) {
		t.Errorf("p %v, %v to %v; exact %v, %v to %v", few.P(0), gotLo, gotHi, exact.P(0), lo, hi)
	}
	again := FlipClusters(more, append(append([]int{}, cluster...), 14), 20_000, 3)
	other := FlipClusters(more, append(append([]int{}, cluster...), 14), 20_000, 4)
	if again.P(0) != few.P(0) || other.P(0) == few.P(0) {
		t.Errorf("p %v, again %v, with another seed %v", few.P(0), again.P(0), other.P(0))
	}
}

// If few clusters have a sum other than 0, all signs of these are the test, and the interval, which
// needs those of all clusters, agrees with it at 0 whatever the resamples.
func TestFlipClustersOfMostlyTies(t *testing.T) {
	for name, c := range map[string]struct {
		changed []float64
		p       float64
	}{
		"six of 25 lose":  {[]float64{-1, -1, -1, -1, -1, -1}, 1. / 32},
		"six of 25 win":   {[]float64{1, 2, 1, 3, 1, 1}, 1. / 32},
		"five of 25 lose": {[]float64{-1, -1, -1, -1, -2}, 1. / 16},
		"nine of 25":      {[]float64{-1, -1, -1, -1, 1, -1, -1, -1, -1}, 20. / 512},
		"none of 25":      {nil, 1},
	} {
		values := append(append([]float64{}, c.changed...), make([]float64, 25-len(c.changed))...)
		for seed := range uint64(200) {
			f := FlipClusters(values, upToInt(25), 39, seed)
			lo, hi := f.Interval(.95)
			if f.P(0) != c.p || !f.Exact {
				t.Fatalf("%s: p %v, want %v: %+v", name, f.P(0), c.p, f)
			}
			if inside := lo <= 0 && 0 <= hi; !math.IsNaN(lo) && inside != (c.p > .05) {
				t.Fatalf("%s, seed %d: p %v, the interval %v to %v", name, seed, c.p, lo, hi)
			}
			if below, above := f.P(-1e-6), f.P(1e-6); below > f.P(0) && above > f.P(0) {
				t.Fatalf("%s, seed %d: p %v between %v and %v", name, seed, c.p, below, above)
			}
		}
	}
}

// flipped is how often tests of no difference are significant, and how often the interval of
// FlipClusters contains the difference.
type flipped struct{ Flips, T, Covers float64 }

// simulateFlips simulates two runs of the same quality, whose rates differ by chance in each of so
// many clusters. Clusters have 10 questions, 2 to 30, or 10 but for one, which has as many as all
// others.
func simulateFlips(rounds, clusters int, sizes string) (f flipped) {
	random := rand.New(rand.NewPCG(10, uint64(clusters)))
	sizeOf := map[string]func(c int) int{
		"equal":   func(int) int { return 10 },
		"varied":  func(int) int { return 2 + random.IntN(29) },
		"one big": func(c int) int { return 10 * max(1, (1-min(c, 1))*(clusters-1)) },
	}[sizes]
	for range rounds {
		var d []float64
		var cluster []int
		for c := range clusters {
			first, second := .55+.4*random.Float64(), .55+.4*random.Float64()
			for range sizeOf(c) {
				d, cluster = append(d, float64(passedOf(random, 1, first)-passedOf(random, 1, second))), append(cluster, c)
			}
		}
		flips, m := FlipClusters(d, cluster, 399, random.Uint64()), Clustered(d, cluster, .95)
		if flips.P(0) <= .05 {
			f.Flips += 1 / float64(rounds)
		}
		if lo, hi := flips.Interval(.95); !(lo > 0 || hi < 0) {
			f.Covers += 1 / float64(rounds)
		}
		tail := StudentCDF(-math.Abs(m.Mean)/m.SE, float64(clusters-1))
		if 2*tail <= .05 {
			f.T += 1 / float64(rounds)
		}
	}
	return f
}

// The sign-flip test of clusters keeps its level whatever their sizes. A t test with clustered
// standard errors does not.
func TestSimulatedFlipsOfClusters(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	const rounds = 1000
	limit := .05 + 3*math.Sqrt(.05*.95/rounds)
	for _, clusters := range []int{5, 10, 25} {
		for _, sizes := range []string{"equal", "varied", "one big"} {
			got := simulateFlips(rounds, clusters, sizes)
			if what := fmt.Sprintf("%d clusters, %s", clusters, sizes); got.Flips > limit || !near(got.Covers, 1-got.Flips, 1e-9) {
				t.Errorf("%s: %+v, want at most %.3f", what, got, limit)
			}
			if sizes == "one big" && clusters == 25 && got.T < .15 {
				t.Errorf("the t test of clusters of which one is big errs in only %.3f", got.T)
			}
		}
	}
}
