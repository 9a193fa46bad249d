package stats

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// wald returns the normal interval of a difference by its confidence.
func wald(diff, se float64) func(conf float64) (lo, hi float64) {
	return func(conf float64) (lo, hi float64) {
		half := NormalQuantile((1+conf)/2) * se
		return diff - half, diff + half
	}
}

func TestNonInferiority(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ diff, se, margin, level, p float64 }{
		{-.01, .012, .03, .025, .047790}, {-.02, .02, .03, .025, .308538}, {-.05, .02, .03, .025, .841345},
		{.02, .02, .03, .025, .006210}, {.02, .02, .03, .001, .006210}, {0, .02, 0, .025, .5},
		{0, nan, .03, .025, nan}, {nan, .02, .03, .025, nan}, {0, .02, .03, 0, nan}, {0, .02, .03, .5, nan},
	} {
		expect(t, fmt.Sprintf("%v: p", c), NonInferiority(c.diff, c.margin, c.level, wald(c.diff, c.se)), c.p, 5.1e-7)
	}
}

func TestNonInferiorityVectors(t *testing.T) {
	for _, v := range shared[struct{ Diff, SE, Margin, Z, P float64 }](t, "noninferiority") {
		got := NonInferiority(v.Diff, v.Margin, .025, wald(v.Diff, v.SE))
		expect(t, fmt.Sprintf("%+v: p", v), got, v.P, 1e-12)
		expect(t, fmt.Sprintf("%+v: z", v), -NormalQuantile(got), v.Z, 1e-11)
	}
}

// The p-value is at most the level exactly if the interval at that level lies above the margin, and
// it falls with the margin.
func TestNonInferiorityInvertsNewcombe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(0, 40)
		p := Pairs{count.Draw(t, "both"), count.Draw(t, "first"), count.Draw(t, "second"), count.Draw(t, "neither")}
		if p.N() == 0 {
			return
		}
		margin := rapid.Float64Range(0, .5).Draw(t, "margin")
		level := rapid.SampledFrom([]float64{.025, .05, .005}).Draw(t, "level")
		got := NonInferiority(p.Difference(), margin, level, p.Newcombe)
		lo, hi := p.Newcombe(1 - 2*level)
		if lo > -margin != (got <= level) || hi < -margin != (got >= 1-level) {
			t.Fatalf("%+v, margin %v: p %v and %v to %v", p, margin, got, lo, hi)
		}
		if wider := NonInferiority(p.Difference(), margin+.1, level, p.Newcombe); wider > got+1e-9 {
			t.Fatalf("%+v: p %v with margin %v, %v with more", p, got, margin, wider)
		}
	})
}

// summedPower is McNemarPower by the p-value of every split of every number of discordant pairs.
func summedPower(n int, psi, d, alpha float64) float64 {
	power := 0.0
	for m := range n + 1 {
		for x := range m + 1 {
			if McNemarExact(x, m-x) <= alpha {
				power += binomialTerm(n, m, psi) * binomialTerm(m, x, (1+d/psi)/2)
			}
		}
	}
	return power
}

func TestMcNemarPower(t *testing.T) {
	for _, c := range []struct {
		n            int
		psi, d, want float64
	}{
		{50, .04, .04, .0144}, {50, .14, .14, .7186}, {5, 1, 1, 0}, {6, 1, 1, 1}, {6, .5, .5, 1. / 64},
		{6, 1, 0, 1. / 32}, {0, .1, .1, math.NaN()}, {10, 0, 0, math.NaN()}, {10, 1.1, 1, math.NaN()},
		{10, .1, .2, math.NaN()}, {10, .1, -.1, math.NaN()}, {10, math.NaN(), 0, math.NaN()},
	} {
		expect(t, fmt.Sprintf("power of %+v", c), McNemarPower(c.n, c.psi, c.d, .05), c.want, 5.1e-5)
	}
	rapid.Check(t, func(t *rapid.T) {
		// No p-value is exactly one of these levels, where rounding would decide.
		n, alpha := rapid.IntRange(1, 60).Draw(t, "n"), rapid.SampledFrom([]float64{.3, .05, .01, .001}).Draw(t, "alpha")
		psi := rapid.Float64Range(.01, 1).Draw(t, "psi")
		d := psi * rapid.Float64Range(0, 1).Draw(t, "part")
		expect(t, fmt.Sprintf("power of %d, %v, %v at %v", n, psi, d, alpha), McNemarPower(n, psi, d, alpha), summedPower(n, psi, d, alpha), 1e-11)
	})
}

