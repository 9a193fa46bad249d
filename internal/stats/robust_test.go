package stats

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// largest is how many items the figures must hold for.
const largest = 10_000_000

// counts draws 0 <= k <= n <= largest, with the ends more often than by chance.
func counts(t *rapid.T) (k, n int) {
	n = rapid.OneOf(rapid.IntRange(1, 50), rapid.IntRange(1, largest), rapid.Just(largest)).Draw(t, "n")
	k = rapid.OneOf(rapid.IntRange(0, n), rapid.SampledFrom([]int{0, min(1, n), n - 1, n, n / 2})).Draw(t, "k")
	return k, n
}

// All intervals of a rate are inside 0..1, contain it and mirror, for every size and confidence.
func TestIntervalsHoldForAllSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, n := counts(t)
		conf := rapid.Float64Range(.5, .999).Draw(t, "conf")
		p := float64(k) / float64(n)
		for name, f := range intervals {
			lo, hi := f(k, n, conf)
			if !(0 <= lo && lo <= p && p <= hi && hi <= 1 && lo < hi) {
				t.Fatalf("%s of %d of %d at %v is [%v, %v]", name, k, n, conf, lo, hi)
			}
			mlo, mhi := f(n-k, n, conf)
			if !near(mlo, 1-hi, 1e-8) || !near(mhi, 1-lo, 1e-8) {
				t.Fatalf("%s of %d of %d is [%v, %v], of the failures [%v, %v]", name, k, n, lo, hi, mlo, mhi)
			}
		}
	})
}

// For large samples the intervals agree, at the ends, too, where they are of the order of 1/n.
func TestIntervalsAgreeForLargeSamples(t *testing.T) {
	for _, k := range []int{0, 1, 5, 1000, largest / 2, largest - 1000, largest - 1, largest} {
		wlo, whi := Wilson(k, largest, .95)
		for name, f := range intervals {
			lo, hi := f(k, largest, .95)
			tolerance := (whi - wlo) * .4
			expect(t, fmt.Sprintf("%s of %d: lo", name, k), lo, wlo, tolerance)
			expect(t, fmt.Sprintf("%s of %d: hi", name, k), hi, whi, tolerance)
		}
	}
	// P(no success) = 0.025: the exact end is known.
	_, hi := ClopperPearson(0, largest, .95)
	expect(t, "the end for no success", hi, -math.Expm1(math.Log(.025)/largest), 1e-14)
}

// p-values of pairs are in 0..1 for every size, the same the other way round, and those of the
// normal approximation for large counts.
func TestPairedTestsHoldForAllSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, n := counts(t)
		b, c := k, n-k
		exact := McNemarExact(b, c)
		if !(0 <= exact && exact <= 1) {
			t.Fatalf("%d, %d: %v", b, c, exact)
		}
		if other := McNemarExact(c, b); other != exact {
			t.Fatalf("%d, %d: %v, the other way round %v", b, c, exact, other)
		}
		// The largest step of the distribution, at b = c, has a probability of 0.8/√n.
		z := math.Abs(float64(b)-float64(c)) / math.Sqrt(float64(n))
		if p := math.Erfc(z / math.Sqrt2); n > 10_000 && !near(exact, p, .01) {
			t.Fatalf("%d, %d: exact %v, normal approximation %v", b, c, exact, p)
		}
	})
}

func TestOthersHoldForLargeSamples(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	mean := func(n int, p float64) float64 { return float64(n) * p }
	for _, p := range []float64{.5, .95, .99} {
		lo, hi, covers := QuantileCI(largest, p, .95)
		sd := math.Sqrt(mean(largest, p) * (1 - p))
		expect(t, fmt.Sprintf("lower rank of %v", p), float64(lo), mean(largest, p)-1.96*sd, 10)
		expect(t, fmt.Sprintf("upper rank of %v", p), float64(hi), mean(largest, p)+1.96*sd, 10)
		expect(t, fmt.Sprintf("coverage of %v", p), covers, .95, 1e-3)
	}
	// A gate at the true rate passes half of the time, and by the normal approximation elsewhere.
	expect(t, "gate at the floor", gatePass(largest, .9, .9), .5, 1e-3)
	expect(t, "gate two standard errors above", gatePass(largest, .9, .9+2*math.Sqrt(.09/largest)), .97725, 1e-3)
	expect(t, "pass@k", PassAtK(largest, largest/2, 3), 7./8, 1e-6)
	expect(t, "pass^k", PassHatK(largest, largest/2, largest/2), 0, 0)
	expect(t, "no failure", ExactUpper(0, largest, .95), 2.9957e-7, 1e-11)
	expect(t, "detectable", MinDetectable(largest, .1, .05, .8), 2.8016*math.Sqrt(.1/largest), 1e-6)
	got, ok := JudgeCorrected(.92, largest, JudgeAccuracy{.98, largest, .89, largest}, .95)
	if !ok || !near(got.Rate, .931034, 1e-6) || got.Hi-got.Lo > .001 {
		t.Errorf("corrected: %+v", got)
	}
	lo, hi := MeanCI(largest, 0, 1, .95)
	expect(t, "t interval", hi, 1.959964/math.Sqrt(largest), 1e-9)
	expect(t, "t interval, lower end", lo, -hi, 0)
}
