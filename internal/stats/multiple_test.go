package stats

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestHolm(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ p, want []float64 }{
		{[]float64{.01, .04, .03, .005}, []float64{.03, .06, .06, .02}},
		{[]float64{.05, .05, .05}, []float64{.15, .15, .15}},
		{[]float64{.2}, []float64{.2}},
		{[]float64{.5, .9}, []float64{1, 1}},
		{[]float64{nan, .04, nan, .01}, []float64{nan, .04, nan, .02}},
		{nil, nil},
	} {
		checkHolm(t, c.p, c.want)
	}
}

func TestHolmVectors(t *testing.T) {
	for _, v := range shared[struct{ P, Holm []float64 }](t, "multiplicity") {
		checkHolm(t, v.P, v.Holm)
	}
}

func checkHolm(t *testing.T, p, want []float64) {
	t.Helper()
	before := slices.Clone(p)
	got := Holm(p)
	for i := range p {
		expect(t, fmt.Sprintf("%v: %d", p, i), got[i], want[i], 1e-14)
		if !same(p[i], before[i], 0) {
			t.Errorf("%v was changed to %v", before, p)
		}
	}
	if len(got) != len(p) {
		t.Errorf("%d values of %d", len(got), len(p))
	}
}

// The adjusted values are in the order of p, between p and Bonferroni's, and the order of the tests
// does not matter.
func TestHolmProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 30).Draw(t, "p")
		order := rapid.Permutation(p).Draw(t, "order")
		holm, other := Holm(p), Holm(order)
		for i := range p {
			if !(p[i] <= holm[i] && holm[i] <= min(1, float64(len(p))*p[i])+1e-15) {
				t.Fatalf("p %v, Holm %v", p[i], holm[i])
			}
			for j := range p {
				if p[i] < p[j] && holm[i] > holm[j] {
					t.Fatalf("%v < %v, but Holm %v, %v", p[i], p[j], holm[i], holm[j])
				}
				if p[i] == order[j] && holm[i] != other[j] {
					t.Fatalf("%v depends on its place: Holm %v, %v", p[i], holm[i], other[j])
				}
			}
		}
	})
}