func TestMcNemarSize(t *testing.T) {
	for _, c := range []struct {
		psi, d float64
		want   float64
	}{
		{.14, .10, 114}, {.10, .05, 337}, {89. / 450, 23. / 450, 624}, {.05, .03, 463}, {1, 1, 6},
		{.2, 0, math.Inf(1)}, {0, 0, math.NaN()}, {.1, .2, math.NaN()}, {1.1, .1, math.NaN()}, {math.NaN(), .1, math.NaN()},
	} {
		expect(t, fmt.Sprintf("size of %v, %v", c.psi, c.d), McNemarSize(c.psi, c.d, .05, .8), c.want, 0)
	}
	for _, c := range [][2]float64{{0, .8}, {1, .8}, {.05, 0}, {.05, 1}, {math.NaN(), .8}, {.05, math.NaN()}} {
		expect(t, fmt.Sprintf("size at %v", c), McNemarSize(.15, .05, c[0], c[1]), math.NaN(), 0)
		expect(t, fmt.Sprintf("size of no difference at %v", c), McNemarSize(.2, 0, c[0], c[1]), math.NaN(), 0)
		expect(t, fmt.Sprintf("detectable at %v", c), MinDetectable(100, .2, c[0], c[1]), math.NaN(), 0)
	}
}

func TestMcNemarSizeVectors(t *testing.T) {
	for _, v := range shared[struct {
		P10, P01, N float64
		Ceil        float64 `json:"n_ceil"`
	}](t, "mcnemar_sample_size") {
		got := connorSize(v.P10+v.P01, v.P10-v.P01, .05, .8)
		expect(t, fmt.Sprintf("%+v: size", v), got, v.N, 1e-8*v.N)
		expect(t, fmt.Sprintf("%+v: rounded size", v), math.Ceil(got), v.Ceil, 0)
	}
}

// From the size on, the power is reached, and with one pair less it is not. If nearly all pairs are
// discordant, it may later fall a little below again.
func TestMcNemarSizeReachesThePower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		psi := rapid.Float64Range(.02, 1).Draw(t, "psi")
		d := psi * rapid.Float64Range(.2, 1).Draw(t, "part")
		alpha, power := rapid.Float64Range(.01, .2).Draw(t, "alpha"), rapid.Float64Range(.5, .95).Draw(t, "power")
		n := int(McNemarSize(psi, d, alpha, power))
		for i := range 30 {
			if got := McNemarPower(n+i, psi, d, alpha); got < power && (i == 0 || psi < .9 || got < power-.02) {
				t.Fatalf("the power with %d of %d is %v, want %v", n+i, n, got, power)
			}
		}
		if n > 1 && McNemarPower(n-1, psi, d, alpha) >= power {
			t.Fatalf("%d is enough", n-1)
		}
	})
}

func TestMinDetectable(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		n         int
		psi, want float64
	}{
		{100, .2, .1277}, {500, .1, .0407}, {1540, .1, .0231},
		{50, .04, nan}, {50, .1, nan}, {50, .14, nan}, {1, .5, nan}, // not even if all go the same way
		{0, .1, nan}, {100, 0, nan}, {100, 1.1, nan}, {100, nan, nan},
	} {
		expect(t, fmt.Sprintf("detectable with %d of %v", c.n, c.psi), MinDetectable(c.n, c.psi, .05, .8), c.want, 5.1e-5)
	}
}

func TestMinDetectableVectors(t *testing.T) {
	for _, v := range shared[struct {
		N        int
		Psi, MDE float64
	}](t, "mde_paired") {
		// The vectors are of the approximation, and end 1e-9 below psi where nothing is detectable.
		if v.Psi-v.MDE > 2e-9 {
			expect(t, fmt.Sprintf("%+v: size", v), connorSize(v.Psi, v.MDE, .05, .8), float64(v.N), 1e-5)
		}
		if got := MinDetectable(v.N, v.Psi, .05, .8); got < v.MDE || got > 1.1*v.MDE {
			t.Errorf("%+v: detectable %v", v, got)
		}
	}
}

// The detectable difference is the one that has the power, and about the one whose size is n, also
// where sizes are approximate.
func TestMinDetectableHasThePower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{20, 100, 777, 5000, 1_000_000, 20_000_000}).Draw(t, "n")
		psi := rapid.Float64Range(.001, .6).Draw(t, "psi")
		alpha, power := rapid.Float64Range(.01, .2).Draw(t, "alpha"), rapid.Float64Range(.5, .99).Draw(t, "power")
		d := MinDetectable(n, psi, alpha, power)
		if math.IsNaN(d) {
			if n > 100_000 || McNemarPower(n, psi, psi, alpha) >= power {
				t.Fatalf("nothing is detectable with %d", n)
			}
			return
		}
		if n <= 5000 {
			expect(t, "power", McNemarPower(n, psi, d, alpha), power, 1e-9)
		} else if got := connorSize(psi, d, alpha, power) + 2/d; !near(got, float64(n), .03*float64(n)) {
			t.Fatalf("%v is detectable with %d, but its approximate size is %v", d, n, got)
		}
	})
}
