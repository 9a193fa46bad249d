package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// simulatedLatency compares sides of so many runs each of 10 questions.
type simulatedLatency struct {
	Sides, Runs int
	// Slower is by how much the last side is slower than the others, 1 for not at all.
	Slower float64
	// Tails is set if 5 % of the requests take ten times as long, and some runs are far off.
	Tails bool
}

// logs returns the logarithms of the latencies of a run. Requests differ by a standard deviation of
// 0.1 and runs by another 0.1, whatever the number of requests. What questions differ by cancels
// out.
func (s simulatedLatency) logs(random *rand.Rand, slower float64) []float64 {
	effect := .1 * random.NormFloat64()
	if s.Tails { // Student's t with 3 degrees of freedom
		chi := 0.0
		for range 3 {
			z := random.NormFloat64()
			chi += z * z
		}
		effect /= math.Sqrt(chi / 3)
	}
	logs := make([]float64, 10)
	for i := range logs {
		logs[i] = math.Log(slower) + effect + .1*random.NormFloat64()
		if s.Tails && random.Float64() < .05 {
			logs[i] += math.Log(10)
		}
	}
	return logs
}

// shown returns the share of comparisons in which a pair of sides differs after Holm's adjustment:
// by Welch's test of the runs' means, or if overQuestions by the paired test of the questions of
// the first runs, which knows nothing about runs.
func (s simulatedLatency) shown(rounds int, overQuestions bool) float64 {
	random := rand.New(rand.NewPCG(8, 1))
	share, _ := shareOf(rounds, .05, func() bool {
		means, first := make([][]float64, s.Sides), make([][]float64, s.Sides)
		for side := range s.Sides {
			slower := 1.0
			if side == s.Sides-1 {
				slower = s.Slower
			}
			for range s.Runs {
				logs := s.logs(random, slower)
				mean, _ := Moments(logs)
				means[side] = append(means[side], mean)
				if first[side] == nil {
					first[side] = logs
				}
			}
		}
		var ps []float64
		for i := range s.Sides {
			for j := range i {
				p := Welch(means[i], means[j], .95).P
				if overQuestions {
					p = PairedMeans(first[i], first[j], .95).P
				}
				ps = append(ps, p)
			}
		}
		return slices.Min(Holm(ps)) < .05
	})
	return share
}

// documentedRounds are those of docs/dev/simulations.md.
const documentedRounds = 1000

// Runs of one daemon are called different in at most 5 % of comparisons, whatever the number of
// sides. The test over questions calls them different most of the time.
func TestSimulatedLatencyOfEqualRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	limit := .05 + 4*math.Sqrt(.05*.95/documentedRounds)
	for _, tails := range []bool{false, true} {
		for _, sides := range []int{2, 4} {
			for _, runs := range []int{3, 5, 10} {
				s := simulatedLatency{sides, runs, 1, tails}
				if share := s.shown(documentedRounds, false); share > limit {
					t.Errorf("%+v: a difference in %.3f of the comparisons", s, share)
				}
			}
		}
	}
	if share := (simulatedLatency{2, 1, 1, false}).shown(documentedRounds, true); share < .3 {
		t.Errorf("the test over questions accuses in %.3f of the comparisons, want more than with runs as the unit", share)
	}
}

// Sides of different sizes have a wrong level if the smaller one varies more: it is the one that
// Welch's degrees of freedom follow.
func TestSimulatedLatencyOfUnequalSides(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	random := rand.New(rand.NewPCG(9, 1))
	for _, sd := range []float64{.3, 1, 3} {
		got, limit := shareOf(4000, .05, func() bool {
			sample := func(n int, sd float64) []float64 {
				values := make([]float64, n)
				for i := range values {
					values[i] = sd * random.NormFloat64()
				}
				return values
			}
			return Welch(sample(3, sd), sample(10, 1), .95).P < .05
		})
		if got > .06+limit { // the approximation of the degrees of freedom
			t.Errorf("3 runs that vary %v times as much as 10: a difference in %.3f", sd, got)
		}
	}
}

// Half as much time again is found by five runs a side.
func TestSimulatedLatencyOfSlowerRuns(t *testing.T) {
	for runs, least := range map[int]float64{3: .6, 5: .95} {
		if share := (simulatedLatency{2, runs, 1.5, false}).shown(500, false); share < least {
			t.Errorf("%s: ×1.5 is found in %.2f of the comparisons, want %.2f", fmt.Sprint(runs, " runs a side"), share, least)
		}
	}
}
