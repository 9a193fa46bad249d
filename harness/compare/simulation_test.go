package compare

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness/result"
)

var full = flag.Bool("full", false, "simulate as often as docs/dev/simulations.md says, and compare with it")

// nulls are runs of the same quality.
type nulls struct {
	runs, clusters int
	// sizes says how many questions clusters have: "equal", "varied" or "one big".
	sizes string
}

// simulate returns such runs. In each cluster, each run has a pass rate of its own, by chance.
// Questions have a tag of their cluster and one of three kinds.
func (n nulls) simulate(random *rand.Rand) []*Run {
	runs := make([]*Run, n.runs)
	for i := range runs {
		runs[i] = &Run{path: fmt.Sprintf("run%d.json", i), index: map[string]int{}}
	}
	for c := range n.clusters {
		size := 10
		switch {
		case n.sizes == "varied":
			size = 2 + random.IntN(17)
		case n.sizes == "one big" && c == 0:
			size = 10 * (n.clusters - 1)
		}
		rates := make([]float64, n.runs)
		for i := range rates {
			rates[i] = 0.75 + 0.4*(random.Float64()-0.5)
		}
		for q := range size {
			id := fmt.Sprintf("%d-%d", c, q)
			tags := []string{fmt.Sprintf("conv:%d", c), fmt.Sprintf("kind:%d", random.IntN(3))}
			for i, r := range runs {
				a := attempt{outcome: result.Scored, passed: random.Float64() < rates[i]}
				for m := range a.values {
					a.values[m] = math.NaN()
				}
				// A score that is not only the verdict.
				a.values[measureScore] = 0.5 * random.Float64()
				if a.passed {
					a.values[measureScore] += 0.5
				}
				r.index[id] = len(r.questions)
				r.questions = append(r.questions, question{id: id, tags: tags, attempts: []attempt{a}})
			}
		}
	}
	return runs
}

// alarms are the shares of comparisons with a verdict on any pair, any tag and any measure.
type alarms struct{ Pairs, Tags, Measures float64 }

// falseAlarms compares runs of the same quality so often.
func (n nulls) falseAlarms(t testing.TB, rounds, resamples int) (a alarms) {
	random := rand.New(rand.NewPCG(uint64(n.runs), uint64(100*n.clusters+len(n.sizes))))
	share := 1 / float64(rounds)
	for range rounds {
		c := mustCompare(t, Options{ClusterTag: "conv", Resamples: resamples, Accept: ofLines}, n.simulate(random)...)
		var pair, tag, measure bool
		for _, p := range c.Pairs {
			pair = pair || p.Verdict != NotSeen
			for _, m := range p.Measures {
				measure = measure || m.Verdict != NotSeen
			}
		}
		for _, of := range c.Tags {
			for _, p := range of.Pairs {
				tag = tag || p.Verdict != NotSeen
			}
		}
		for _, seen := range []struct {
			any   bool
			share *float64
		}{{pair, &a.Pairs}, {tag, &a.Tags}, {measure, &a.Measures}} {
			if seen.any {
				*seen.share += share
			}
		}
	}
	return a
}

// TestSimulatedNulls compares runs of the same quality with clusters: a verdict on any pair, on any
// tag and on any measure appears in at most 5 % of comparisons each, and three binomial standard
// errors more. With -full it simulates more of them and checks the table of docs/dev/simulations.md.
func TestSimulatedNulls(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	rounds, resamples, shapes := 100, 399, []string{"varied", "one big"}
	if *full {
		rounds, resamples, shapes = 1000, 999, []string{"equal", "varied", "one big"}
	}
	limit := 0.05 + 3*math.Sqrt(0.05*0.95/float64(rounds))
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "dev", "simulations.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, runs := range []int{2, 4} {
		for _, clusters := range []int{5, 10, 25} {
			for _, sizes := range shapes {
				a := nulls{runs, clusters, sizes}.falseAlarms(t, rounds, resamples)
				if a.Pairs > limit || a.Tags > limit || a.Measures > limit {
					t.Errorf("%d runs, %d clusters, %s: %+v, want at most %.3f", runs, clusters, sizes, a, limit)
				}
				row := fmt.Sprintf("| %d | %d | %s | %.1f %% | %.1f %% | %.1f %% |", runs, clusters, sizes, 100*a.Pairs, 100*a.Tags, 100*a.Measures)
				if *full && !strings.Contains(string(page), row) {
					t.Errorf("docs/dev/simulations.md does not have the row (change internal/stats/testdata/simulations.md.tmpl)\n%s", row)
				}
			}
		}
	}
}
