package stats

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// Mistakes that evaluations are known to make, one test each.

func TestTrapFloorEqualityPasses(t *testing.T) {
	// A run that passes exactly the floor passes, so that it always does with a true rate of 1.
	expect(t, "45 of 50 certain passes at .9", gatePass(50, .9, 1), 1, 0)
	expect(t, "the same floor as a rate", gatePass(50, 45./50, .9), gatePass(50, .9, .9), 0)
	expect(t, "one question", gatePass(1, 1, .7), .7, 1e-14)
}

func TestTrapNoDiscordantItem(t *testing.T) {
	p := Pairs{Both: 46, Neither: 4}
	expect(t, "exact p", McNemarExact(p.First, p.Second), 1, 0)
	expect(t, "SE", p.SE(), 0, 0)
	// An SE of 0 must not prove anything: 50 equal verdicts do not exclude a difference of 5 points.
	if value := NonInferiority(p.Difference(), .03, .025, p.Newcombe); value < .1 {
		t.Errorf("p of non-inferiority is %v", value)
	}
	if lo, hi := p.Newcombe(.95); !(lo < -.03 && hi > .03 && near(lo, -hi, 1e-15)) {
		t.Errorf("[%v, %v]", lo, hi)
	}
}

func TestTrapAllItemsDiscordant(t *testing.T) {
	p := Pairs{First: 50}
	expect(t, "difference", p.Difference(), 1, 0)
	expect(t, "SE", p.SE(), 0, 1e-9)
	if lo, hi := p.Newcombe(.95); !(lo > .8 && lo < 1 && hi == 1) {
		t.Errorf("[%v, %v]", lo, hi)
	}
}

func TestTrapUnscoredInOneArm(t *testing.T) {
	nan := math.NaN()
	// The pair is dropped as a whole; a mean of each arm's own scores would yield 1/6.
	got := PairedMeans([]float64{1, nan, 1, 0}, []float64{1, 0, 0, 0}, .95)
	if got.N != 3 || !near(got.Mean, 1./3, 1e-15) {
		t.Errorf("%+v", got)
	}
	// Where no pairs can be dropped, a NaN is not taken for a number.
	if p, _ := SignFlip([]float64{.1, nan}, 100, 1); !math.IsNaN(p) {
		t.Errorf("p of a NaN is %v", p)
	}
	if b := Bootstrap([]float64{1, nan, 0}, nil, 100, 1, .95); !math.IsNaN(b.Mean) || !math.IsNaN(b.SE) || !math.IsNaN(b.Lo) || !math.IsNaN(b.Hi) {
		t.Errorf("%+v", b)
	}
	if lo, hi := BCa([]float64{1, nan, 0}, 100, 1, .95); !math.IsNaN(lo) || !math.IsNaN(hi) {
		t.Errorf("BCa of a NaN is %v, %v", lo, hi)
	}
}

func TestTrapOrderOfItems(t *testing.T) {
	a, b := scores(30, 1), scores(30, 2)
	want := PairedMeans(a, b, .95)
	slices.Reverse(a)
	if got := PairedMeans(a, b, .95); near(got.SE, want.SE, 1e-6) {
		t.Errorf("pairs of different items have the SE %v of pairs of the same", got.SE)
	}
	slices.Reverse(b)
	checkPairedMean(t, "both in another order", PairedMeans(a, b, .95), want, 1e-12)
}

func TestTrapPercentilesOfOneValue(t *testing.T) {
	for _, p := range []float64{0, .5, .95, .99, 1} {
		expect(t, fmt.Sprint("Percentile ", p), Percentile([]float64{7}, p), 7, 0)
		expect(t, fmt.Sprint("NearestRank ", p), NearestRank([]float64{7}, p), 7, 0)
		if lo, hi, covers := QuantileCI(1, p, .95); lo != 0 || hi != 0 || covers != 0 {
			t.Errorf("quantile %v of one value has the interval %d, %d", p, lo, hi)
		}
	}
}

func TestTrapAllEqualSamples(t *testing.T) {
	same := []float64{.1, .1, .1, .1, .1, .1, .1}
	got := PairedMeans(same, same, .95)
	expect(t, "t", got.T, 0, 0)
	expect(t, "p of the t test", got.P, 1, 0)
	p, exact := SignFlip(make([]float64, 100), 0, 1)
	if p != 1 || !exact {
		t.Errorf("sign flip: %v, %v", p, exact)
	}
	expect(t, "McNemar", McNemarExact(0, 0), 1, 0)
	lo, hi := BCa(same, 1000, 1, .95)
	expect(t, "BCa lo", lo, .1, 1e-15)
	expect(t, "BCa hi", hi, .1, 1e-15)
	// Equal values have no interval, because one without a width would prove anything.
	expect(t, "the t interval", got.Hi, math.NaN(), 0)
	expect(t, "the clustered interval", Clustered(passes(50, 50), []int{49: 1}, .95).Hi, math.NaN(), 0)
	if got := Clustered(passes(50, 50), make([]int, 50), .95); !math.IsNaN(got.SE) {
		t.Errorf("one cluster: %+v", got)
	}
	if lo, hi := Wilson(50, 50, .95); hi != 1 || lo > .93 {
		t.Errorf("Wilson of 50 of 50: [%v, %v]", lo, hi)
	}
}

func TestTrapJudgeNoBetterThanChance(t *testing.T) {
	for _, judge := range []JudgeAccuracy{{.5, 100, .5, 100}, {.9, 100, .1, 100}, {.3, 100, .4, 100}} {
		if got, ok := JudgeCorrected(.8, 100, judge, .95); ok || !math.IsNaN(got.Rate) {
			t.Errorf("%+v corrects to %+v", judge, got)
		}
	}
}

func TestTrapEndsOfIntervals(t *testing.T) {
	// Without care Wilson's ends are 2e-17 for no and 1.0000000000000002 for all passes.
	for n := 1; n <= 300; n++ {
		for name, f := range intervals {
			if lo, _ := f(0, n, .95); lo != 0 {
				t.Errorf("%s of 0 of %d begins at %v", name, n, lo)
			}
			if _, hi := f(n, n, .95); hi != 1 {
				t.Errorf("%s of %d of %d ends at %v", name, n, n, hi)
			}
		}
	}
}

// intervals are those of a rate.
var intervals = map[string]func(k, n int, conf float64) (lo, hi float64){
	"Wilson": Wilson, "ClopperPearson": ClopperPearson,
}
