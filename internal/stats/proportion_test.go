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

func TestWilsonLower(t *testing.T) {
	tests := []struct {
		k, n int
		want float64
	}{
		{46, 50, .833302}, {48, 50, .886100}, {50, 50, .948667}, {95, 100, .900839}, {93, 100, .875740}, {0, 50, 0},
	}
	for _, tt := range tests {
		if got := WilsonLower(tt.k, tt.n, .95); !near(got, tt.want, 5.1e-7) {
			t.Errorf("WilsonLower(%d, %d) = %.6f, want %.6f", tt.k, tt.n, got, tt.want)
		}
	}
}

func TestWilsonUpper(t *testing.T) {
	for _, tt := range []struct {
		k, n int
		want float64
	}{{0, 50, 1 - .948667}, {4, 50, 1 - .833302}, {5, 100, 1 - .900839}, {50, 50, 1}, {0, 0, 1}} {
		if got := WilsonUpper(tt.k, tt.n, .95); !near(got, tt.want, 5.1e-7) {
			t.Errorf("WilsonUpper(%d, %d) = %.6f, want %.6f", tt.k, tt.n, got, tt.want)
		}
	}
}

func TestWilsonLowerVectors(t *testing.T) {
	type row struct {
		K, N  int
		Lower float64
	}
	for _, v := range vectors[row](t, "wilson_one_sided_lower_95") {
		if got := WilsonLower(v.K, v.N, .95); !near(got, v.Lower, 1e-14) {
			t.Errorf("WilsonLower(%d, %d) = %v, want %v", v.K, v.N, got, v.Lower)
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
		if upper := WilsonUpper(n-k, n, conf); !near(upper, 1-WilsonLower(k, n, conf), 1e-12) {
			t.Fatalf("upper bound %v is not the mirror of the lower one", upper)
		}
		if wlo, whi := Wilson(2*k, 2*n, conf); whi-wlo >= hi-lo {
			t.Fatalf("[%v, %v] is not wider than with twice the sample", lo, hi)
		}
		if one := WilsonLower(k, n, (1+conf)/2); one != lo {
			t.Fatalf("one-sided bound %v at the same z differs from %v", one, lo)
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
			if lo := WilsonLower(0, n, conf); lo != 0 {
				t.Fatalf("WilsonLower(0, %d, %v) = %v", n, conf, lo)
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
		if !math.IsNaN(lo) || !math.IsNaN(hi) || !math.IsNaN(WilsonLower(tt.k, tt.n, tt.conf)) || !math.IsNaN(WilsonUpper(tt.k, tt.n, tt.conf)) {
			t.Errorf("Wilson(%d, %d, %v) = %v, %v, want NaN", tt.k, tt.n, tt.conf, lo, hi)
		}
	}
}

func TestClopperPearsonAndJeffreys(t *testing.T) {
	for _, c := range []struct {
		k, n                       int
		lo, hi, jeffreyLo, jeffrey float64
	}{
		{8, 10, .443905, .974789, .497226, .955941},
		{0, 10, 0, .308497, 0, .217196}, {10, 10, .691503, 1, .782804, 1},
		// Newcombe 1998 for Clopper-Pearson, as the next three.
		{81, 263, .252737, .367622, .254522, .365647},
		{15, 148, .057844, .161650, .060449, .157643},
		{0, 20, 0, .168433, 0, .116639},
		{1, 29, .000873, .177644, .003746, .150078},
		{46, 50, .807657, .977772, .820934, .972393},
		{450, 500, .870291, .924864, .871401, .923986},
		{0, 0, 0, 1, 0, 1},
	} {
		lo, hi := ClopperPearson(c.k, c.n, .95)
		jlo, jhi := Jeffreys(c.k, c.n, .95)
		name := fmt.Sprintf("%d of %d: ", c.k, c.n)
		expect(t, name+"Clopper-Pearson lo", lo, c.lo, 5.1e-7)
		expect(t, name+"Clopper-Pearson hi", hi, c.hi, 5.1e-7)
		expect(t, name+"Jeffreys lo", jlo, c.jeffreyLo, 5.1e-7)
		expect(t, name+"Jeffreys hi", jhi, c.jeffrey, 5.1e-7)
	}
	for _, c := range []struct {
		k, n int
		conf float64
	}{{-1, 10, .95}, {11, 10, .95}, {0, -1, .95}, {1, 2, 0}, {1, 2, 1}, {1, 2, math.NaN()}} {
		lo, hi := ClopperPearson(c.k, c.n, c.conf)
		jlo, jhi := Jeffreys(c.k, c.n, c.conf)
		for _, got := range []float64{lo, hi, jlo, jhi} {
			expect(t, fmt.Sprintf("an end of %v", c), got, math.NaN(), 0)
		}
	}
}

func TestProportionVectors(t *testing.T) {
	type row struct {
		K, N     int
		Wilson   [2]float64
		CP       [2]float64 `json:"clopper_pearson"`
		Jeffreys [2]float64
	}
	for _, v := range shared[row](t, "proportion_ci_95") {
		for _, m := range []struct {
			name  string
			bound func(k, n int, conf float64) (lo, hi float64)
			want  [2]float64
		}{{"Wilson", Wilson, v.Wilson}, {"ClopperPearson", ClopperPearson, v.CP}, {"Jeffreys", Jeffreys, v.Jeffreys}} {
			lo, hi := m.bound(v.K, v.N, .95)
			expect(t, fmt.Sprintf("%s(%d, %d) lo", m.name, v.K, v.N), lo, m.want[0], 1e-12)
			expect(t, fmt.Sprintf("%s(%d, %d) hi", m.name, v.K, v.N), hi, m.want[1], 1e-12)
		}
	}
}

// An exact interval ends where the tail of the binomial distribution is (1-conf)/2; Wilson's and
// Jeffreys' are narrower, and all mirror each other when passes and failures are exchanged.
func TestBetaIntervalProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 10, 100, 5000}).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		conf := rapid.Float64Range(.5, .999).Draw(t, "conf")
		lo, hi := ClopperPearson(k, n, conf)
		jlo, jhi := Jeffreys(k, n, conf)
		p := float64(k) / float64(n)
		if !(0 <= lo && lo <= jlo && jlo <= p && p <= jhi && jhi <= hi && hi <= 1) {
			t.Fatalf("exact [%v, %v], Jeffreys [%v, %v] of %v", lo, hi, jlo, jhi, p)
		}
		if k > 0 {
			if tail := GatePass(n, p, lo); !near(tail, (1-conf)/2, 1e-9) {
				t.Fatalf("at the lower end %v, %d or more of %d have probability %v", lo, k, n, tail)
			}
		}
		mlo, mhi := ClopperPearson(n-k, n, conf)
		jmlo, jmhi := Jeffreys(n-k, n, conf)
		if !near(mlo, 1-hi, 1e-9) || !near(mhi, 1-lo, 1e-9) || !near(jmlo, 1-jhi, 1e-9) || !near(jmhi, 1-jlo, 1e-9) {
			t.Fatalf("%d and %d of %d do not mirror each other", k, n-k, n)
		}
		if wlo, whi := ClopperPearson(2*k, 2*n, conf); whi-wlo >= hi-lo {
			t.Fatalf("[%v, %v] is not wider than with twice the sample", lo, hi)
		}
	})
}

