package stats

import (
	"fmt"
	"math"
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

func TestPassAtK(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		n, c, k int
		at, hat float64
	}{
		{5, 2, 1, .4, .4}, {5, 2, 2, .7, .1}, {10, 3, 5, .916667, 0}, {10, 9, 4, 1, .6}, {4, 4, 2, 1, 1}, {5, 0, 3, 0, 0},
		{1, 1, 1, 1, 1}, {5, 2, 6, nan, nan}, {5, 2, 0, nan, nan}, {5, 6, 1, nan, nan}, {5, -1, 1, nan, nan}, {0, 0, 0, nan, nan},
	} {
		expect(t, fmt.Sprintf("pass@k of %v", c), PassAtK(c.n, c.c, c.k), c.at, 5.1e-7)
		expect(t, fmt.Sprintf("pass^k of %v", c), PassHatK(c.n, c.c, c.k), c.hat, 5.1e-7)
	}
}

func TestPassAtKVectors(t *testing.T) {
	for _, v := range shared[struct {
		N, C, K int
		At      float64 `json:"pass_at_k"`
		Hat     float64 `json:"pass_hat_k"`
	}](t, "pass_at_k") {
		expect(t, fmt.Sprintf("pass@k of %+v", v), PassAtK(v.N, v.C, v.K), v.At, 1e-14)
		expect(t, fmt.Sprintf("pass^k of %+v", v), PassHatK(v.N, v.C, v.K), v.Hat, 1e-14)
	}
}

// The probabilities are the shares of the subsets of k attempts that have a pass, and only passes.
func TestPassAtKCountsSubsets(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for c := 0; c <= n; c++ {
			passes := uint(1)<<c - 1
			subsets, some, all := make([]float64, n+1), make([]float64, n+1), make([]float64, n+1)
			for s := range uint(1) << n {
				k := bits.OnesCount(s)
				subsets[k]++
				if s&passes != 0 {
					some[k]++
				}
				if s&^passes == 0 {
					all[k]++
				}
			}
			for k := 1; k <= n; k++ {
				expect(t, fmt.Sprintf("pass@%d of %d in %d", k, c, n), PassAtK(n, c, k), some[k]/subsets[k], 1e-14)
				expect(t, fmt.Sprintf("pass^%d of %d in %d", k, c, n), PassHatK(n, c, k), all[k]/subsets[k], 1e-14)
			}
		}
	}
}

func TestVarianceSplit(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name          string
		scores        [][]float64
		question, run float64
	}{
		// Means 1, 0, 1/2; squares within 0, 0, 1/2 of 3 degrees; between 1 of 2.
		{"by hand", [][]float64{{1, 1}, {0, 0}, {1, 0}}, 1. / 6, 1. / 6},
		{"only questions differ", [][]float64{{1, 1}, {0, 0}}, .5, 0},
		{"only runs differ", [][]float64{{1, 0}, {0, 1}}, 0, .5}, // would be -1/4
		// Means 2, 4, n0 = (3-5/3)/1 = 4/3; within 2 of 1 degree, between 2·(2-8/3)²+(4-8/3)² = 8/3.
		{"unequal runs", [][]float64{{1, 3}, {4}}, .5, 2},
		{"questions without a score do not count", [][]float64{{1, 1}, nil, {0, 0}}, .5, 0},
		{"one question", [][]float64{{1, 0, 1}}, nan, nan},
		{"one run each", [][]float64{{1}, {0}, {1}}, nan, nan},
		{"none", nil, nan, nan},
	} {
		question, run := VarianceSplit(c.scores)
		expect(t, c.name+": question", question, c.question, 1e-14)
		expect(t, c.name+": run", run, c.run, 1e-14)
	}
}

// For binary scores the two parts add up to the variance of all scores as the sample grows, and a
// shift of all scores changes neither.
func TestVarianceSplitProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.SliceOfN(rapid.Float64Range(0, 1), 0, 6), 2, 20).Draw(t, "scores")
		question, run := VarianceSplit(scores)
		shifted := make([][]float64, len(scores))
		for i, s := range scores {
			for _, v := range s {
				shifted[i] = append(shifted[i], v+5)
			}
		}
		q2, r2 := VarianceSplit(shifted)
		if !same(question, q2, 1e-9) || !same(run, r2, 1e-9) || question < 0 || run < 0 {
			t.Fatalf("%v, %v; shifted %v, %v", question, run, q2, r2)
		}
	})
}
