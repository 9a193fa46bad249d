package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"evalctl/internal/longtest"
)

// judgedItems returns n items of one stratum, each its own cluster, the first of which have labels.
func judgedItems(verdicts, labels []float64) []JudgedItem {
	items := make([]JudgedItem, len(verdicts))
	for i, v := range verdicts {
		items[i] = JudgedItem{Judge: v, Label: math.NaN(), Cluster: i}
		if i < len(labels) {
			items[i].Label = labels[i]
		}
	}
	return items
}

// The example of statistics.md B.7: 80 of 100 answers are judged right. Of 20 with labels, 16 are
// judged right, of which 14 are; of the other 4, 1 is.
func exampleItems() []JudgedItem {
	var verdicts, labels []float64
	add := func(n int, verdict, label float64) {
		for range n {
			verdicts, labels = append(verdicts, verdict), append(labels, label)
		}
	}
	add(14, 1, 1)
	add(2, 1, 0)
	add(1, 0, 1)
	add(3, 0, 0)
	for i := range 80 {
		verdicts = append(verdicts, map[bool]float64{true: 1}[i < 64])
	}
	return judgedItems(verdicts, labels)
}

func TestPPIRateExample(t *testing.T) {
	items := exampleItems()
	p, ok := newPPIPopulation(items, 0, 1, 0)
	if !ok {
		t.Fatal("the example is rejected")
	}
	point, _ := p.means(1)
	expect(t, "mean with weight 1", point, .75, 1e-12)
	// The verdicts of the labelled are as those of all: no weight changes the mean.
	e, ok := PPIRate(items, true, .95)
	if !ok {
		t.Fatal("no estimate")
	}
	expect(t, "mean", e.Mean, .75, 1e-12)
	alone, _ := PPIRate(items, false, .95)
	expect(t, "weight without a judge", alone.Lambda, 0, 0)
	expect(t, "mean of the labels", alone.Mean, .75, 1e-12)
	if !(e.Hi-e.Lo < alone.Hi-alone.Lo) {
		t.Errorf("interval [%v, %v] is not narrower than that of the labels alone [%v, %v]",
			e.Lo, e.Hi, alone.Lo, alone.Hi)
	}
	// With verdicts of 0 and 1 the best weight is the difference of the groups: 14/16 - 1/4.
	expect(t, "weight without assumed labels", p.lambda(), 14./16-1./4, 1e-12)
}

// With a binary judge and the best weight, the mean is the post-stratified one.
func TestPPIRateIsPostStratified(t *testing.T) {
	items := exampleItems()
	for i := 20; i < 60; i++ { // fewer of the others are judged right
		items[i].Judge = 0
	}
	judged := 0.0
	for _, it := range items {
		judged += it.Judge / 100
	}
	p, _ := newPPIPopulation(items, 0, 1, 0)
	point, _ := p.means(p.lambda())
	expect(t, "mean", point, judged*14/16+(1-judged)/4, 1e-12)
}

// A judge that seems to say the opposite gets no weight, and leaves the labels alone.
func TestPPIRateOfGuesses(t *testing.T) {
	items := judgedItems([]float64{1, 1, 0, 0, 1, 0, 1, 1}, []float64{0, 1, 1, 1})
	p, ok := newPPIPopulation(items, 0, 1, ratePseudo)
	if !ok || p.lambda() >= 0 {
		t.Fatalf("weight %v of the least variance, want one below 0", p.lambda())
	}
	with, _ := PPIRate(items, true, .95)
	alone, _ := PPIRate(items, false, .95)
	if with != alone {
		t.Errorf("%+v, want that of the labels alone, %+v", with, alone)
	}
}

// The weight is in the units of the labels: a judge that never errs gets nearly 1 of a difference
// too.
func TestPPIDifferenceWeight(t *testing.T) {
	var verdicts, labels []float64
	for i := range 300 {
		verdicts = append(verdicts, float64(i%3-1))
	}
	labels = append(labels, verdicts[:150]...)
	e, ok := PPIDifference(judgedItems(verdicts, labels), true, .95)
	if !ok || e.Lambda < .95 || e.Lambda > 1 {
		t.Errorf("weight %v", e.Lambda)
	}
}

