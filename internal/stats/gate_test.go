package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestRequired(t *testing.T) {
	tests := []struct {
		n     int
		floor float64
		want  int
	}{
		{50, .9, 45}, {10, .9, 9}, {500, .9, 450}, {51, .9, 46}, {49, .9, 45}, {1, .9, 1}, {0, .9, 0},
		{100, .07, 7}, {100, .55, 55}, {100, .57, 57}, {100, .29, 29}, {1000, .035, 35}, {10_000_000, .9, 9_000_000}, // products next to the integer
		{10, 0, 0}, {10, -1, 0}, {10, 1, 10}, {10, .001, 1}, {10, 1.01, 11}, {10, math.NaN(), 11},
		{10, math.Inf(1), 11}, {10, math.Inf(-1), 0},
	}
	for _, tt := range tests {
		if got := Required(tt.n, tt.floor); got != tt.want {
			t.Errorf("Required(%d, %v) = %d, want %d", tt.n, tt.floor, got, tt.want)
		}
	}
}

// A floor of k/n, and a floor with three decimals, are reached by exactly the passes that integer
// arithmetic yields.
func TestRequiredIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100_000).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		if got := Required(n, float64(k)/float64(n)); got != k {
			t.Fatalf("Required(%d, %d/%d) = %d", n, k, n, got)
		}
		milli := rapid.IntRange(0, 1000).Draw(t, "milli")
		if got, want := Required(n, float64(milli)/1000), (milli*n+999)/1000; got != want {
			t.Fatalf("Required(%d, %d/1000) = %d, want %d", n, milli, got, want)
		}
	})
}

// gatePass returns the probability that a run of n questions, each passed with probability p,
// reaches floor.
func gatePass(n int, floor, p float64) float64 { return AtLeast(Required(n, floor), n, p) }

func TestGatePass(t *testing.T) {
	tests := []struct {
		n       int
		p, want float64
	}{
		{10, .85, .5443}, {10, .90, .7361}, {10, .95, .9139},
		{50, .85, .2194}, {50, .88, .4353}, {50, .90, .6161}, {50, .92, .7919}, {50, .95, .9622},
		{100, .85, .0994}, {100, .92, .8243},
		{500, .88, .0932}, {500, .92, .9545},
		{10, 0, 0}, {10, 1, 1},
	}
	for _, tt := range tests {
		if got := gatePass(tt.n, .9, tt.p); !near(got, tt.want, 5.1e-5) {
			t.Errorf("gatePass(%d, .9, %v) = %.4f, want %.4f", tt.n, tt.p, got, tt.want)
		}
	}
}

func TestGatePassVectors(t *testing.T) {
	type row struct {
		N     int
		Floor float64
		TrueP float64 `json:"true_p"`
		Want  float64 `json:"prob_gate_passes"`
	}
	for _, v := range vectors[row](t, "floor_gate_operating_characteristic") {
		if got := gatePass(v.N, v.Floor, v.TrueP); !near(got, v.Want, 1e-12) {
			t.Errorf("gatePass(%d, %v, %v) = %v, want %v", v.N, v.Floor, v.TrueP, got, v.Want)
		}
	}
}

// A plain sum of the binomial terms agrees.
func TestGatePassIsTheBinomialTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		r := rapid.IntRange(0, n).Draw(t, "r")
		p := rapid.Float64Range(.001, .999).Draw(t, "p")
		sum := 0.
		for x := r; x <= n; x++ {
			term := 1.
			for i := range x {
				term *= float64(n-i) / float64(x-i) * p
			}
			sum += term * math.Pow(1-p, float64(n-x))
		}
		if got := gatePass(n, float64(r)/float64(n), p); !near(got, sum, 1e-10) {
			t.Fatalf("GatePass = %v, terms sum to %v", got, sum)
		}
	})
}

func TestGatePassEdges(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		n              int
		floor, p, want float64
	}{
		{10, 0, 0, 1}, {10, 1.1, 1, 0}, {10, nan, 1, 0},
		{0, .9, .9, nan}, {-1, .9, .9, nan}, {10, .9, -.1, nan}, {10, .9, 1.1, nan}, {10, .9, nan, nan},
	} {
		got := gatePass(tt.n, tt.floor, tt.p)
		if got != tt.want && !(math.IsNaN(got) && math.IsNaN(tt.want)) {
			t.Errorf("gatePass(%d, %v, %v) = %v, want %v", tt.n, tt.floor, tt.p, got, tt.want)
		}
	}
}
