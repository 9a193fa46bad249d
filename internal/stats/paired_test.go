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
		B, C   int
		ExactP float64 `json:"exact_p"`
	}](t, "mcnemar") {
		expect(t, fmt.Sprintf("%d, %d", v.B, v.C), McNemarExact(v.B, v.C), v.ExactP, 1e-15+1e-10*v.ExactP)
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
