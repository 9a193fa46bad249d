package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"evalctl/internal/longtest"
)

// labelling is labels of some answers, drawn at random.
type labelling struct {
	items, labels              int
	rate, falsePass, falseFail float64
	// known further items are certainly wrong.
	known int
}

// draw returns the answers with their labels, and the rate.
func (l labelling) draw(random *rand.Rand) (items []JudgedItem, rate float64) {
	items = make([]JudgedItem, l.items, l.items+l.known)
	for i := range items {
		truth := bit(random, l.rate)
		items[i] = JudgedItem{Judge: bit(random, l.falsePass), Label: math.NaN(), Cluster: i}
		if truth == 1 {
			items[i].Judge = 1 - bit(random, l.falseFail)
		}
		if i < l.labels {
			items[i].Label = truth
		}
	}
	for range l.known {
		items = append(items, JudgedItem{Stratum: 1, Cluster: len(items)})
	}
	return items, l.rate * float64(l.items) / float64(len(items))
}

// simulate returns the coverage, the mean width and the error of the estimate.
func (l labelling) simulate(t *testing.T, random *rand.Rand, rounds int) (covered, width, sd float64) {
	t.Helper()
	for range rounds {
		items, rate := l.draw(random)
		e, ok := PPIRate(items, true, .95)
		if !ok {
			t.Fatalf("%+v: no estimate", l)
		}
		covered += number(e.Lo <= rate && rate <= e.Hi) / float64(rounds)
		width += (e.Hi - e.Lo) / float64(rounds)
		sd += (e.Mean - rate) * (e.Mean - rate) / float64(rounds)
	}
	return covered, width, math.Sqrt(sd)
}

// TestSimulatedPlans: with as many labels as a plan says, the interval is as wide as it says.
func TestSimulatedPlans(t *testing.T) {
	rounds := longtest.Rounds(60, 1000)
	random := rand.New(rand.NewPCG(35, 1))
	var table strings.Builder
	table.WriteString("| rate | without an answer | judge errs | asked | labels | width |\n|---|---|---|---|---|---|\n")
	for _, of := range []struct {
		rate  float64
		known int
	}{{.5, 0}, {.8, 0}, {.95, 0}, {.8, 2000}} {
		rate := of.rate
		for _, errs := range []float64{0, .02, .05, .1, .2, .3} {
			for _, width := range []float64{.05, .1, .15} {
				d := PPIDesign{Items: 4000 + of.known, Known: of.known, Rate: rate, Effect: 1}
				d.Correlation, d.Judged = JudgeCorrelation(rate, 1-errs, 1-errs)
				n, ok := d.Labels(width, .95)
				if !ok {
					t.Fatalf("%+v: no plan for %v", d, width)
				}
				l := labelling{4000, n, rate, errs, errs, of.known}
				_, got, _ := l.simulate(t, random, rounds)
				fmt.Fprintf(&table, "| %g | %d | %.0f %% | %.2f | %d | %.3f |\n", rate, of.known, 100*errs, width, n, got)
				if got > 1.03*width || n > 20 && got < .9*width {
					t.Errorf("rate %v, judge errs in %v: %d labels give %.4f, asked for %v", rate, errs, n, got, width)
				}
			}
		}
	}
	t.Logf("planned labels and simulated widths:\n%s", table.String())
}
