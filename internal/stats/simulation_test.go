package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Simulations have fixed seeds. Their limits are four standard errors of the simulated share, so
// that a correct figure passes with nearly any seed.

// shareOf returns how often event happens in so many rounds, and four standard errors of the share
// if its probability is p.
func shareOf(rounds int, p float64, event func() bool) (share, limit float64) {
	count := 0
	for range rounds {
		if event() {
			count++
		}
	}
	return float64(count) / float64(rounds), 4 * math.Sqrt(p*(1-p)/float64(rounds))
}

// passedOf simulates n questions that pass with probability p.
func passedOf(random *rand.Rand, n int, p float64) int {
	k := 0
	for range n {
		if random.Float64() < p {
			k++
		}
	}
	return k
}

func TestSimulatedGate(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{10, 50, 100} {
		for _, p := range []float64{.85, .9, .95} {
			want := gatePass(n, .9, p)
			got, limit := shareOf(4000, want, func() bool { return passedOf(random, n, p) >= Required(n, .9) })
			expect(t, fmt.Sprintf("share of runs of %d at %v that pass a floor of .9", n, p), got, want, limit)
		}
	}
}

// Wilson's interval covers the true rate in close to 95 % of runs, also for rates near 1, where the
// interval rate ± 1.96·SE does not.
func TestSimulatedCoverageOfWilson(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	random := rand.New(rand.NewPCG(2, 1))
	for _, n := range []int{50, 500} {
		for _, p := range []float64{.5, .9, .96} {
			got, limit := shareOf(4000, .95, func() bool {
				lo, hi := Wilson(passedOf(random, n, p), n, .95)
				return lo <= p && p <= hi
			})
			// The coverage of any interval of a discrete rate oscillates, here by up to .02.
			expect(t, fmt.Sprintf("coverage for %d at %v", n, p), got, .95, .02+limit)
		}
	}
	plain, limit := shareOf(4000, .87, func() bool {
		p := float64(passedOf(random, 50, .96)) / 50
		return math.Abs(p-.96) <= 1.96*math.Sqrt(p*(1-p)/50)
	})
	// .866 is exact, by binomial terms.
	expect(t, "coverage of rate ± 1.96·SE for 50 at .96", plain, .866, limit)
}

// pairsOf simulates n items of which the shares first and second pass with one arm only.
func pairsOf(random *rand.Rand, n int, both, first, second float64) Pairs {
	var p Pairs
	for range n {
		switch u := random.Float64(); {
		case u < both:
			p.Both++
		case u < both+first:
			p.First++
		case u < both+first+second:
			p.Second++
		default:
			p.Neither++
		}
	}
	return p
}

func TestSimulatedCoverageOfPairs(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	for _, c := range []struct {
		n                   int
		both, first, second float64
	}{{50, .82, .08, .04}, {100, .70, .15, .05}, {300, .85, .05, .05}} {
		d := c.first - c.second
		got, limit := shareOf(3000, .95, func() bool {
			lo, hi := pairsOf(random, c.n, c.both, c.first, c.second).Newcombe(.95)
			return lo <= d && d <= hi
		})
		expect(t, fmt.Sprintf("coverage of %v", c), got, .95, .02+limit)
	}
}

// simulatedCoverage is how often intervals contain the true rate.
type simulatedCoverage struct{ Clustered, Naive float64 }

// simulateClusters simulates questions in 30 conversations of 10, whose pass rates differ.
func simulateClusters(rounds int, seed uint64) (c simulatedCoverage) {
	random := rand.New(rand.NewPCG(4, seed))
	const clusters, size = 30, 10
	for range rounds {
		var values []float64
		var cluster []int
		for c := range clusters {
			rate := .5 + .5*random.Float64() // .75 on average
			for range size {
				values, cluster = append(values, float64(passedOf(random, 1, rate))), append(cluster, c)
			}
		}
		m := Clustered(values, cluster, .95)
		if math.Abs(m.Mean-.75) <= 1.96*m.NaiveSE {
			c.Naive += 1 / float64(rounds)
		}
		if m.Lo <= .75 && .75 <= m.Hi {
			c.Clustered += 1 / float64(rounds)
		}
	}
	return c
}

// The clustered interval covers the overall rate as often as it says, the one that ignores the
// conversations does not.
func TestSimulatedCoverageOfClusters(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	const rounds = 2000
	got := simulateClusters(rounds, 1)
	expect(t, "coverage of the clustered interval", got.Clustered, .95, .01+4*math.Sqrt(.95*.05/rounds))
	// The variance of the mean is (1/48)/30 + (1/6)/300 and the naive one .75·.25/300, half of it:
	// 1.96/√2 standard errors cover 0.834.
	expect(t, "coverage of the naive interval", got.Naive, .834, .01+4*math.Sqrt(.834*.166/rounds))
}

// 200 pairs of runs of the same daemon: the exact test raises a false alarm in at most 5 % of them,
// up to sampling error.
func TestSimulatedFalseAlarms(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	const runs = 200
	exact := 0
	for range runs {
		p := pairsOf(random, 50, .84, .06, .06)
		if McNemarExact(p.First, p.Second) <= .05 {
			exact++
		}
	}
	limit := .05 + 4*math.Sqrt(.05*.95/runs)
	if share := float64(exact) / runs; share > limit {
		t.Errorf("%d false alarms of %d", exact, runs)
	}
	// The probability of a false alarm is known for each number of discordant items.
	for m := range 60 {
		alarm := 0.0
		for b, term := range binomialTerms(m, .5) {
			if McNemarExact(b, m-b) <= .05 {
				alarm += term
			}
		}
		if alarm > .05+1e-9 {
			t.Errorf("with %d discordant items a false alarm has probability %v", m, alarm)
		}
	}
}

