package record

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"evalctl/internal/longtest"
)

// grown is how a latency grows with the number of documents.
type grown struct {
	name     string
	of       func(n float64) float64
	exponent float64
	constant float64 // 0 for none
	steps    bool
}

var growths = []grown{
	{"5", func(float64) float64 { return 5 }, 0, 0, false},
	{"0.1·n^0.5", func(n float64) float64 { return 0.1 * math.Sqrt(n) }, 0.5, 0, false},
	{"0.001·n", func(n float64) float64 { return 0.001 * n }, 1, 0, false},
	{"5 + 0.001·n", func(n float64) float64 { return 5 + 0.001*n }, 1, 5, false},
	{"5 + 0.01·n^0.7", func(n float64) float64 { return 5 + 0.01*math.Pow(n, 0.7) }, 0.7, 5, false},
	{"20 - 19·1000/n", func(n float64) float64 { return 20 - 19000/n }, 0, 0, true},
	{"5, and 50 from 8,000 on", func(n float64) float64 {
		if n < 8000 {
			return 5
		}
		return 50
	}, 0, 0, true},
}

// grow returns the growth over rounds that differ by 5 %, with an error of as much for each value.
func (g grown) grow(seed uint64, sizes []int, rounds int) Growth {
	random := rand.New(rand.NewPCG(seed, 15))
	f := &File{Plan: Plan{Arrival: Constant, Stages: []Stage{{From: 10, To: 10}}, Sizes: sizes, Rounds: rounds}, Targets: []Target{{Name: "a"}}}
	for round := range rounds {
		machine := math.Exp(0.05 * random.NormFloat64())
		for _, n := range sizes {
			f.Blocks = append(f.Blocks, blockOf(0, n, round, around(random, g.of(float64(n))*machine*math.Exp(0.05*random.NormFloat64()), 50)...))
		}
	}
	f.grow()
	return f.Growth[0] // of p50
}

// TestShape has latencies that grow as a power, besides a constant, and otherwise. It counts how often
// each is found.
func TestShape(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	runs := longtest.Rounds(20, 300)
	for _, sizes := range [][]int{{1000, 10_000, 100_000}, {1000, 5000, 20_000, 100_000}} {
		for _, g := range growths {
			power, constant, steps, covered := 0, 0, 0, 0
			for seed := range uint64(runs) {
				found := g.grow(seed, sizes, 20)
				switch {
				case found.Steps != nil:
					steps++
				case found.Constant != nil:
					constant++
				default:
					power++
				}
				if found.Low != nil && *found.Low <= g.exponent && g.exponent <= *found.High {
					covered++
				}
			}
			documented(t, fmt.Sprintf("| %s | %d | %d %% | %d %% | %d %% | %d %% |",
				g.name, len(sizes), 100*power/runs, 100*constant/runs, 100*steps/runs, 100*covered/runs))
			right := power
			switch {
			case g.steps:
				right = steps
			case g.constant > 0:
				right = constant
			}
			if right < 95*runs/100 || !g.steps && covered < 85*runs/100 {
				t.Errorf("%s at %d sizes: right in %d of %d, and its exponent covered in %d", g.name, len(sizes), right, runs, covered)
			}
		}
	}
}

// What was measured once has no rounds that say how much of a bend is chance.
func TestShapeOfOneRound(t *testing.T) {
	for _, c := range []struct {
		values   []float64
		constant bool
		steps    bool
	}{
		{[]float64{1e6, 1e7, 1e8}, false, false},
		{[]float64{1e6, 1.1e7, 0.98e8}, false, false},
		{[]float64{20e6 + 1e6, 20e6 + 1e7, 20e6 + 1e8}, true, false},
		{[]float64{1e6, 9e7, 1e8}, false, true},
	} {
		g := Growth{Sizes: []int{1000, 10_000, 100_000}, Values: c.values}
		var ys []float64
		for _, v := range c.values {
			ys = append(ys, math.Log(v))
		}
		g.shape([][]float64{ys})
		if g.Constant != nil != c.constant || g.Steps != nil != c.steps || c.constant && math.Abs(g.Exponent-1) > 0.01 {
			t.Errorf("%v: %+v", c.values, g)
		}
	}
}
