package stats_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"evalctl/internal/stats"
)

func TestRequiredByBounds(t *testing.T) {
	for _, c := range []struct {
		n                  int
		floor              float64
		proven, notRefuted int
	}{
		// P(X >= 49) is .0338 and P(X >= 48) .1117 for 50 at 0.9, P(X <= 40) .0245 and P(X <= 41) .0579.
		{50, 0.9, 49, 41},
		{100, 0.9, 96, 85},
		{10, 0.9, 11, 7},
		{28, 0.9, 29, 22},
		{29, 0.9, 29, 23},
		{2, 0.9, 3, 1}, // 1 of 2 happens in 19 % of runs at 0.9
		{4, 0.5, 5, 0},
		{5, 0.5, 5, 1},
		{3, 0, 0, 0},
		{3, 1, 4, 3},
		{0, 0.9, 1, 0},
		{0, 0, 0, 0},
	} {
		if got := stats.RequiredProven(c.n, c.floor, 0.95); got != c.proven {
			t.Errorf("%d questions prove %v with %d passes, want %d", c.n, c.floor, got, c.proven)
		}
		if got := stats.RequiredNotRefuted(c.n, c.floor, 0.95); got != c.notRefuted {
			t.Errorf("%d questions do not refute %v with %d passes, want %d", c.n, c.floor, got, c.notRefuted)
		}
	}
	for _, conf := range []float64{0, 0.5, 1, math.NaN()} {
		if a, b := stats.RequiredProven(10, 0.9, conf), stats.RequiredNotRefuted(10, 0.9, conf); a != -1 || b != -1 {
			t.Errorf("confidence %v: got %d and %d", conf, a, b)
		}
	}
}

// TestRequiredOrder checks that a proven floor is reached and that a reached one is not refuted.
func TestRequiredOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "n")
		floor := float64(rapid.IntRange(0, 1000).Draw(t, "milli")) / 1000
		not, point, proven := stats.RequiredNotRefuted(n, floor, 0.95), stats.Required(n, floor), stats.RequiredProven(n, floor, 0.95)
		if not > point || point > proven {
			t.Errorf("n %d, floor %v: %d, %d, %d", n, floor, not, point, proven)
		}
		for k := range n + 1 {
			if got := stats.ExactLower(k, n, 0.95) >= floor; got != (k >= proven) {
				t.Errorf("n %d, floor %v: %d passes prove it: %v", n, floor, k, got)
			}
			if got := 1-stats.ExactLower(n-k, n, 0.95) >= floor-1e-12; got != (k >= not) && floor > 0 {
				t.Errorf("n %d, floor %v: %d passes do not refute it: %v", n, floor, k, got)
			}
		}
	})
}

// TestAtLeast compares the tail with the sum of its terms.
func TestAtLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		required := rapid.IntRange(-1, n+1).Draw(t, "required")
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		want := 0.0
		for k := max(0, required); k <= n; k++ {
			lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
			want += math.Exp(lg(n)-lg(k)-lg(n-k)) * math.Pow(p, float64(k)) * math.Pow(1-p, float64(n-k))
		}
		if got := stats.AtLeast(required, n, p); math.Abs(got-want) > 1e-9 {
			t.Errorf("P(X >= %d) of %d at %v is %v, want %v", required, n, p, got, want)
		}
	})
	for _, got := range []float64{stats.AtLeast(1, 0, 0.5), stats.AtLeast(1, 2, -0.1), stats.AtLeast(1, 2, math.NaN())} {
		if !math.IsNaN(got) {
			t.Errorf("got %v", got)
		}
	}
}

// TestProportionSize checks the formula without chance: with that many questions, the exact power
// of the test that proves a floor is about what was asked for.
func TestProportionSize(t *testing.T) {
	for _, c := range []struct{ p, floor, want float64 }{
		{0.95, 0.9, 202.78}, {0.85, 0.9, 271.79}, {0.8, 0.9, 78.59}, {1, 0.9, 33.61},
	} {
		got := stats.ProportionSize(c.p, c.floor, 0.05, 0.8)
		if math.Abs(got-c.want) > 0.1 {
			t.Errorf("%v against %v: %v, want %v", c.p, c.floor, got, c.want)
		}
		n := int(math.Ceil(got))
		power := stats.AtLeast(stats.RequiredProven(n, c.floor, 0.95), n, c.p)
		if c.p < c.floor {
			power = 1 - stats.AtLeast(stats.RequiredNotRefuted(n, c.floor, 0.95), n, c.p)
		}
		if power < 0.75 || power > 0.88 && c.p < 1 {
			t.Errorf("%d questions show %v against %v with power %v", n, c.p, c.floor, power)
		}
	}
	if got := stats.ProportionSize(0.9, 0.9, 0.05, 0.8); !math.IsInf(got, 1) {
		t.Errorf("got %v", got)
	}
	for _, got := range []float64{
		stats.ProportionSize(1.1, 0.9, 0.05, 0.8), stats.ProportionSize(0.8, -1, 0.05, 0.8),
		stats.ProportionSize(0.8, 0.9, 0, 0.8), stats.ProportionSize(0.8, 0.9, 0.05, 1),
	} {
		if !math.IsNaN(got) {
			t.Errorf("got %v", got)
		}
	}
}

// TestProofIsRarelyWrong checks that for every size a rate at the floor is refuted, and one just
// below it proven, in at most 5 % of runs. Score bounds do so in up to 19 %.
func TestProofIsRarelyWrong(t *testing.T) {
	for _, floor := range []float64{0.1, 0.5, 0.8, 0.9, 0.97} {
		for n := 1; n <= 120; n++ {
			if p := stats.AtLeast(stats.RequiredProven(n, floor, 0.95), n, floor); p > 0.05+1e-9 {
				t.Errorf("a rate just below %v is proven to reach it in %v of runs of %d", floor, p, n)
			}
			if p := 1 - stats.AtLeast(stats.RequiredNotRefuted(n, floor, 0.95), n, floor); p > 0.05+1e-9 {
				t.Errorf("a rate of %v is refuted in %v of runs of %d", floor, p, n)
			}
		}
	}
}