// A change that breaks 6 of 50 questions and repairs none is shown, one that breaks 5 is not.
func TestPlantedRegression(t *testing.T) {
	before, broken := passes(50, 50), passes(44, 50)
	var p Pairs
	for i := range before {
		switch {
		case before[i] == 1 && broken[i] == 1:
			p.Both++
		case before[i] == 1:
			p.First++
		}
	}
	expect(t, "p of 6 broken questions", McNemarExact(p.First, p.Second), .03125, 1e-15)
	if lo, _ := p.Newcombe(.95); lo <= 0 {
		t.Errorf("the interval begins at %v", lo)
	}
	flipped, exact := SignFlip(differences(before, broken), 0, 1)
	if !exact || !near(flipped, .03125, 1e-15) {
		t.Errorf("p by signs is %v, exact %v", flipped, exact)
	}
	expect(t, "p of 5 broken questions", McNemarExact(5, 0), .0625, 1e-15)
}

// McNemarSize gives the power that it says, here for 15 % against 5 %.
func TestSimulatedPower(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 1))
	n := int(McNemarSize(.2, .1, .05, .8))
	got, limit := shareOf(2000, .8, func() bool {
		p := pairsOf(random, n, .7, .15, .05)
		return McNemarExact(p.First, p.Second) <= .05
	})
	expect(t, fmt.Sprintf("power with %d", n), got, .8, .01+limit)
}

// simulateMargin returns how often a run that loses margin is called not worse by it, with n
// questions of which the share psi is discordant.
func simulateMargin(n int, psi, margin float64) float64 {
	random := rand.New(rand.NewPCG(11, uint64(n)))
	share, _ := shareOf(2000, .025, func() bool {
		p := pairsOf(random, n, .8-psi/2, (psi-margin)/2, (psi+margin)/2)
		return NonInferiority(p.Difference(), margin, .025, p.Newcombe) <= .025
	})
	return share
}

func TestSimulatedMargin(t *testing.T) {
	for _, n := range []int{200, 1000} {
		if got := simulateMargin(n, .1, .03); got > .025+3*math.Sqrt(.025*.975/2000) {
			t.Errorf("with %d questions, a run that loses the margin is called not worse in %.4f", n, got)
		}
	}
}

// Of questions whose own rates are between .5 and 1 and that are asked five times, the variance
// between questions is 1/48 and that between runs is E[rate·(1-rate)] = 1/6.
func TestSimulatedVarianceSplit(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 1))
	perQuestion := make([][]float64, 4000)
	for i := range perQuestion {
		rate := .5 + .5*random.Float64()
		for range 5 {
			perQuestion[i] = append(perQuestion[i], float64(passedOf(random, 1, rate)))
		}
	}
	question, run := VarianceSplit(perQuestion)
	expect(t, "variance between questions", question, 1./48, .004)
	expect(t, "variance between runs", run, 1./6, .004)
}

// clustersOf simulates clusters of 5 to 34 questions whose pass rates differ, and are 2/3 on
// average.
func clustersOf(random *rand.Rand, clusters int) (sums, sizes []float64) {
	for range clusters {
		size := 5 + random.IntN(30)
		sums = append(sums, float64(passedOf(random, size, math.Sqrt(random.Float64()))))
		sizes = append(sizes, float64(size))
	}
	return sums, sizes
}

// The bootstrap interval over clusters covers in about 94 % of runs from 10 clusters on, and in 91
// % with 5, where the t interval covers in 90 %.
func TestSimulatedCoverageOfClusterBootstrap(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 1))
	for _, c := range []struct {
		clusters int
		want     float64
	}{{5, .91}, {10, .94}, {40, .945}} {
		got, limit := shareOf(600, c.want, func() bool {
			sums, sizes := clustersOf(random, c.clusters)
			lo, hi := ClusterBootstrap(sums, sizes, 600, random.Uint64(), .95)
			return lo <= 2./3 && 2./3 <= hi
		})
		expect(t, fmt.Sprintf("coverage of %d clusters", c.clusters), got, c.want, limit)
	}
}

// An interval by order statistics covers the true percentile at least as often as it says, of a
// distribution with a long tail.
func TestSimulatedCoverageOfPercentiles(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	random := rand.New(rand.NewPCG(9, 1))
	for _, c := range []struct {
		n int
		p float64
	}{{6, .5}, {20, .5}, {59, .95}, {100, .95}, {299, .99}, {500, .95}} {
		lo, hi, covers := QuantileCI(c.n, c.p, .95)
		truth := -math.Log(1 - c.p) // of the exponential distribution
		got, limit := shareOf(4000, covers, func() bool {
			values := make([]float64, c.n)
			for i := range values {
				values[i] = random.ExpFloat64()
			}
			slices.Sort(values)
			return values[lo-1] <= truth && truth <= values[hi-1]
		})
		expect(t, fmt.Sprintf("coverage of percentile %v of %d", c.p, c.n), got, covers, limit)
		if covers < .95 {
			t.Errorf("percentile %v of %d is to be covered in only %v", c.p, c.n, covers)
		}
	}
}