func TestPPIRateRejects(t *testing.T) {
	nan := math.NaN()
	for name, items := range map[string][]JudgedItem{
		"nothing":              nil,
		"one label":            judgedItems([]float64{1, 1, 0}, []float64{1}),
		"a stratum unlabelled": {{1, 1, 0, 0}, {1, 0, 0, 1}, {1, nan, 1, 2}},
		"one cluster":          {{1, 1, 0, 0}, {1, 0, 0, 0}},
		"a verdict of 2":       {{2, 1, 0, 0}, {1, 0, 0, 1}},
		"a label of -1":        {{1, -1, 0, 0}, {1, 0, 0, 1}},
	} {
		if e, ok := PPIRate(items, true, .95); ok || !math.IsNaN(e.Mean) {
			t.Errorf("%s: %+v, want no estimate", name, e)
		}
	}
}

// Labels of all items leave no error of the judge: the interval is as with no judge at all.
func TestPPIRateOfAllLabels(t *testing.T) {
	items := exampleItems()
	for i := range items {
		items[i].Label = float64(i % 2)
	}
	with, _ := PPIRate(items, true, .95)
	alone, _ := PPIRate(items, false, .95)
	expect(t, "mean", with.Mean, .5, 1e-12)
	expect(t, "standard error of the labels", with.LabelSE, 0, 0)
	expect(t, "lower limit", with.Lo, alone.Lo, 1e-12)
	expect(t, "upper limit", with.Hi, alone.Hi, 1e-12)
}

// Questions without an answer make the error of the labels smaller by their share and do nothing
// else to it: they are no labels that show how often the others are right.
func TestPPIRateWithoutAnswers(t *testing.T) {
	alone, _ := PPIRate(exampleItems(), true, .95)
	items := exampleItems()
	for range 300 {
		items = append(items, JudgedItem{Stratum: 1, Cluster: len(items)})
	}
	with, _ := PPIRate(items, true, .95)
	expect(t, "mean", with.Mean, alone.Mean/4, 1e-12)
	expect(t, "weight", with.Lambda, alone.Lambda, 1e-12)
	expect(t, "standard error of the labels", with.LabelSE, alone.LabelSE/4, 1e-12)
}

// Whatever the labels are, an interval is one of numbers, has the estimate in it and a width.
func TestPPIIsFinite(t *testing.T) {
	random := rand.New(rand.NewPCG(39, 1))
	for range longtest.Rounds(3000, 100_000) {
		low := -float64(random.IntN(2))
		values := []float64{low, 1}
		if random.IntN(2) == 0 {
			values = values[random.IntN(2):][:1] // all are equal
		}
		var items []JudgedItem
		clusters := 0
		for s := range 1 + random.IntN(8) {
			size := 1 + random.IntN(4)
			if random.IntN(4) == 0 {
				size = 200
			}
			labels := 1 + random.IntN(min(size, 5))
			for i := range size {
				it := JudgedItem{Judge: values[random.IntN(len(values))], Label: math.NaN(), Stratum: s, Cluster: random.IntN(clusters + 1)}
				clusters = max(clusters, it.Cluster+1)
				if i < labels {
					it.Label = values[random.IntN(len(values))]
				}
				items = append(items, it)
			}
		}
		estimate := PPIRate
		if low < 0 {
			estimate = PPIDifference
		}
		e, ok := estimate(items, random.IntN(2) == 0, .95)
		if ok && !(low <= e.Lo && e.Lo <= e.Mean+1e-12 && e.Mean <= e.Hi+1e-12 && e.Hi <= 1 && e.Hi-e.Lo > 1e-6 && e.LabelSE >= 0) {
			t.Fatalf("%+v of %+v", e, items)
		}
	}
}

// ppiCase is a simulated judge: it passes the share falsePass of the wrong answers and fails the
// share falseFail of the right ones.
type ppiCase struct {
	items, labels              int
	rate, falsePass, falseFail float64
	// strata: 1 draws at random, 4 by type, 2 where two judges differ, with twice the probability.
	strata int
	// clusters of alike questions, whose judge errs alike too; 0 for independent ones.
	clusters int
}

