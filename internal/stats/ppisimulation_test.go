package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"evalctl/internal/longtest"
)

// labelling is a way to draw labels from answers whose strata differ in their rates, or do not.
type labelling struct {
	items, labels int
	// strata are as large as each other. drawn says whether labels are drawn from each by its share.
	strata int
	drawn  bool
	// known further items are certainly wrong.
	known int
	// Rates of the strata are from low to high, evenly.
	low, high            float64
	falsePass, falseFail float64
}

// rate returns the rate of a stratum.
func (l labelling) rate(stratum int) float64 {
	if l.strata == 1 {
		return (l.low + l.high) / 2
	}
	return l.low + (l.high-l.low)*float64(stratum)/float64(l.strata-1)
}

// draw returns the answers with their labels, and the rate.
func (l labelling) draw(random *rand.Rand) (items []JudgedItem, rate float64) {
	items = make([]JudgedItem, l.items)
	truth := make([]float64, l.items)
	members := make([][]int, l.strata)
	for i := range items {
		s := i % l.strata
		members[s] = append(members[s], i)
		rate += l.rate(s) / float64(l.items)
		truth[i] = bit(random, l.rate(s))
		items[i] = JudgedItem{Judge: bit(random, l.falsePass), Label: math.NaN(), Cluster: i}
		if truth[i] == 1 {
			items[i].Judge = 1 - bit(random, l.falseFail)
		}
		if l.drawn {
			items[i].Stratum = s
		}
	}
	if !l.drawn {
		members = [][]int{random.Perm(l.items)}
	}
	for s, m := range members {
		random.Shuffle(len(m), func(i, j int) { m[i], m[j] = m[j], m[i] })
		n := l.labels / len(members)
		if s < l.labels%len(members) {
			n++
		}
		for _, i := range m[:n] {
			items[i].Label = truth[i]
		}
	}
	for range l.known {
		items = append(items, JudgedItem{Stratum: len(members), Cluster: len(items)})
	}
	return items, rate * float64(l.items) / float64(len(items))
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

// TestSimulatedLabels prints the tables of docs/dev/simulations.md, section "Labels of a judge".
// Intervals of stratified labels cover the rate, and are not wider than those of a random draw of as
// many labels. With fewer than two labels a stratum, some strata have one and others two, which costs a
// tenth of the labels.
func TestSimulatedLabels(t *testing.T) {
	rounds := longtest.Rounds(300, 4000)
	random := rand.New(rand.NewPCG(34, 1))
	var table strings.Builder
	table.WriteString("| rates of the strata | judge errs | labels | random | 4 strata | 30 strata |\n|---|---|---|---|---|---|\n")
	for _, rates := range [][2]float64{{.7, .7}, {.05, .95}, {.9, 1}} {
		for _, judge := range [][2]float64{{.05, .05}, {.2, .1}, {.4, .4}} {
			for _, labels := range []int{40, 60, 120} {
				fmt.Fprintf(&table, "| %g to %g | %.0f/%.0f %% | %d |", rates[0], rates[1], 100*judge[0], 100*judge[1], labels)
				alone := 0.0
				for _, strata := range []int{1, 4, 30} {
					l := labelling{1000, labels, strata, strata > 1, 0, rates[0], rates[1], judge[0], judge[1]}
					if strata == 1 {
						l.strata = 30
					}
					covered, width, sd := l.simulate(t, random, rounds)
					fmt.Fprintf(&table, " %.3f ± %.3f, %.1f %% |", width, sd, 100*covered)
					most := 1.03
					if labels < 2*strata {
						most = 1.13
					}
					if limit := 4 * math.Sqrt(.95*.05/float64(rounds)); covered < .945-limit {
						t.Errorf("%+v: covered in %.3f", l, covered)
					}
					if alone == 0 {
						alone = width
					} else if width > most*alone {
						t.Errorf("%+v: %.3f wide, by a random draw %.3f", l, width, alone)
					}
				}
				table.WriteString("\n")
			}
		}
	}
	t.Logf("widths, errors of the estimate and coverage:\n%s", table.String())
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
				l := labelling{4000, n, 1, false, of.known, rate, rate, errs, errs}
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
