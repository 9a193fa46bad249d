package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestStudent compares Student's t distribution with its closed forms for 1, 2 and 4 degrees of
// freedom, and inverts it.
func TestStudent(t *testing.T) {
	closed := map[float64]func(t float64) float64{
		1: func(t float64) float64 { return 0.5 + math.Atan(t)/math.Pi },
		2: func(t float64) float64 { return 0.5 + t/(2*math.Sqrt(2+t*t)) },
		4: func(t float64) float64 {
			x := t / math.Sqrt(4+t*t)
			return 0.5 + x*(3-x*x)/4
		},
	}
	for df, want := range closed {
		for _, x := range []float64{-30, -4.5, -1, -0.2, 0, 0.2, 1, 4.5, 30} {
			expect(t, fmt.Sprintf("CDF of %v with %v degrees", x, df), StudentCDF(x, df), want(x), 1e-14)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		df := rapid.Float64Range(0.5, 1000).Draw(t, "df")
		p := rapid.Float64Range(1e-6, 1-1e-6).Draw(t, "p")
		if got := StudentCDF(StudentQuantile(p, df), df); math.Abs(got-p) > 1e-9 {
			t.Errorf("the quantile of %v with %v degrees has the probability %v", p, df, got)
		}
	})
	expect(t, "quantile of 1", StudentQuantile(1, 3), math.Inf(1), 0)
	expect(t, "quantile of 1/2", StudentQuantile(0.5, 3), 0, 0)
}

// TestNormal compares the normal distribution with values of a table, and inverts it.
func TestNormal(t *testing.T) {
	expect(t, "CDF of 1.96", NormalCDF(1.96), 0.9750021048517795, 1e-15)
	expect(t, "CDF of -6", NormalCDF(-6), 9.865876450376981e-10, 1e-23)
	expect(t, "quantile of .975", NormalQuantile(0.975), 1.959963984540054, 1e-14)
	for p := 0.001; p < 1; p += 0.001 {
		expect(t, "inverse", NormalCDF(NormalQuantile(p)), p, 1e-12)
	}
}

// binomial returns the probability of exactly k successes in n trials.
func binomial(k, n int, p float64) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(a - b - c + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

func TestBinomialCDF(t *testing.T) {
	for _, n := range []int{1, 7, 200} {
		for _, p := range []float64{0.01, 0.3, 0.5, 0.9} {
			sum := 0.0
			for k := range n {
				sum += binomial(k, n, p)
				expect(t, fmt.Sprintf("%d of %d at %v", k, n, p), binomialCDF(k, n, p), sum, 1e-12)
			}
		}
	}
}

// TestDrawBinomial compares drawn numbers of successes with their probabilities: the chi-square
// statistic of each seed has the distribution that it should have.
func TestDrawBinomial(t *testing.T) {
	const draws = 20_000
	for _, c := range []struct {
		n int
		p float64
	}{{1, 0.3}, {5, 0.5}, {63, 0.02}, {64, 0.9}, {200, 1.0 / 3}, {1000, 0.997}} {
		counts := make([]int, c.n+1)
		random := rand.NewPCG(1, uint64(c.n))
		for range draws {
			counts[drawBinomial(c.n, c.p, random)]++
		}
		chi2, cells, rare, expected := 0.0, 0, 0, 0.0 // what is rare counts as one cell
		for k, n := range counts {
			if want := draws * binomial(k, c.n, c.p); want >= 5 {
				chi2 += (float64(n) - want) * (float64(n) - want) / want
				cells++
			} else {
				rare, expected = rare+n, expected+want
			}
		}
		if expected > 0 {
			chi2 += (float64(rare) - expected) * (float64(rare) - expected) / max(expected, 1)
			cells++
		}
		df := float64(cells - 1)
		if z := (chi2 - df) / math.Sqrt(2*df); z > 4.5 {
			t.Errorf("%d trials with %v: chi2 %.1f with %.0f degrees", c.n, c.p, chi2, df)
		}
	}
}
