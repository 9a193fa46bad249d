package record

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"evalctl/internal/longtest"
)

// condition is a machine on which targets are measured in turns, and what is measured.
type condition struct {
	name                         string
	rounds, targets, ops, stages int
	// machine returns how many times as long everything takes in a block, given a source of random
	// numbers for the bench, how far the bench is, from 0 to 1, and the position of the block in
	// its round.
	machine func() func(random *rand.Rand, at float64, position int) float64
	latency func(random *rand.Rand) float64
	// hard is set where so many rounds and requests are too few to find 10 % in 90 % of benches.
	hard bool
}

// noise is the standard deviation of the logarithm of how long everything takes in a block.
const noise = 0.02

// Machines that differ by what they do from block to block.
var (
	steady = func() func(*rand.Rand, float64, int) float64 {
		return func(r *rand.Rand, _ float64, _ int) float64 { return math.Exp(noise * r.NormFloat64()) }
	}
	autocorrelated = func() func(*rand.Rand, float64, int) float64 {
		log := 0.0
		return func(r *rand.Rand, _ float64, _ int) float64 {
			log = 0.95*log + noise*r.NormFloat64()
			return math.Exp(log)
		}
	}
	drifting = func() func(*rand.Rand, float64, int) float64 {
		return func(r *rand.Rand, at float64, _ int) float64 { return (1 + 2*at) * math.Exp(noise*r.NormFloat64()) }
	}
	waves = func() func(*rand.Rand, float64, int) float64 {
		return func(r *rand.Rand, at float64, _ int) float64 {
			return (1.5 + math.Sin(40*at)) * math.Exp(noise*r.NormFloat64())
		}
	}
	stalling = func() func(*rand.Rand, float64, int) float64 {
		return func(r *rand.Rand, _ float64, _ int) float64 {
			if r.IntN(20) == 0 {
				return 1 + 9*r.Float64()
			}
			return math.Exp(noise * r.NormFloat64())
		}
	}
	firstIsSlow = func() func(*rand.Rand, float64, int) float64 {
		return func(r *rand.Rand, _ float64, position int) float64 {
			if position == 0 {
				return 1.3 * math.Exp(noise*r.NormFloat64())
			}
			return math.Exp(noise * r.NormFloat64())
		}
	}
)

// Latencies of requests with the mean 10 ms, or near it.
var (
	exponential = func(r *rand.Rand) float64 { return 10 * r.ExpFloat64() }
	// heavy has the tail of Pareto with the exponent 1.5, which has no variance.
	heavy = func(r *rand.Rand) float64 { return 10 / 3. * math.Pow(1-r.Float64(), -1/1.5) }
	// stalled has some requests that wait for up to a second.
	stalled = func(r *rand.Rand) float64 {
		if r.IntN(50) == 0 {
			return 1000 * r.Float64()
		}
		return 10 * r.ExpFloat64()
	}
)

var conditions = []condition{
	{"steady", 20, 2, 1, 1, steady, exponential, false},
	{"steady, 8 rounds", 8, 2, 1, 1, steady, exponential, true},
	{"steady, 12 rounds", 12, 2, 1, 1, steady, exponential, true},
	{"steady, 40 rounds", 40, 2, 1, 1, steady, exponential, false},
	{"autocorrelated", 20, 2, 1, 1, autocorrelated, exponential, false},
	{"drifting to ×3", 20, 2, 1, 1, drifting, exponential, false},
	{"in waves", 20, 2, 1, 1, waves, exponential, false},
	{"slow at first in a round, ×1.3", 20, 2, 1, 1, firstIsSlow, exponential, true},
	{"5 % of blocks take up to ×10", 20, 2, 1, 1, stalling, exponential, true},
	{"heavy tails", 20, 2, 1, 1, steady, heavy, false},
	{"heavy tails, autocorrelated", 20, 2, 1, 1, autocorrelated, heavy, false},
	{"2 % of requests stall, up to 1 s", 20, 2, 1, 1, steady, stalled, true},
	{"three targets", 20, 3, 1, 1, autocorrelated, exponential, false},
	{"four targets", 20, 4, 1, 1, steady, exponential, false},
	{"three operations", 20, 2, 3, 1, steady, exponential, false},
	{"three rates", 20, 2, 1, 3, autocorrelated, exponential, false},
	{"four targets, three operations, two rates", 20, 4, 3, 2, autocorrelated, heavy, false},
}

// bench returns a bench of equal targets, but for the second, which takes slower times as long.
func (c condition) bench(seed uint64, slower float64) *File {
	const requests = 300 // of an operation in a block
	f := &File{Plan: Plan{Arrival: Constant, Sizes: []int{0}, Rounds: c.rounds}}
	for range c.targets {
		f.Targets = append(f.Targets, Target{Name: "t"})
	}
	random, machine := rand.New(rand.NewPCG(seed, 11)), c.machine()
	for stage := range c.stages {
		f.Plan.Stages = append(f.Plan.Stages, Stage{From: 150, To: 150})
		for round := range c.rounds {
			for position, target := range random.Perm(c.targets) {
				times := machine(random, float64(stage*c.rounds+round)/float64(c.stages*c.rounds), position)
				if target == 1 {
					times *= slower
				}
				b := Block{Target: target, Stage: stage, Round: round, Seconds: 2}
				for op := range c.ops {
					o := OpBlock{Op: []string{"ask", "put", "search"}[op], Offered: requests, OK: requests, InTime: requests, Latency: NewHistogram()}
					for range requests {
						o.Latency.Add(int64(c.latency(random) * times * float64(time.Millisecond)))
					}
					b.Ops = append(b.Ops, o)
				}
				f.Blocks = append(f.Blocks, b)
			}
		}
	}
	return f
}

// claimed returns in how many of so many benches any difference is claimed, and in how many the
// second target is called slower.
func (c condition) claimed(runs int, first uint64, slower float64) (any, found int) {
	for seed := range uint64(runs) {
		claim, hit := false, false
		f := c.bench(first+seed, slower)
		f.compare()
		for _, d := range f.Comparisons {
			claim = claim || d.Verdict != Alike
			hit = hit || d.Verdict == Slower && d.Target == 1
		}
		if claim {
			any++
		}
		if hit {
			found++
		}
	}
	return any, found
}

// TestClaimsUnderConditions counts claims between equal targets, and how often one that is 10 %
// slower is found, on machines that change during a bench. It prints the rates. The short test has
// one condition.
func TestClaimsUnderConditions(t *testing.T) {
	runs, tested, first := 400, conditions, uint64(1)<<32
	if !longtest.On() {
		runs, tested = 40, conditions[12:13]
	}
	for _, c := range tested {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			equal, _ := c.claimed(runs, first, 1)
			_, found := c.claimed(runs, first+1<<31, 1.1)
			t.Logf("%-41s equal: claimed in %.1f %%; 10 %% slower: found in %.1f %%", c.name, 100*float64(equal)/float64(runs), 100*float64(found)/float64(runs))
			if share := float64(equal) / float64(runs); share > 0.05 {
				t.Errorf("a difference is claimed in %.1f %% of benches of equal targets", 100*share)
			}
			if share := float64(found) / float64(runs); share < 0.9 && !c.hard {
				t.Errorf("10 %% slower is found in %.1f %% of benches", 100*share)
			}
		})
	}
}
