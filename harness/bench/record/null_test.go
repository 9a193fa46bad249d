package record

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"evalctl/internal/longtest"
)

// alone returns a bench of one target, which takes slower times as long, and then of the null daemon,
// on a machine of a condition.
func (c condition) alone(seed uint64, slower float64) *File {
	const requests = 300
	f := &File{
		Plan:    Plan{Arrival: Constant, Sizes: []int{0}, Stages: []Stage{{From: 150, To: 150}}, Rounds: c.rounds, FailOver: 0.1},
		Targets: []Target{{Name: "a"}, {Name: "null", Null: true}},
	}
	random, machine := rand.New(rand.NewPCG(seed, 16)), c.machine()
	for target := range 2 {
		for round := range c.rounds {
			times := machine(random, float64(target*c.rounds+round)/float64(2*c.rounds), round)
			o := OpBlock{Op: "search", Offered: requests, OK: requests, InTime: requests, Latency: NewHistogram()}
			if target == 0 {
				times *= slower
			}
			for range requests {
				o.Latency.Add(int64(c.latency(random) * times / float64(1+20*target) * float64(time.Millisecond)))
			}
			f.Blocks = append(f.Blocks, Block{Target: target, Round: round, Seconds: 2, Ops: []OpBlock{o}})
		}
	}
	return f
}

// TestEqualBenches compares benches of the same target with each other, as --baseline does, and counts
// how often a difference is claimed, and how often the gate fails.
func TestEqualBenches(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	runs := longtest.Rounds(10, 60)
	for i, c := range conditions {
		if c.targets > 2 || c.ops > 1 || c.stages > 1 || !longtest.On() && (c.rounds != 20 || i%3 != 0) {
			continue
		}
		claimed, failed, found := 0, 0, 0
		for seed := range uint64(runs) {
			equal, slower := c.compared(t, seed, 1), &File{Baseline: &Baseline{}}
			if longtest.On() {
				slower = c.compared(t, seed, 1.2)
			}
			claims := func(f *File, verdict string) bool {
				return slices.ContainsFunc(f.Baseline.Series, func(d Change) bool { return d.Verdict == verdict })
			}
			if claims(equal, Slower) || claims(equal, Faster) {
				claimed++
			}
			if !equal.Verdicts[0].Held && !equal.Verdicts[0].Unjudged {
				failed++
			}
			if claims(slower, Slower) {
				found++
			}
		}
		percent := func(n int) float64 { return 100 * float64(n) / float64(runs) }
		documented(t, fmt.Sprintf("| %s | %.0f %% | %.0f %% | %.0f %% |", c.name, percent(claimed), percent(failed), percent(found)))
		// 5 %, and three standard errors. The speed of an autocorrelated machine is another one a while
		// later, which no test tells from that of a target.
		limit := 0.05 + 3*math.Sqrt(0.05*0.95/float64(runs))
		if share := float64(claimed) / float64(runs); share > limit && !strings.Contains(c.name, "autocorrelated") {
			t.Errorf("%s: a difference is claimed in %.1f %% of equal benches", c.name, 100*share)
		}
		if share := float64(failed) / float64(runs); share > limit {
			t.Errorf("%s: %.1f %% of equal benches fail", c.name, 100*share)
		}
	}
}

// compared returns a bench of a target that takes slower times as long as in the bench before.
func (c condition) compared(t *testing.T, seed uint64, slower float64) *File {
	before, now := c.alone(2*seed, 1), c.alone(2*seed+1, slower)
	var err error
	if now.Baseline, err = NewBaseline(before, now); err != nil {
		t.Fatal(err)
	}
	now.compareBaseline()
	now.judgeBaseline()
	return now
}

// TestRoundsInARow has a machine that is slower for most of a bench, in rounds that follow each other.
// That is one thing that happened, and not one in each round.
func TestRoundsInARow(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	c := condition{rounds: 20, machine: steady, latency: exponential}
	before := c.alone(1, 1)
	c.machine = func() func(*rand.Rand, float64, int) float64 {
		return func(_ *rand.Rand, at float64, _ int) float64 {
			if at > 0.15 && at < 0.5 {
				return 1.3
			}
			return 1
		}
	}
	now := c.alone(2, 1)
	var err error
	if now.Baseline, err = NewBaseline(before, now); err != nil {
		t.Fatal(err)
	}
	now.compareBaseline()
	if slices.ContainsFunc(now.Baseline.Series, func(c Change) bool { return c.Verdict != Alike }) {
		t.Errorf("a machine that is slower for a while is a difference: %+v", now.Baseline.Series[0].Difference)
	}
}
