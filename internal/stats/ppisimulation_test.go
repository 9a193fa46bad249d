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
	// clusters of one size have rates that differ by up to differ either way, 0 for independent items.
	clusters int
	differ   float64
}

// draw returns the answers with their labels, and the rate.
func (l labelling) draw(random *rand.Rand) (items []JudgedItem, rate float64) {
	items = make([]JudgedItem, l.items, l.items+l.known)
	rates := make([]float64, l.clusters)
	for c := range rates {
		rates[c] = l.rate + l.differ*(2*random.Float64()-1)
	}
	labelled := random.Perm(l.items)
	for i := range items {
		cluster, rate := i, l.rate
		if l.clusters > 0 {
			cluster = i % l.clusters
			rate = rates[cluster]
		}
		truth := bit(random, rate)
		items[i] = JudgedItem{Judge: bit(random, l.falsePass), Label: math.NaN(), Cluster: cluster}
		if truth == 1 {
			items[i].Judge = 1 - bit(random, l.falseFail)
		}
		if labelled[i] < l.labels {
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
				d := PPIDesign{Items: 4000 + of.known, Known: of.known, Rate: rate, Clusters: 4000 + of.known, Effect: 1}
				d.Correlation, d.Judged = JudgeCorrelation(rate, 1-errs, 1-errs)
				n, ok := d.Labels(width, .95)
				if !ok {
					t.Fatalf("%+v: no plan for %v", d, width)
				}
				l := labelling{items: 4000, labels: n, rate: rate, falsePass: errs, falseFail: errs, known: of.known}
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

// TestSimulatedPlansOfClusters: the intervals of labels about conversations whose rates differ are as
// wide as a plan expects.
func TestSimulatedPlansOfClusters(t *testing.T) {
	rounds := longtest.Rounds(60, 1000)
	random := rand.New(rand.NewPCG(38, 1))
	var table strings.Builder
	table.WriteString("| conversations | rates differ | judge errs | labels | planned width | width | coverage |\n|---|---|---|---|---|---|---|\n")
	for _, clusters := range []int{10, 40, 100} {
		for _, differ := range []float64{.1, .2} {
			for _, errs := range []float64{.05, .2} {
				for _, labels := range []int{40, 150} {
					l := labelling{
						items: 1000, labels: labels, rate: .7, falsePass: errs, falseFail: errs, clusters: clusters, differ: differ,
					}
					d := PPIDesign{Items: l.items, Rate: l.rate, Clusters: clusters}
					d.Correlation, d.Judged = JudgeCorrelation(l.rate, 1-errs, 1-errs)
					// The intraclass correlation of the verdicts.
					alike := (1 - 2*errs) * (1 - 2*errs) * differ * differ / 3 / (d.Judged * (1 - d.Judged))
					d.Effect = 1 + float64(l.items/clusters-1)*alike
					want := d.Width(labels, .95)
					covered, got, _ := l.simulate(t, random, rounds)
					fmt.Fprintf(&table, "| %d | %.2f | %.0f %% | %d | %.3f | %.3f | %.1f %% |\n", clusters, differ, 100*errs, labels, want, got, 100*covered)
					if got > 1.08*want || got < .92*want {
						t.Errorf("%+v: width %.4f, planned %.4f", l, got, want)
					}
				}
			}
		}
	}
	t.Logf("planned and simulated widths:\n%s", table.String())
}
