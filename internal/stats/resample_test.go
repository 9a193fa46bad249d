package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// passes returns n values of which k are 1 and the others 0.
func passes(k, n int) []float64 {
	values := make([]float64, n)
	for i := range k {
		values[i] = 1
	}
	return values
}

// The standard deviation of resampled rates is √(p(1-p)/n), which 20,000 resamples show to within
// 2 % (four times 1/√(2·20,000)).
func TestBootstrapSE(t *testing.T) {
	for _, c := range []struct {
		k, n int
		se   float64
	}{{8, 10, .126491}, {45, 50, .042426}, {450, 500, .013416}} {
		got := Bootstrap(passes(c.k, c.n), nil, 20_000, 1, .95)
		expect(t, fmt.Sprintf("SE of %d of %d", c.k, c.n), got.SE, c.se, .02*c.se)
		expect(t, fmt.Sprintf("mean of %d of %d", c.k, c.n), got.Mean, float64(c.k)/float64(c.n), 1e-15)
	}
}

// Values of which few differ are drawn by how often each occurs. That has the mean and the variance
// of drawing one value after another, and the same for each value alone.
func TestFewValuesAreCounted(t *testing.T) {
	values := slices.Concat(passes(900, 1000), slices.Repeat([]float64{.5}, 600), slices.Repeat([]float64{-2}, 3))
	few := distinct(values)
	if want := []occurrence{{-2, 3}, {0, 100}, {.5, 600}, {1, 900}}; !slices.Equal(few, want) {
		t.Fatalf("%v, want %v", few, want)
	}
	const rounds = 20_000
	n, random := len(values), rand.NewPCG(3, 3)
	for i, o := range few {
		alone := slices.Clone(few) // the mean is the share of this value
		for j := range alone {
			alone[j].value = 0
		}
		alone[i].value = 1
		shares := make([]float64, rounds)
		for r := range shares {
			shares[r] = drawCounts(alone, n, random)
		}
		p := float64(o.count) / float64(n)
		mean, variance := Moments(shares)
		se := math.Sqrt(p * (1 - p) / float64(n))
		expect(t, fmt.Sprintf("mean share of %v", o.value), mean, p, 4*se/math.Sqrt(rounds))
		expect(t, fmt.Sprintf("its standard deviation, of %v", o.value), math.Sqrt(variance), se, .04*se)
	}
	counted := Bootstrap(values, nil, rounds, 1, .95)
	u := centred(values, nil, counted.Mean)
	singly := make([]float64, rounds)
	for r := range singly {
		singly[r] = u.drawOnes(random)
	}
	_, variance := Moments(singly)
	expect(t, "SE", counted.SE, math.Sqrt(variance), .03*counted.SE)
	slices.Sort(singly)
	width := counted.Hi - counted.Lo
	expect(t, "lo", counted.Lo-counted.Mean, NearestRank(singly, .025), .03*width)
	expect(t, "hi", counted.Hi-counted.Mean, NearestRank(singly, .975), .03*width)
}

func TestBootstrapSEVectors(t *testing.T) {
	for _, v := range shared[struct {
		K, N      int
		Bootstrap float64 `json:"boot_se_exact"`
		Bessel    float64 `json:"clt_se_bessel"`
	}](t, "bootstrap_theory") {
		name := fmt.Sprintf("%d of %d: ", v.K, v.N)
		p := float64(v.K) / float64(v.N)
		expect(t, name+"theory", math.Sqrt(p*(1-p)/float64(v.N)), v.Bootstrap, 1e-14)
		expect(t, name+"SE", Bootstrap(passes(v.K, v.N), nil, 20_000, 1, .95).SE, v.Bootstrap, .02*v.Bootstrap)
		_, variance := Moments(passes(v.K, v.N))
		expect(t, name+"SE of the mean", math.Sqrt(variance/float64(v.N)), v.Bessel, 1e-14)
	}
}

// binomialQuantile returns the smallest share of n passes that at least q of the runs with the pass
// rate p do not exceed.
func binomialQuantile(n int, p, q float64) float64 {
	sum := 0.0
	for x, term := range binomialTerms(n, p) {
		if sum += term; sum >= q {
			return float64(x) / float64(n)
		}
	}
	return 1
}

// The percentile ends of a rate are quantiles of the binomial distribution, at levels that 20,000
// resamples show to within four standard errors.
func TestBootstrapPercentiles(t *testing.T) {
	for _, c := range []struct {
		k, n   int
		lo, hi float64
	}{{8, 10, .5, 1}, {45, 50, .82, .98}, {450, 500, .872, .926}, {13, 18, .5, .8889}, {16, 18, .7222, 1}} {
		checkPercentiles(t, c.k, c.n, c.lo, c.hi, 5.1e-5)
	}
}

func TestBootstrapPercentileVectors(t *testing.T) {
	for _, v := range shared[struct {
		K, N   int
		Lo, Hi float64
	}](t, "bootstrap_percentile_exact_binomial") {
		checkPercentiles(t, v.K, v.N, v.Lo, v.Hi, 1e-12)
	}
}

