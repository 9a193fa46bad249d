package compare

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness/result"
	"evalctl/internal/filetest"
)

var full = flag.Bool("full", false, "simulate as often as docs/dev/simulations.md says, and compare with it")

// nulls are sides of the same quality.
type nulls struct {
	sides, runs int
	// clusters is the number of clusters, 0 for questions that are independent. sizes says how many
	// questions they have: "equal", "varied" or "one big".
	clusters int
	sizes    string
	// vary is the standard deviation of the logit of a run's pass rate.
	vary float64
}

// independent is the number of questions without clusters.
const independent = 300

// questionsOf returns the cluster of each question.
func (n nulls) questionsOf(random *rand.Rand) (of []int) {
	if n.clusters == 0 {
		for i := range independent {
			of = append(of, i)
		}
		return of
	}
	for c := range n.clusters {
		size := 10
		switch {
		case n.sizes == "varied":
			size = 2 + random.IntN(17)
		case n.sizes == "one big" && c == 0:
			size = 10 * (n.clusters - 1)
		}
		for range size {
			of = append(of, c)
		}
	}
	return of
}

// simulate returns such sides. In each cluster, each side has a pass rate of its own, by chance, and
// each run has a rate and a speed of its own. Questions have one of three kinds as a tag, and with
// clusters that of theirs. Scores say more than verdicts, and what was retrieved differs too.
func (n nulls) simulate(random *rand.Rand) []*Run {
	of := n.questionsOf(random)
	kinds := make([]string, len(of))
	for i := range kinds {
		kinds[i] = fmt.Sprintf("kind:%d", random.IntN(3))
	}
	var sides []*Run
	for s := range n.sides {
		logits := map[int]float64{}
		for _, c := range of {
			if _, ok := logits[c]; !ok {
				rate := 0.75 + 0.4*(random.Float64()-0.5)
				logits[c] = math.Log(rate / (1 - rate))
			}
		}
		var runs []*Run
		for k := range n.runs {
			runs = append(runs, n.run(random, fmt.Sprintf("run%d-%d.json", s, k), of, kinds, logits))
		}
		sides = append(sides, Side(fmt.Sprintf("side%d", s), runs))
	}
	return sides
}

func (n nulls) run(random *rand.Rand, path string, of []int, kinds []string, logits map[int]float64) *Run {
	r := &Run{path: path, index: map[string]int{}}
	better, slower := n.vary*random.NormFloat64(), math.Exp(0.1*random.NormFloat64())
	for i, c := range of {
		a := attempt{outcome: result.Scored, passed: random.Float64() < 1/(1+math.Exp(-logits[c]-better))}
		for m := range a.values {
			a.values[m] = math.NaN()
		}
		a.values[measureScore] = 0.5 * random.Float64() // a score that is not only the verdict
		if a.passed {
			a.values[measureScore] += 0.5
		}
		rank := 1 + random.IntN(10)
		a.values[measureRecall], a.values[measureRR] = math.Round(random.Float64()+0.2), 1/float64(rank)
		a.values[measureNDCG], a.values[measureAP] = 1/math.Log2(float64(rank+1)), random.Float64()
		a.values[measureTotal], a.values[measureFirst] = 900*slower*(0.5+random.Float64()), 300*slower*(0.5+random.Float64())
		q := question{id: fmt.Sprintf("%d-%d", c, i), tags: []string{kinds[i]}, attempts: []attempt{a}}
		if n.clusters > 0 {
			q.tags = append(q.tags, fmt.Sprintf("conv:%d", c))
		}
		r.index[q.id] = len(r.questions)
		r.questions = append(r.questions, q)
	}
	return r
}

// alarms are the shares of comparisons with a verdict on the primary measure, on anything else, and
// on either, and the share of intervals of the primary measure that contain 0.
type alarms struct{ Primary, Other, Any, Covered float64 }

// falseAlarms compares runs of the same quality so often.
func (n nulls) falseAlarms(t testing.TB, rounds, resamples int) (a alarms) {
	random := rand.New(rand.NewPCG(uint64(n.sides+10*n.runs), uint64(100*n.clusters+len(n.sizes)+int(1000*n.vary))))
	opts := Options{Resamples: resamples, Accept: ofLines}
	if n.clusters > 0 {
		opts.ClusterTag = "conv"
	}
	intervals := 0
	for range rounds {
		c := mustCompare(t, opts, n.simulate(random)...)
		primary, other := false, false
		for i := range c.Pairs {
			p := &c.Pairs[i]
			for _, k := range c.Claims(p) {
				primary, other = primary || k.Primary && k.Shown(), other || !k.Primary && k.Shown()
			}
			intervals++
			if p.Interval == nil || p.Interval.Low <= 0 && p.Interval.High >= 0 {
				a.Covered++
			}
		}
		for _, of := range c.Tags {
			for _, p := range of.Pairs {
				other = other || p.Verdict == Better || p.Verdict == Worse
			}
		}
		for _, seen := range []struct {
			any   bool
			share *float64
		}{{primary, &a.Primary}, {other, &a.Other}, {primary || other, &a.Any}} {
			if seen.any {
				*seen.share += 1 / float64(rounds)
			}
		}
	}
	a.Covered /= float64(intervals)
	return a
}

// TestSimulatedNulls compares sides of the same quality: a verdict on anything appears in at most
// 5.5 % of comparisons, and three binomial standard errors more. With -full it simulates more of them
// and checks the table of docs/dev/simulations.md.
func TestSimulatedNulls(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	rounds, resamples := 60, 399
	shapes := []nulls{
		{2, 1, 0, "", 0}, {2, 3, 0, "", 0.3}, {3, 1, 10, "one big", 0}, {2, 3, 10, "varied", 0.3},
	}
	if *full {
		rounds, resamples, shapes = 1000, 999, nil
		for _, sides := range []int{2, 4} {
			for _, clusters := range []int{0, 5, 10, 25} {
				sizes := []string{"equal", "varied", "one big"}
				if clusters == 0 {
					sizes = []string{""}
				}
				for _, size := range sizes {
					shapes = append(shapes, nulls{sides, 1, clusters, size, 0})
				}
			}
		}
		for _, vary := range []float64{0, 0.1, 0.3} {
			for _, runs := range []int{2, 3, 5} {
				shapes = append(shapes, nulls{2, runs, 0, "", vary}, nulls{2, runs, 25, "varied", vary})
			}
		}
	}
	page := filetest.Read(t, filepath.Join("..", "..", "docs", "dev", "simulations.md"))
	missing := ""
	for _, n := range shapes {
		a := n.falseAlarms(t, rounds, resamples)
		limit := 0.055 + 3*math.Sqrt(0.055*0.945/float64(rounds))
		if a.Any > limit {
			t.Errorf("%+v: %+v, want at most %.3f", n, a, limit)
		}
		questions := fmt.Sprintf("%d clusters, %s", n.clusters, n.sizes)
		if n.clusters == 0 {
			questions = fmt.Sprintf("%d, independent", independent)
		}
		row := fmt.Sprintf("| %d | %d | %.1f | %s | %.1f %% | %.1f %% | %.1f %% | %.1f %% |", n.sides, n.runs, n.vary, questions,
			100*a.Primary, 100*a.Other, 100*a.Any, 100*a.Covered)
		if !strings.Contains(string(page), row) {
			missing += row + "\n"
		}
	}
	if *full && missing != "" {
		t.Errorf("docs/dev/simulations.md does not have the rows (change internal/stats/testdata/simulations.md.tmpl)\n%s", missing)
	}
}
