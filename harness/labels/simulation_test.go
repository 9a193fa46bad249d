package labels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"evalctl/internal/longtest"
	"evalctl/internal/stats"
)

// field has 1000 answers of several kinds, whose rates differ or do not.
type field struct {
	sizes     []int
	rates     []float64
	judgeErrs float64
}

// evenly returns n kinds of one size, but for rounding. Their rates go evenly from low to high. What
// is merged is independent of that.
func evenly(n int, low, high float64) field {
	f := field{judgeErrs: .1, sizes: make([]int, n), rates: make([]float64, n)}
	for i, at := range rand.New(rand.NewPCG(36, 1)).Perm(n) {
		f.rates[i] = low + (high-low)*float64(at)/float64(n-1)
	}
	for i := range 1000 {
		f.sizes[i%n]++
	}
	return f
}

// sample has the strata of the kinds, and how many of the first labels each gets.
type sample struct {
	strata, labels []int
}

func (f field) sample(design Sample, labels int) sample {
	p := &Population{Design: Design{Sample: design}}
	for k, size := range f.sizes {
		stratum := k
		if design == Random {
			stratum = 0
		}
		if stratum == len(p.Strata) {
			p.Strata = append(p.Strata, Stratum{Name: fmt.Sprint(k)})
		}
		for range size {
			p.Answers = append(p.Answers, Answer{ID: fmt.Sprint(len(p.Answers)), kind: fmt.Sprint(k), stratum: stratum})
		}
		p.Strata[stratum].Answers += size
	}
	if design == Stratified {
		p.merge()
	}
	s := sample{make([]int, len(f.sizes)), make([]int, len(p.Strata))}
	at := 0
	for k, size := range f.sizes {
		s.strata[k] = p.Answers[at].stratum
		at += size
	}
	p.draw()
	for _, a := range p.Answers[:labels] {
		s.labels[a.stratum]++
	}
	return s
}

// answers returns simulated answers in random order, with their kinds and whether they are right.
func (f field) answers(random *rand.Rand) (items []stats.JudgedItem, kinds []int, right []float64) {
	bit := func(p float64) float64 {
		if random.Float64() < p {
			return 1
		}
		return 0
	}
	for k, size := range f.sizes {
		for range size {
			y := bit(f.rates[k])
			right, kinds = append(right, y), append(kinds, k)
			items = append(items, stats.JudgedItem{Judge: math.Abs(y - bit(f.judgeErrs)), Cluster: len(items)})
		}
	}
	random.Shuffle(len(items), func(i, j int) {
		items[i].Judge, items[j].Judge = items[j].Judge, items[i].Judge
		kinds[i], kinds[j] = kinds[j], kinds[i]
		right[i], right[j] = right[j], right[i]
	})
	return items, kinds, right
}

// estimate labels answers, whose order is random, and estimates their rate.
func (s sample) estimate(items []stats.JudgedItem, kinds []int, right []float64) (stats.PPIEstimate, bool) {
	taken := make([]int, len(s.labels))
	for i := range items {
		it := &items[i]
		it.Stratum, it.Label = s.strata[kinds[i]], math.NaN()
		if taken[it.Stratum] < s.labels[it.Stratum] {
			taken[it.Stratum]++
			it.Label = right[i]
		}
	}
	return stats.PPIRate(items, true, confidence)
}

// TestSimulatedLabels prints the first table of docs/dev/simulations.md, section "Labels of a
// judge". The intervals cover the rate, and those of stratified labels are not wider than those of a
// random draw of as many.
func TestSimulatedLabels(t *testing.T) {
	rounds := longtest.Rounds(200, 4000)
	random := rand.New(rand.NewPCG(34, 1))
	var table strings.Builder
	table.WriteString("| rates | labels | random | 4 types | 10 types | 30 types |\n|---|---|---|---|---|---|\n")
	for _, rates := range [][2]float64{{.5, .5}, {.8, .8}, {.95, .95}, {.05, .95}, {.6, 1}, {.9, 1}} {
		for _, labels := range []int{20, 40, 60, 100} {
			fmt.Fprintf(&table, "| %g to %g | %d |", rates[0], rates[1], labels)
			for _, kinds := range []int{4, 10, 30} {
				f := evenly(kinds, rates[0], rates[1])
				drawn, strata := compareDraws(t, f, labels, rounds, random)
				if kinds == 4 {
					fmt.Fprintf(&table, " %s |", drawn)
				}
				fmt.Fprintf(&table, " %s |", strata)
				for _, got := range []*draws{drawn, strata} {
					if limit := 4 * math.Sqrt(.95*.05/float64(rounds)); got.covered < .94-limit {
						t.Errorf("%d kinds, rates %v, %d labels: covered in %.3f", len(f.sizes), rates, labels, got.covered)
					}
				}
				if wider := strata.width - drawn.width; wider > .005*drawn.width+4*strata.widerSE {
					t.Errorf("%d kinds, rates %v, %d labels: %.4f wide, %.4f at random", len(f.sizes), rates, labels, strata.width, drawn.width)
				}
			}
			table.WriteString("\n")
		}
	}
	t.Logf("widths, errors of the estimate and coverage:\n%s", table.String())
}

// draws is what simulated draws of one design have in common.
type draws struct {
	width, covered, square float64
	// widerSE is the standard error of how much wider the intervals are than at random.
	widerSE float64
}

func (d *draws) String() string {
	return fmt.Sprintf("%.3f ± %.3f, %.1f %%", d.width, math.Sqrt(d.square), 100*d.covered)
}

// compareDraws simulates labels that are drawn at random and by kind, from the same answers.
func compareDraws(t *testing.T, f field, labels, rounds int, random *rand.Rand) (drawn, strata *draws) {
	t.Helper()
	rate := 0.0
	for k, size := range f.sizes {
		rate += float64(size) * f.rates[k] / 1000
	}
	samples := []sample{f.sample(Random, labels), f.sample(Stratified, labels)}
	both := []*draws{{}, {}}
	wider := make([]float64, rounds)
	for round := range rounds {
		items, kinds, right := f.answers(random)
		for i, s := range samples {
			e, ok := s.estimate(items, kinds, right)
			if !ok {
				t.Fatalf("%d kinds, %d labels: no estimate", len(f.sizes), labels)
			}
			d := both[i]
			d.width += (e.Hi - e.Lo) / float64(rounds)
			d.square += (e.Mean - rate) * (e.Mean - rate) / float64(rounds)
			if e.Lo <= rate && rate <= e.Hi {
				d.covered += 1 / float64(rounds)
			}
			wider[round] = e.Hi - e.Lo - wider[round]
		}
	}
	_, variance := stats.Moments(wider)
	both[1].widerSE = math.Sqrt(variance / float64(rounds))
	return both[0], both[1]
}