func checkPercentiles(t *testing.T, k, n int, lo, hi, tolerance float64) {
	t.Helper()
	const resamples = 20_000
	slack := 4 * math.Sqrt(.025*.975/resamples)
	got, p := Bootstrap(passes(k, n), nil, resamples, 1, .95), float64(k)/float64(n)
	for _, end := range []struct {
		level, want, got float64
	}{{.025, lo, got.Lo}, {.975, hi, got.Hi}} {
		expect(t, fmt.Sprintf("quantile %v for %d of %d", end.level, k, n), binomialQuantile(n, p, end.level), end.want, tolerance)
		least, most := binomialQuantile(n, p, end.level-slack), binomialQuantile(n, p, end.level+slack)
		if end.got < least-1e-12 || end.got > most+1e-12 {
			t.Errorf("quantile %v for %d of %d by resampling is %v, want %v to %v", end.level, k, n, end.got, least, most)
		}
	}
}

// Whole clusters are drawn: the standard deviation of the mean of C clusters of equal size is that
// of their C means, and clusters of one are no clusters.
func TestBootstrapClusters(t *testing.T) {
	values, cluster := passes(450, 500), make([]int, 500)
	for i := range cluster {
		cluster[i] = 1000 - i/10 // 45 clusters that pass as a whole, 5 that fail
	}
	got := Bootstrap(values, cluster, 20_000, 1, .95)
	expect(t, "SE of 50 clusters", got.SE, math.Sqrt(.9*.1/50), .02*.042426)
	expect(t, "lo", got.Lo, .82, 1e-12)
	expect(t, "hi", got.Hi, .98, 1e-12)
	for i := range cluster {
		cluster[i] = i
	}
	expect(t, "SE of clusters of one", Bootstrap(values, cluster, 20_000, 1, .95).SE, .013416, .02*.013416)
	// Clusters of different sizes: a resample is a ratio, whose SE is near that of Clustered.
	random := rand.New(rand.NewPCG(5, 5))
	values, cluster = nil, nil
	for c := range 60 {
		shift := random.Float64()
		for range 1 + random.IntN(12) {
			values, cluster = append(values, shift+random.Float64()/2), append(cluster, c)
		}
	}
	got, want := Bootstrap(values, cluster, 20_000, 1, .95), Clustered(values, cluster, .95)
	expect(t, "SE of unequal clusters", got.SE, want.SE, .05*want.SE)
	expect(t, "mean", got.Mean, want.Mean, 1e-12)
}

func TestBootstrapAndBCaEdges(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name      string
		values    []float64
		cluster   []int
		resamples int
		conf      float64
		want      ResampledMean
	}{
		{"none", nil, nil, 100, .95, ResampledMean{nan, nan, nan, nan}},
		{"lengths", []float64{1, 2}, []int{1}, 100, .95, ResampledMean{nan, nan, nan, nan}},
		{"one value", []float64{3}, nil, 100, .95, ResampledMean{3, nan, nan, nan}},
		{"one cluster", []float64{3, 5}, []int{7, 7}, 100, .95, ResampledMean{4, nan, nan, nan}},
		{"one resample", []float64{3, 5}, nil, 1, .95, ResampledMean{4, nan, nan, nan}},
		{"confidence 1", []float64{3, 5}, nil, 100, 1, ResampledMean{4, nan, nan, nan}},
		{"confidence NaN", []float64{3, 5}, nil, 100, nan, ResampledMean{4, nan, nan, nan}},
		{"all equal", []float64{.1, .1, .1}, nil, 100, .95, ResampledMean{.1, 0, .1, .1}},
	} {
		got := Bootstrap(c.values, c.cluster, c.resamples, 1, c.conf)
		for _, m := range []struct {
			what      string
			got, want float64
		}{{"mean", got.Mean, c.want.Mean}, {"SE", got.SE, c.want.SE}, {"lo", got.Lo, c.want.Lo}, {"hi", got.Hi, c.want.Hi}} {
			expect(t, c.name+": "+m.what, m.got, m.want, 1e-15)
		}
		if c.cluster == nil {
			lo, hi := BCa(c.values, c.resamples, 1, c.conf)
			expect(t, c.name+": BCa lo", lo, c.want.Lo, 1e-15)
			expect(t, c.name+": BCa hi", hi, c.want.Hi, 1e-15)
		}
	}
}

