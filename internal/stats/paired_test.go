package stats

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestMcNemarExact(t *testing.T) {
	for _, c := range []struct {
		b, c            int
		want, tolerance float64
	}{
		{0, 0, 1, 0},
		{7, 7, 1, 0},
		{1, 0, 1, 1e-12},
		{5, 0, 0.0625, 1e-12},
		{6, 0, 0.03125, 1e-12},
		{10, 2, 0.038574, 5e-7},
		{8, 3, 0.226563, 5e-7},
		{25, 15, 0.153860, 5e-7},
		{121, 59, 4.4344e-6, 5e-11},
		{70, 59, 0.378688, 5e-7},
		{80, 59, 0.089452, 5e-7},
		{30, 60, 0.002060, 5e-7},
		{10, 30, 0.002221, 5e-7},
		{176, 143, 0.073022, 5e-7},
	} {
		if got := McNemarExact(c.b, c.c); !near(got, c.want, c.tolerance) {
			t.Errorf("%d, %d: got %v, want %v", c.b, c.c, got, c.want)
		}
		if a, b := McNemarExact(c.b, c.c), McNemarExact(c.c, c.b); a != b {
			t.Errorf("%d, %d: %v, and %v the other way round", c.b, c.c, a, b)
		}
	}
	if p := McNemarExact(-1, 2); !math.IsNaN(p) {
		t.Errorf("below 0: %v", p)
	}
}

func TestMcNemarVectors(t *testing.T) {
	for _, v := range shared[struct {
		B, C    int
		ExactP  float64 `json:"exact_p"`
		MidP    float64 `json:"mid_p"`
		Chi2    float64 `json:"chi2"`
		Chi2P   float64 `json:"chi2_p"`
		Chi2CC  float64 `json:"chi2_cc"`
		Chi2CCP float64 `json:"chi2_cc_p"`
	}](t, "mcnemar") {
		chi2, p := McNemarChi2(v.B, v.C, false)
		corrected, correctedP := McNemarChi2(v.B, v.C, true)
		for _, m := range []struct {
			name      string
			got, want float64
		}{
			{"exact", McNemarExact(v.B, v.C), v.ExactP}, {"mid-p", McNemarMidP(v.B, v.C), v.MidP},
			{"chi2", chi2, v.Chi2}, {"p", p, v.Chi2P}, {"corrected chi2", corrected, v.Chi2CC}, {"corrected p", correctedP, v.Chi2CCP},
		} {
			expect(t, fmt.Sprintf("%d, %d: %s", v.B, v.C, m.name), m.got, m.want, 1e-15+1e-10*m.want)
		}
	}
}

func TestMcNemarMidPAndChi2(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		b, c                               int
		midP, chi2, p, corrected, correctP float64
	}{
		{0, 0, 1, 0, 1, 0, 1},
		{1, 0, .5, 1, .317311, 0, 1},
		{6, 0, .015625, 6, .014306, 4.166667, .041227},
		{10, 2, .022461, 5.333333, .020921, 4.083333, .043308},
		{8, 3, .145996, 2.272727, .131668, 1.454545, .227800},
		{10, 10, .823803, 0, 1, 0, 1},
		{25, 15, .117275, 2.5, .113846, 2.025, .154729},
		{176, 143, .064905, 3.413793, .064654, 3.210031, .073188},
		{-1, 2, nan, nan, nan, nan, nan},
		{2, -1, nan, nan, nan, nan, nan},
	} {
		for _, turned := range []bool{false, true} {
			b, second := c.b, c.c
			if turned {
				b, second = second, b
			}
			chi2, p := McNemarChi2(b, second, false)
			corrected, correctP := McNemarChi2(b, second, true)
			for _, m := range []struct {
				name      string
				got, want float64
			}{{"mid-p", McNemarMidP(b, second), c.midP}, {"chi2", chi2, c.chi2}, {"p", p, c.p}, {"corrected", corrected, c.corrected}, {"corrected p", correctP, c.correctP}} {
				expect(t, fmt.Sprintf("%d, %d: %s", b, second, m.name), m.got, m.want, 5.1e-7)
			}
		}
	}
}

// TestMcNemarExactIsTheBinomialTail compares with a sum of logarithms.
func TestMcNemarExactIsTheBinomialTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, c := rapid.IntRange(0, 400).Draw(t, "b"), rapid.IntRange(0, 400).Draw(t, "c")
		m := float64(b + c)
		all, _ := math.Lgamma(m + 1)
		sum := 0.0
		for i := range min(b, c) + 1 {
			chosen, _ := math.Lgamma(float64(i) + 1)
			rest, _ := math.Lgamma(m - float64(i) + 1)
			sum += math.Exp(all - chosen - rest - m*math.Ln2)
		}
		if got, want := McNemarExact(b, c), min(1, 2*sum); !near(got, want, 1e-9) {
			t.Errorf("%d, %d: got %v, want %v", b, c, got, want)
		}
	})
}
