package stats

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestHolmAndBenjaminiHochberg(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ p, holm, bh []float64 }{
		{[]float64{.01, .04, .03, .005}, []float64{.03, .06, .06, .02}, []float64{.02, .04, .04, .02}},
		{[]float64{.05, .05, .05}, []float64{.15, .15, .15}, []float64{.05, .05, .05}},
		{[]float64{.2}, []float64{.2}, []float64{.2}},
		{[]float64{.5, .9}, []float64{1, 1}, []float64{.9, .9}},
		{[]float64{nan, .04, nan, .01}, []float64{nan, .04, nan, .02}, []float64{nan, .04, nan, .02}},
		{nil, nil, nil},
	} {
		checkAdjusted(t, c.p, c.holm, c.bh)
	}
}

func TestHolmAndBenjaminiHochbergVectors(t *testing.T) {
	for _, v := range shared[struct{ P, Holm, BH []float64 }](t, "multiplicity") {
		checkAdjusted(t, v.P, v.Holm, v.BH)
	}
}

func checkAdjusted(t *testing.T, p, holm, bh []float64) {
	t.Helper()
	before := slices.Clone(p)
	gotHolm, gotBH := Holm(p), BenjaminiHochberg(p)
	for i := range p {
		expect(t, fmt.Sprintf("%v: Holm %d", p, i), gotHolm[i], holm[i], 1e-14)
		expect(t, fmt.Sprintf("%v: Benjamini-Hochberg %d", p, i), gotBH[i], bh[i], 1e-14)
		if !same(p[i], before[i], 0) {
			t.Errorf("%v was changed to %v", before, p)
		}
	}
	if len(gotHolm) != len(p) || len(gotBH) != len(p) {
		t.Errorf("%d and %d values of %d", len(gotHolm), len(gotBH), len(p))
	}
}

// The adjusted values are in the order of p, between p and 1, Holm's are never below those of
// Benjamini and Hochberg nor above Bonferroni's, and the order of the tests does not matter.
func TestAdjustedProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 30).Draw(t, "p")
		order := rapid.Permutation(p).Draw(t, "order")
		holm, bh := Holm(p), BenjaminiHochberg(p)
		otherHolm, otherBH := Holm(order), BenjaminiHochberg(order)
		for i := range p {
			if !(p[i] <= bh[i] && bh[i] <= holm[i] && holm[i] <= min(1, float64(len(p))*p[i])+1e-15) {
				t.Fatalf("p %v, BH %v, Holm %v", p[i], bh[i], holm[i])
			}
			for j := range p {
				if p[i] < p[j] && (holm[i] > holm[j] || bh[i] > bh[j]) {
					t.Fatalf("%v < %v, but Holm %v, %v, BH %v, %v", p[i], p[j], holm[i], holm[j], bh[i], bh[j])
				}
				if p[i] == order[j] && (holm[i] != otherHolm[j] || bh[i] != otherBH[j]) {
					t.Fatalf("%v depends on its place: Holm %v, %v, BH %v, %v", p[i], holm[i], otherHolm[j], bh[i], otherBH[j])
				}
			}
		}
	})
}
