package record

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/internal/longtest"
)

// drawnLoad is a load whose latencies are drawn, block by block.
type drawnLoad struct {
	name string
	// level returns how many times as long everything takes in each of so many blocks.
	level func(random *rand.Rand, blocks int) []float64
	// latencies returns what follows each other in all blocks, in milliseconds, for a level of 1.
	latencies func(random *rand.Rand, n int) []float64
	// stalls reports whether the first third of a block's requests waits for the end of a second.
	stalls func(random *rand.Rand, block, first int) bool
	// hidden is set if noise hides from forty blocks how alike they are.
	hidden bool
}

// walk returns logarithms around 0 with a standard deviation and a correlation of neighbours.
func walk(correlation, deviation float64) func(*rand.Rand, int) []float64 {
	return func(random *rand.Rand, n int) []float64 {
		x, out := random.NormFloat64(), make([]float64, n)
		for i := range out {
			out[i] = math.Exp(deviation * x)
			x = correlation*x + math.Sqrt(1-correlation*correlation)*random.NormFloat64()
		}
		return out
	}
}

// noisy returns the levels of a walk, each with independent noise as large as the walk's deviation.
func noisy(correlation, deviation float64) func(*rand.Rand, int) []float64 {
	return func(random *rand.Rand, n int) []float64 {
		out := walk(correlation, deviation)(random, n)
		for i := range out {
			out[i] *= math.Exp(deviation * random.NormFloat64())
		}
		return out
	}
}

// each draws latencies independently.
func each(draw func(*rand.Rand) float64) func(*rand.Rand, int) []float64 {
	return func(random *rand.Rand, n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = draw(random)
		}
		return out
	}
}

var loads = []drawnLoad{
	{name: "independent"},
	{name: "heavy tails: Pareto with exponent 1.5", latencies: each(heavy)},
	{name: "blocks differ by 30 %", level: walk(0, 0.3)},
	{name: "blocks differ by 30 %, correlated by 0.5", level: walk(0.5, 0.3)},
	{name: "blocks differ by 30 %, correlated by 0.8", level: walk(0.8, 0.3)},
	{name: "blocks differ by 30 %, correlated by 0.95", level: walk(0.95, 0.3)},
	{name: "blocks differ by 30 %, correlated by 0.9, and as much by noise", level: noisy(0.9, 0.3), hidden: true},
	{name: "requests correlated by 0.99", latencies: walk(0.99, 0.5)},
	{name: "requests correlated by 0.999", latencies: walk(0.999, 0.5)},
	{name: "a stall in each tenth block by chance", stalls: func(random *rand.Rand, _, _ int) bool { return random.IntN(10) == 0 }},
	{name: "a stall in every tenth block", stalls: func(_ *rand.Rand, block, first int) bool { return block%10 == first }},
}

// requestsOfBlock is the number of requests of each simulated block.
const requestsOfBlock = 200

// draw calls add with the latencies of so many blocks.
func (l drawnLoad) draw(random *rand.Rand, blocks int, add func(block int, ns int64)) {
	levels, latencies := walk(0, 0.05)(random, blocks), each(exponential)
	if l.level != nil {
		levels = l.level(random, blocks)
	}
	if l.latencies != nil {
		latencies = l.latencies
	}
	drawn, first := latencies(random, blocks*requestsOfBlock), random.IntN(10)
	for i := range blocks {
		stall := l.stalls != nil && l.stalls(random, i, first)
		for j := range requestsOfBlock {
			ms := drawn[i*requestsOfBlock+j] * levels[i]
			if stall && j < requestsOfBlock/3 {
				ms += 1000 * (1 - 3*float64(j)/requestsOfBlock)
			}
			add(i, int64(ms*float64(time.Millisecond)))
		}
	}
}

// coverage is how often an interval is shown, and how often it then misses the quantile of the long run.
type coverage struct{ runs, shown, missed int }

func (c coverage) String() string {
	percent := func(n int) float64 { return 100 * float64(n) / float64(c.runs) }
	return fmt.Sprintf("%.0f %% (%.0f %%)", percent(c.missed), percent(c.shown))
}

// covered draws benches of so many blocks.
func (l drawnLoad) covered(runs, blocks int, truth []float64) []coverage {
	out := make([]coverage, len(quantiles))
	for seed := range uint64(runs) {
		hs := make([]*Histogram, blocks)
		for i := range hs {
			hs[i] = NewHistogram()
		}
		l.draw(rand.New(rand.NewPCG(seed, 13)), blocks, func(block int, ns int64) { hs[block].Add(ns) })
		times := timesOf(hs, make([]int64, blocks))
		for i, q := range times.list() {
			out[i].runs++
			if q == nil || q.Low == nil {
				continue
			}
			out[i].shown++
			if truth[i] < *q.Low || q.High != nil && *q.High < truth[i] {
				out[i].missed++
			}
		}
	}
	return out
}

// documented prints a row of docs/dev/simulations.md. A long test fails if the page does not have it.
func documented(t *testing.T, row string) {
	t.Helper()
	t.Log(row)
	if !longtest.On() {
		return
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "dev", "simulations.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), row) {
		t.Errorf("docs/dev/simulations.md does not have the row (change internal/stats/testdata/simulations.md.tmpl)\n%s", row)
	}
}

// TestCoverage counts how often the interval of a quantile misses the quantile of the long run. The
// short test has the loads of which single blocks say little.
func TestCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	runs := longtest.Rounds(20, 200)
	for i, l := range loads {
		if !longtest.On() && (l.level == nil && l.stalls == nil || i%2 == 0) {
			continue
		}
		sum, truth := NewHistogram(), make([]float64, len(quantiles))
		for seed := range uint64(longtest.Rounds(20, 200)) {
			l.draw(rand.New(rand.NewPCG(seed, 14)), 200, func(_ int, ns int64) { sum.Add(ns) })
		}
		for i, p := range quantiles {
			truth[i] = milliseconds(sum.Quantile(p))
		}
		found := l.covered(runs, fewestOfQuantile, truth)
		documented(t, fmt.Sprintf("| %s | %d | %v | %v | %v |", l.name, fewestOfQuantile, found[0], found[1], found[2]))
		for i, c := range found[:3] {
			// 0.1, and three standard errors.
			if most := 0.1 + 3*math.Sqrt(0.09/float64(runs)); !l.hidden && float64(c.missed) > most*float64(runs) {
				t.Errorf("%s: the interval of quantile %v misses in %v", l.name, quantiles[i], c)
			}
		}
	}
}