// BCa follows theory: for a skewed distribution it lies to the side of the long tail of the
// percentile interval, for a symmetric sample it is close to it, and a sample and its mirror image
// have mirrored intervals.
func TestBCa(t *testing.T) {
	skewed := scores(60, 3)
	lo, hi := BCa(skewed, 10_000, 1, .95)
	plain := Bootstrap(skewed, nil, 10_000, 1, .95)
	if !(lo > plain.Lo && hi > plain.Hi && lo < plain.Mean && plain.Mean < hi) {
		t.Errorf("BCa [%v, %v] of skewed values, percentiles %+v", lo, hi, plain)
	}
	mirrored := make([]float64, len(skewed))
	for i, v := range skewed {
		mirrored[i] = -v
	}
	mlo, mhi := BCa(mirrored, 10_000, 1, .95)
	expect(t, "mirrored lo", -mhi, lo, .05*(hi-lo))
	expect(t, "mirrored hi", -mlo, hi, .05*(hi-lo))

	symmetric := upTo(41)
	lo, hi = BCa(symmetric, 10_000, 1, .95)
	plain = Bootstrap(symmetric, nil, 10_000, 1, .95)
	expect(t, "symmetric lo", lo, plain.Lo, .03*(plain.Hi-plain.Lo))
	expect(t, "symmetric hi", hi, plain.Hi, .03*(plain.Hi-plain.Lo))
}

// The result depends on the seed and on nothing else, in particular not on the processors.
func TestResamplesAreReproducible(t *testing.T) {
	values, cluster := scores(201, 9), make([]int, 201)
	for i := range cluster {
		cluster[i] = i % 40
	}
	run := func(seed uint64) [3]ResampledMean {
		lo, hi := BCa(values, 1001, seed, .9)
		p, _ := SignFlip(values, 1001, seed)
		return [3]ResampledMean{Bootstrap(values, nil, 1001, seed, .9), Bootstrap(values, cluster, 1001, seed, .9), {lo, hi, p, 0}}
	}
	want := run(1)
	before := runtime.GOMAXPROCS(1)
	one := run(1)
	runtime.GOMAXPROCS(7)
	seven := run(1)
	runtime.GOMAXPROCS(before)
	if one != want || seven != want {
		t.Errorf("%v with all processors, %v with one, %v with seven", want, one, seven)
	}
	if other := run(2); other == want {
		t.Error("another seed yields the same")
	}
}

// Every index is equally likely, also for numbers of values that do not divide 2³².
func TestDrawsAreUniform(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 10} {
		const rounds = 30_000
		counts := make([]float64, n)
		random := rand.NewPCG(1, 2)
		for range rounds {
			counts[draw(random, uint64(n), uint32(-n)%uint32(n))]++
		}
		chi2 := 0.0
		for _, c := range counts {
			e := rounds / float64(n)
			chi2 += (c - e) * (c - e) / e
		}
		if limit := float64(n) + 5*math.Sqrt(2*float64(n)); chi2 > limit {
			t.Errorf("%d indices: chi-squared %v, counts %v", n, chi2, counts)
		}
	}
	// A value of a resample counts once for each time it was drawn.
	u := units{sums: []float64{1, 100, 10_000}}
	seen := map[float64]bool{}
	random := rand.NewPCG(1, 2)
	for range 2000 {
		seen[math.Round(3*u.drawOnes(random))] = true
	}
	if len(seen) != 10 {
		t.Errorf("%d of 10 possible resamples of three values were drawn: %v", len(seen), seen)
	}
}

func TestBootstrapProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 2, 30).Draw(t, "values")
		got := Bootstrap(values, nil, 300, rapid.Uint64().Draw(t, "seed"), .9)
		lowest, highest := slices.Min(values), slices.Max(values)
		const slack = 1e-9
		if !(lowest-slack <= got.Lo && got.Lo <= got.Hi && got.Hi <= highest+slack && got.SE >= 0) {
			t.Fatalf("%+v of values in %v … %v", got, lowest, highest)
		}
	})
}

// TestClusterBootstrap compares clusters with theory, and checks what has no interval.
func TestClusterBootstrap(t *testing.T) {
	// Many clusters of one value are independent values: the interval is that of the t distribution.
	values := passes(300, 400)
	mean, variance := Moments(values)
	lo, hi := ClusterBootstrap(values, slices.Repeat([]float64{1}, 400), 20_000, 1, .95)
	wantLo, wantHi := MeanCI(400, mean, variance, .95)
	expect(t, "lo", lo, wantLo, .003)
	expect(t, "hi", hi, wantHi, .003)
	// Twins say no more than one of them.
	twinLo, twinHi := ClusterBootstrap(
		slices.Concat(slices.Repeat([]float64{2}, 300), make([]float64, 100)), slices.Repeat([]float64{2}, 400), 20_000, 1, .95)
	expect(t, "lo of twins", twinLo, lo, 1e-12)
	expect(t, "hi of twins", twinHi, hi, 1e-12)
	for name, c := range map[string]struct {
		sums, sizes []float64
		resamples   int
		conf        float64
	}{
		"no clusters": {nil, nil, 100, .95}, "one": {[]float64{1}, []float64{2}, 100, .95},
		"lengths": {[]float64{1, 2}, []float64{2}, 100, .95}, "one resample": {[]float64{1, 2}, []float64{2, 2}, 1, .95},
		"confidence": {[]float64{1, 2}, []float64{2, 2}, 100, 1},
	} {
		if lo, hi := ClusterBootstrap(c.sums, c.sizes, c.resamples, 1, c.conf); !math.IsNaN(lo) || !math.IsNaN(hi) {
			t.Errorf("%s: %v to %v", name, lo, hi)
		}
	}
}