func (c ppiCase) String() string {
	return fmt.Sprintf("%d of %d labelled, rate %v, judge passes %v and fails %v, strata %d, clusters %d",
		c.labels, c.items, c.rate, c.falsePass, c.falseFail, c.strata, c.clusters)
}

// draw simulates the items.
func (c ppiCase) draw(random *rand.Rand) []JudgedItem {
	items := make([]JudgedItem, c.items)
	truth := make([]float64, c.items)
	shift, hard := make([]float64, c.clusters), make([]float64, c.clusters)
	for i := range shift {
		// Rates of clusters differ by a quarter of the largest possible difference.
		shift[i] = (random.Float64() - .5) * min(c.rate, 1-c.rate)
		hard[i] = 2 * random.Float64()
	}
	for i := range items {
		it := &items[i]
		it.Cluster, it.Label = i, math.NaN()
		rate, more := c.rate, 1.0
		if c.clusters > 0 {
			it.Cluster = i % c.clusters
			rate, more = rate+shift[it.Cluster], hard[it.Cluster]
		}
		truth[i] = bit(random, rate)
		judge := func() float64 {
			if truth[i] == 1 {
				return 1 - bit(random, more*c.falseFail)
			}
			return bit(random, more*c.falsePass)
		}
		it.Judge = judge()
		switch c.strata {
		case 4:
			it.Stratum = i % 4
		case 2:
			if judge() != it.Judge {
				it.Stratum = 1
			}
		}
	}
	c.label(random, items, truth)
	return items
}

// label labels the items of each stratum by its share of the population, that of stratum 1 of 2
// with twice the share.
func (c ppiCase) label(random *rand.Rand, items []JudgedItem, truth []float64) {
	members := make([][]int, c.strata)
	for i, it := range items {
		members[it.Stratum] = append(members[it.Stratum], i)
	}
	if c.strata == 2 && len(members[1]) < 2 {
		for i := range items {
			items[i].Stratum = 0
		}
		members = [][]int{random.Perm(len(items))}
	}
	weight := func(s int) float64 {
		if c.strata == 2 && s == 1 {
			return 2 * float64(len(members[s]))
		}
		return float64(len(members[s]))
	}
	total := 0.0
	for s := range members {
		total += weight(s)
	}
	for s, m := range members {
		n := int(math.Round(float64(c.labels) * weight(s) / total))
		n = min(len(m), max(2, n))
		random.Shuffle(len(m), func(i, j int) { m[i], m[j] = m[j], m[i] })
		for _, i := range m[:n] {
			items[i].Label = truth[i]
		}
	}
}

func bit(random *rand.Rand, p float64) float64 { return number(random.Float64() < p) }

func number(right bool) float64 {
	if right {
		return 1
	}
	return 0
}

// The interval covers the true rate in at least 93.5 % of simulations at 95 %, over judges that err
// in 0 to 40 % of the answers, for small and large samples, equal and unequal inclusion
// probabilities, independent and clustered answers. It is never wider than that of the labels alone
// beyond the error of the simulation.
func TestSimulatedCoverageOfPPI(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	rounds := longtest.Rounds(100, 4000)
	random := rand.New(rand.NewPCG(31, 1))
	for _, size := range [][2]int{{50, 20}, {200, 20}, {200, 100}, {2000, 50}, {2000, 500}} {
		for _, rate := range []float64{.1, .5, .9} {
			for _, judge := range [][2]float64{{0, 0}, {.05, .05}, {.2, .1}, {.4, .4}, {.4, 0}, {.63, .02}} {
				for _, design := range [][2]int{{1, 0}, {4, 0}, {2, 0}, {1, 40}} {
					if design[0] > 1 && size[1] < 50 {
						continue
					}
					c := ppiCase{size[0], size[1], rate, judge[0], judge[1], design[0], design[1]}
					expectCoverage(t, c, rounds, random)
				}
			}
		}
	}
}