func TestZeroFailures(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		n                   int
		conf, exact, approx float64
	}{{50, .95, .058155, .06}, {10, .99, .369043, .46}, {1, .95, .95, 1}, {0, .95, 1, 1}, {-1, .95, nan, nan}, {5, 0, nan, nan}, {5, 1, nan, nan}} {
		exact, approx := ZeroFailures(c.n, c.conf)
		expect(t, fmt.Sprintf("%v: exact", c), exact, c.exact, 5.1e-7)
		expect(t, fmt.Sprintf("%v: approx", c), approx, c.approx, 1e-12)
	}
}

func TestZeroFailuresVectors(t *testing.T) {
	for _, v := range shared[struct {
		N             int
		Exact, Approx float64
	}](t, "rule_of_three") {
		exact, approx := ZeroFailures(v.N, .95)
		expect(t, fmt.Sprintf("%d: exact", v.N), exact, v.Exact, 1e-14)
		expect(t, fmt.Sprintf("%d: approx", v.N), approx, v.Approx, 1e-14)
	}
}

func TestNewcombeIndependent(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		k1, n1, k2, n2 int
		lo, hi         float64
	}{
		{56, 70, 48, 80, .052431, .333873}, // Newcombe 1998, as the next
		{9, 10, 3, 10, .170523, .809018},
		{5, 5, 0, 5, .385549, 1}, {0, 0, 5, 10, nan, nan}, {5, 10, 0, 0, nan, nan}, {11, 10, 0, 5, nan, nan},
	} {
		lo, hi := NewcombeIndependent(c.k1, c.n1, c.k2, c.n2, .95)
		expect(t, fmt.Sprintf("%v: lo", c), lo, c.lo, 5.1e-7)
		expect(t, fmt.Sprintf("%v: hi", c), hi, c.hi, 5.1e-7)
	}
}

