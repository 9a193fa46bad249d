package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// scores returns n values like the latencies of a run: positive and skewed.
func scores(n int, seed uint64) []float64 {
	random := rand.New(rand.NewPCG(seed, 0))
	values := make([]float64, n)
	for i := range values {
		values[i] = math.Exp(random.NormFloat64())
	}
	return values
}

// The sizes of a comparison of large runs: 10,000 questions, 10,000 resamples.
const benchQuestions, benchResamples = 10_000, 10_000

func BenchmarkBootstrap(b *testing.B) {
	values := scores(benchQuestions, 1)
	for b.Loop() {
		Bootstrap(values, nil, benchResamples, 1, .95)
	}
}

// BenchmarkBootstrapFewValues has scores that are 0, 0.1 … 1.
func BenchmarkBootstrapFewValues(b *testing.B) {
	values := make([]float64, benchQuestions)
	for i := range values {
		values[i] = float64(i%11) / 10
	}
	for b.Loop() {
		Bootstrap(values, nil, benchResamples, 1, .95)
	}
}

// BenchmarkBootstrapClusters has clusters of ten.
func BenchmarkBootstrapClusters(b *testing.B) {
	values, cluster := scores(benchQuestions, 1), make([]int, benchQuestions)
	for i := range cluster {
		cluster[i] = i / 10
	}
	for b.Loop() {
		Bootstrap(values, cluster, benchResamples, 1, .95)
	}
}

func BenchmarkBCa(b *testing.B) {
	values := scores(benchQuestions, 1)
	for b.Loop() {
		BCa(values, benchResamples, 1, .95)
	}
}

func BenchmarkSignFlip(b *testing.B) {
	d := scores(benchQuestions, 1)
	for i, v := range scores(benchQuestions, 2) {
		d[i] -= v
	}
	for b.Loop() {
		SignFlip(d, benchResamples, 1)
	}
}

func BenchmarkSignFlipExact(b *testing.B) {
	d := scores(signFlipExact, 1)
	for b.Loop() {
		SignFlip(d, 0, 1)
	}
}

func BenchmarkQuantileCI(b *testing.B) {
	for _, n := range []int{50, 10_000, 10_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				QuantileCI(n, .95, .95)
			}
		})
	}
}
