package stats

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestWilson(t *testing.T) {
	tests := []struct {
		k, n   int
		lo, hi float64
	}{
		{8, 10, .490162, .943318},
		{9, 10, .595850, .982124},
		{0, 10, 0, .277533},
		{10, 10, .722467, 1},
		{81, 263, .255289, .366210}, // Newcombe 1998, as are the next three
		{15, 148, .062386, .160487},
		{0, 20, 0, .161125},
		{1, 29, .006113, .171755},
		{46, 50, .811618, .968450},
		{45, 50, .786398, .956524},
		{450, 500, .870578, .923322},
		{473, 500, .922573, .962626},
	}
	for _, tt := range tests {
		lo, hi := Wilson(tt.k, tt.n, .95)
		if !near(lo, tt.lo, 5.1e-7) || !near(hi, tt.hi, 5.1e-7) {
			t.Errorf("Wilson(%d, %d) = %.6f, %.6f, want %.6f, %.6f", tt.k, tt.n, lo, hi, tt.lo, tt.hi)
		}
	}
}

func TestWilsonVectors(t *testing.T) {
	type row struct {
		K, N   int
		Wilson [2]float64
	}
	for _, v := range vectors[row](t, "proportion_ci_95") {
		lo, hi := Wilson(v.K, v.N, .95)
		if !near(lo, v.Wilson[0], 1e-14) || !near(hi, v.Wilson[1], 1e-14) {
			t.Errorf("Wilson(%d, %d) = %v, %v, want %v", v.K, v.N, lo, hi, v.Wilson)
		}
	}
}

func TestWilsonProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1_000_000).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		conf := rapid.Float64Range(.5, .9999).Draw(t, "conf")
		lo, hi := Wilson(k, n, conf)
		p := float64(k) / float64(n)
		if !(0 <= lo && lo <= p && p <= hi && hi <= 1) {
			t.Fatalf("[%v, %v] does not contain %v inside 0..1", lo, hi, p)
		}
		if (lo == 0) != (k == 0) || (hi == 1) != (k == n) {
			t.Fatalf("[%v, %v]: an end is pinned for k = 0 and k = n only", lo, hi)
		}
		mlo, mhi := Wilson(n-k, n, conf)
		if !near(lo, 1-mhi, 1e-12) || !near(hi, 1-mlo, 1e-12) {
			t.Fatalf("[%v, %v] is not the mirror of [%v, %v]", lo, hi, mlo, mhi)
		}
		if wlo, whi := Wilson(2*k, 2*n, conf); whi-wlo >= hi-lo {
			t.Fatalf("[%v, %v] is not wider than with twice the sample", lo, hi)
		}
	})
}

// Samples with k = 0 or k = n are where rounding leaves 2e-17 and 1+2e-16, and random samples
// rarely contain them.
func TestWilsonEndsAreExact(t *testing.T) {
	for n := range 2000 {
		for _, conf := range []float64{.8, .9, .95, .99} {
			if lo, hi := Wilson(0, n, conf); lo != 0 || hi > 1 {
				t.Fatalf("Wilson(0, %d, %v) = %v, %v", n, conf, lo, hi)
			}
			if lo, hi := Wilson(n, n, conf); lo < 0 || hi != 1 {
				t.Fatalf("Wilson(%d, %d, %v) = %v, %v", n, n, conf, lo, hi)
			}
		}
	}
}

func TestWilsonEdges(t *testing.T) {
	if lo, hi := Wilson(0, 0, .95); lo != 0 || hi != 1 {
		t.Errorf("no trials: %v, %v, want 0, 1", lo, hi)
	}
	for _, tt := range []struct {
		k, n int
		conf float64
	}{{-1, 10, .95}, {11, 10, .95}, {0, -1, .95}, {1, 2, 0}, {1, 2, 1}, {1, 2, 95}, {1, 2, math.NaN()}} {
		lo, hi := Wilson(tt.k, tt.n, tt.conf)
		if !math.IsNaN(lo) || !math.IsNaN(hi) {
			t.Errorf("Wilson(%d, %d, %v) = %v, %v, want NaN", tt.k, tt.n, tt.conf, lo, hi)
		}
	}
}

func TestClopperPearson(t *testing.T) {
	for _, c := range []struct {
		k, n   int
		lo, hi float64
	}{
		{8, 10, .443905, .974789},
		{0, 10, 0, .308497}, {10, 10, .691503, 1},
		// Newcombe 1998 for Clopper-Pearson, as the next three.
		{81, 263, .252737, .367622},
		{15, 148, .057844, .161650},
		{0, 20, 0, .168433},
		{1, 29, .000873, .177644},
		{46, 50, .807657, .977772},
		{450, 500, .870291, .924864},
		{0, 0, 0, 1},
	} {
		lo, hi := ClopperPearson(c.k, c.n, .95)
		name := fmt.Sprintf("%d of %d: ", c.k, c.n)
		expect(t, name+"Clopper-Pearson lo", lo, c.lo, 5.1e-7)
		expect(t, name+"Clopper-Pearson hi", hi, c.hi, 5.1e-7)
	}
	for _, c := range []struct {
		k, n int
		conf float64
	}{{-1, 10, .95}, {11, 10, .95}, {0, -1, .95}, {1, 2, 0}, {1, 2, 1}, {1, 2, math.NaN()}} {
		lo, hi := ClopperPearson(c.k, c.n, c.conf)
		for _, got := range []float64{lo, hi} {
			expect(t, fmt.Sprintf("an end of %v", c), got, math.NaN(), 0)
		}
	}
}

func TestProportionVectors(t *testing.T) {
	type row struct {
		K, N   int
		Wilson [2]float64
		CP     [2]float64 `json:"clopper_pearson"`
	}
	for _, v := range shared[row](t, "proportion_ci_95") {
		for _, m := range []struct {
			name  string
			bound func(k, n int, conf float64) (lo, hi float64)
			want  [2]float64
		}{{"Wilson", Wilson, v.Wilson}, {"ClopperPearson", ClopperPearson, v.CP}} {
			lo, hi := m.bound(v.K, v.N, .95)
			expect(t, fmt.Sprintf("%s(%d, %d) lo", m.name, v.K, v.N), lo, m.want[0], 1e-12)
			expect(t, fmt.Sprintf("%s(%d, %d) hi", m.name, v.K, v.N), hi, m.want[1], 1e-12)
		}
	}
}

// An exact interval ends where the tail of the binomial distribution is (1-conf)/2, and is mirrored
// when passes and failures are exchanged.
func TestClopperPearsonProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 10, 100, 5000}).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		conf := rapid.Float64Range(.5, .999).Draw(t, "conf")
		lo, hi := ClopperPearson(k, n, conf)
		p := float64(k) / float64(n)
		if !(0 <= lo && lo <= p && p <= hi && hi <= 1) {
			t.Fatalf("[%v, %v] of %v", lo, hi, p)
		}
		if k > 0 {
			if tail := gatePass(n, p, lo); !near(tail, (1-conf)/2, 1e-9) {
				t.Fatalf("at the lower end %v, %d or more of %d have probability %v", lo, k, n, tail)
			}
		}
		mlo, mhi := ClopperPearson(n-k, n, conf)
		if !near(mlo, 1-hi, 1e-9) || !near(mhi, 1-lo, 1e-9) {
			t.Fatalf("%d and %d of %d do not mirror each other", k, n-k, n)
		}
		if wlo, whi := ClopperPearson(2*k, 2*n, conf); whi-wlo >= hi-lo {
			t.Fatalf("[%v, %v] is not wider than with twice the sample", lo, hi)
		}
	})
}
