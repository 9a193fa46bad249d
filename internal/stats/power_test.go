package stats

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestNonInferiority(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ diff, se, margin, z, p float64 }{
		{-.01, .012, .03, 1.666667, .047790}, {-.02, .02, .03, .5, .308538}, {-.05, .02, .03, -1, .841345},
		{0, .02, 0, 0, .5}, {0, 0, .03, nan, nan}, {0, -1, .03, nan, nan}, {0, .02, -.03, nan, nan}, {nan, .02, .03, nan, nan},
	} {
		z, p := NonInferiority(c.diff, c.se, c.margin)
		expect(t, fmt.Sprintf("%v: z", c), z, c.z, 5.1e-7)
		expect(t, fmt.Sprintf("%v: p", c), p, c.p, 5.1e-7)
	}
}

func TestNonInferiorityVectors(t *testing.T) {
	for _, v := range shared[struct{ Diff, SE, Margin, Z, P float64 }](t, "noninferiority") {
		z, p := NonInferiority(v.Diff, v.SE, v.Margin)
		expect(t, fmt.Sprintf("%+v: z", v), z, v.Z, 1e-14)
		expect(t, fmt.Sprintf("%+v: p", v), p, v.P, 1e-14)
	}
}

func TestMcNemarSize(t *testing.T) {
	for _, c := range []struct {
		p10, p01 float64
		want     float64
	}{
		{.10, .05, 469}, {.15, .05, 155}, {.20, .10, 234}, {.05, .02, 609}, {.12, .02, 108}, {.05, .10, 469},
		{.1, .1, math.Inf(1)}, {0, 0, math.Inf(1)}, {-.1, .2, math.NaN()}, {.6, .5, math.NaN()}, {math.NaN(), .1, math.NaN()},
	} {
		expect(t, fmt.Sprintf("size of %v, %v", c.p10, c.p01), math.Ceil(McNemarSize(c.p10, c.p01, .05, .8)), c.want, 0)
	}
	for _, c := range [][2]float64{{0, .8}, {1, .8}, {.05, 0}, {.05, 1}, {math.NaN(), .8}, {.05, math.NaN()}} {
		expect(t, fmt.Sprintf("size at %v", c), McNemarSize(.1, .05, c[0], c[1]), math.NaN(), 0)
		expect(t, fmt.Sprintf("size of no difference at %v", c), McNemarSize(.1, .1, c[0], c[1]), math.NaN(), 0)
		expect(t, fmt.Sprintf("detectable at %v", c), MinDetectable(100, .2, c[0], c[1]), math.NaN(), 0)
		expect(t, fmt.Sprintf("Miller's size at %v", c), MillerSize(.03, .1, 0, 1, 0, 1, c[0], c[1]), math.NaN(), 0)
	}
}

func TestMcNemarSizeVectors(t *testing.T) {
	for _, v := range shared[struct {
		P10, P01, N float64
		Ceil        float64 `json:"n_ceil"`
	}](t, "mcnemar_sample_size") {
		got := McNemarSize(v.P10, v.P01, .05, .8)
		expect(t, fmt.Sprintf("%+v: size", v), got, v.N, 1e-8*v.N)
		expect(t, fmt.Sprintf("%+v: rounded size", v), math.Ceil(got), v.Ceil, 0)
	}
}

func TestMinDetectable(t *testing.T) {
	for _, c := range []struct {
		n         int
		psi, want float64
	}{
		{100, .2, .1238}, {500, .1, .0395}, {1540, .1, .0226},
		{50, .1, .1}, {1, .5, .5}, // not even all discordance in one direction
		{0, .1, math.NaN()}, {100, 0, math.NaN()}, {100, 1.1, math.NaN()}, {100, math.NaN(), math.NaN()},
	} {
		expect(t, fmt.Sprintf("detectable with %d of %v", c.n, c.psi), MinDetectable(c.n, c.psi, .05, .8), c.want, 5.1e-5)
	}
}

func TestMinDetectableVectors(t *testing.T) {
	for _, v := range shared[struct {
		N        int
		Psi, MDE float64
	}](t, "mde_paired") {
		// The vectors end 1e-9 below psi where no difference is detectable.
		expect(t, fmt.Sprintf("%+v: detectable", v), MinDetectable(v.N, v.Psi, .05, .8), v.MDE, 2e-9)
	}
}

// The detectable difference is the one whose sample size is n.
func TestMinDetectableInvertsMcNemarSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10_000_000).Draw(t, "n")
		psi := rapid.Float64Range(.001, 1).Draw(t, "psi")
		alpha, power := rapid.Float64Range(.001, .2).Draw(t, "alpha"), rapid.Float64Range(.5, .99).Draw(t, "power")
		d := MinDetectable(n, psi, alpha, power)
		got := McNemarSize((psi+d)/2, (psi-d)/2, alpha, power)
		if d == psi && got >= float64(n) {
			return
		}
		if !near(got, float64(n), 1e-6*float64(n)) {
			t.Fatalf("%v is detectable with %d, but its size is %v", d, n, got)
		}
		if more := MinDetectable(2*n, psi, alpha, power); more >= d {
			t.Fatalf("%v is detectable with %d, and %v with twice as many", d, n, more)
		}
	})
}

func TestMillerSize(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		delta, omega2, v float64
		k                int
		want             float64
	}{
		{.03, 1. / 9, 0, 1, 968.9975}, // Miller 2024: 969
		{.03, 1. / 9, 1. / 6, 1, 3875.9900}, {.03, 1. / 9, 1. / 6, 10, 1259.6967}, {-.03, 1. / 9, 0, 1, 968.9975},
		{0, 1. / 9, 0, 1, math.Inf(1)}, {nan, 1. / 9, 0, 1, nan}, {.03, -1, 0, 1, nan}, {.03, 1, -1, 1, nan}, {.03, 1, 1, 0, nan},
	} {
		expect(t, fmt.Sprintf("size of %+v", c), MillerSize(c.delta, c.omega2, c.v, c.k, c.v, c.k, .05, .8), c.want, 5.1e-5)
	}
	for _, got := range []float64{MillerSize(.03, 1, 0, 1, -1, 1, .05, .8), MillerSize(.03, 1, 0, 1, 0, 0, .05, .8)} {
		expect(t, "size with a second system without meaning", got, nan, 0)
	}
}

func TestMillerSizeVectors(t *testing.T) {
	for _, v := range shared[struct {
		Delta, Omega2, SigmaA2, SigmaB2, N float64
		K                                  int
	}](t, "miller_power") {
		expect(t, fmt.Sprintf("%+v: size", v), MillerSize(v.Delta, v.Omega2, v.SigmaA2, v.K, v.SigmaB2, v.K, .05, .8), v.N, 1e-8*v.N)
	}
}