func TestNewcombeIndependentVectors(t *testing.T) {
	for _, v := range shared[struct {
		K1, N1, K2, N2 int
		CI             [2]float64
	}](t, "newcombe_independent") {
		lo, hi := NewcombeIndependent(v.K1, v.N1, v.K2, v.N2, .95)
		expect(t, fmt.Sprintf("%+v: lo", v), lo, v.CI[0], 1e-14)
		expect(t, fmt.Sprintf("%+v: hi", v), hi, v.CI[1], 1e-14)
		// Exchanging the samples mirrors the interval.
		lo, hi = NewcombeIndependent(v.K2, v.N2, v.K1, v.N1, .95)
		expect(t, fmt.Sprintf("%+v: mirrored lo", v), -hi, v.CI[0], 1e-14)
		expect(t, fmt.Sprintf("%+v: mirrored hi", v), -lo, v.CI[1], 1e-14)
	}
}

// The interval of independent samples contains the difference, is wider than with four times the
// trials, and mirrors when the samples or passes and failures are exchanged.
func TestNewcombeIndependentProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k1, n1 := counts(t)
		k2, n2 := counts(t)
		n1, n2 = min(n1, largest/4), min(n2, largest/4)
		k1, k2 = min(k1, n1), min(k2, n2)
		d := float64(k1)/float64(n1) - float64(k2)/float64(n2)
		lo, hi := NewcombeIndependent(k1, n1, k2, n2, .95)
		if !(-1 <= lo && lo <= d+1e-12 && d <= hi+1e-12 && hi <= 1 && lo < hi) {
			t.Fatalf("[%v, %v] of %v", lo, hi, d)
		}
		if wlo, whi := NewcombeIndependent(4*k1, 4*n1, 4*k2, 4*n2, .95); whi-wlo >= hi-lo {
			t.Fatalf("[%v, %v] is not wider than [%v, %v] of four times the trials", lo, hi, wlo, whi)
		}
		mlo, mhi := NewcombeIndependent(k2, n2, k1, n1, .95)
		flo, fhi := NewcombeIndependent(n2-k2, n2, n1-k1, n1, .95)
		if !near(mlo, -hi, 1e-12) || !near(mhi, -lo, 1e-12) || !near(flo, lo, 1e-12) || !near(fhi, hi, 1e-12) {
			t.Fatalf("[%v, %v], exchanged [%v, %v], of failures [%v, %v]", lo, hi, mlo, mhi, flo, fhi)
		}
	})
}