func expectCoverage(t *testing.T, c ppiCase, rounds int, random *rand.Rand) {
	t.Helper()
	var width, alone, bias float64
	covered, limit := shareOf(rounds, .935, func() bool {
		items := c.draw(random)
		e, ok := PPIRate(items, true, .95)
		if !ok {
			t.Fatalf("%s: no estimate", c)
		}
		labels, _ := PPIRate(items, false, .95)
		width += (e.Hi - e.Lo) / float64(rounds)
		alone += (labels.Hi - labels.Lo) / float64(rounds)
		bias += (e.Mean - c.rate) / float64(rounds)
		return e.Lo <= c.rate && c.rate <= e.Hi
	})
	if covered < .935-limit {
		t.Errorf("%s: covered in %.3f of %d simulations", c, covered, rounds)
	}
	if width > 1.03*alone {
		t.Errorf("%s: interval of %.4f is wider than that of the labels alone, %.4f", c, width, alone)
	}
	if math.Abs(bias) > .02+4*width/4/math.Sqrt(float64(rounds)) {
		t.Errorf("%s: biased by %.4f", c, bias)
	}
}

// Two judges of the same answers, one strict and one generous, give rates that are 30 points apart.
// The estimates of two labellers who draw their own samples agree.
func TestSimulatedPPIOfTwoJudges(t *testing.T) {
	random := rand.New(rand.NewPCG(32, 1))
	strict := ppiCase{items: 400, labels: 80, rate: .6, falsePass: .02, falseFail: .3, strata: 1}
	generous := ppiCase{items: 400, labels: 80, rate: .6, falsePass: .4, falseFail: .02, strata: 1}
	rounds := longtest.Rounds(300, 4000)
	apart := 0.0
	overlap, limit := shareOf(rounds, .95, func() bool {
		a, b := strict.draw(random), generous.draw(random)
		for i := range a {
			apart += (b[i].Judge - a[i].Judge) / float64(len(a)*rounds)
		}
		x, _ := PPIRate(a, true, .95)
		y, _ := PPIRate(b, true, .95)
		return x.Lo <= y.Hi && y.Lo <= x.Hi
	})
	if apart < .28 || overlap < .95-limit {
		t.Errorf("judged rates %.3f apart, intervals overlap in %.3f", apart, overlap)
	}
}

// The interval of a difference covers the true one, whether or not the judge errs on both answers of
// a question alike. With equal systems, 0 is outside in at most 5 %.
func TestSimulatedCoverageOfPPIDifference(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	random := rand.New(rand.NewPCG(33, 1))
	rounds := longtest.Rounds(100, 4000)
	for _, size := range [][2]int{{200, 20}, {200, 100}, {1000, 200}} {
		for _, rates := range [][3]float64{{.5, .5, 0}, {.8, .7, .5}, {.9, .88, .8}, {.3, .1, 0}, {.95, .95, .9}} {
			for _, judge := range [][2]float64{{0, 0}, {.05, .05}, {.2, .1}, {.4, .4}, {.4, 0}} {
				for _, alike := range []bool{false, true} {
					want := rates[0] - rates[1]
					covered, limit := shareOf(rounds, .935, func() bool {
						items := drawPairs(random, size[0], size[1], rates, judge, alike)
						e, _ := PPIDifference(items, true, .95)
						return e.Lo <= want && want <= e.Hi
					})
					if covered < .935-limit {
						t.Errorf("%d of %d pairs labelled, rates %v, judge errs %v (alike: %v): covered in %.3f",
							size[1], size[0], rates, judge, alike, covered)
					}
				}
			}
		}
	}
}

// drawPairs simulates the answers of two systems, which are right together in the share rates[2].
func drawPairs(random *rand.Rand, n, labels int, rates [3]float64, judge [2]float64, alike bool) []JudgedItem {
	items := make([]JudgedItem, n)
	for i := range items {
		u, v := random.Float64(), random.Float64()
		if random.Float64() < rates[2] {
			v = u
		}
		e, f := random.Float64(), random.Float64()
		if alike {
			f = e
		}
		verdict := func(right bool, luck float64) float64 {
			return number(right && luck >= judge[1] || !right && luck < judge[0])
		}
		first, second := u < rates[0], v < rates[1]
		items[i] = JudgedItem{Judge: verdict(first, e) - verdict(second, f), Label: math.NaN(), Cluster: i}
		if i < labels {
			items[i].Label = number(first) - number(second)
		}
	}
	return items
}
