package record

import (
	"math/rand/v2"
	"testing"
	"time"
)

// simulated returns a bench of two stubs with exponential latencies, in rounds of blocks, of which
// the second takes slower times as long. The machine changes from round to round, and each block is
// a little faster or slower for reasons outside both.
func simulated(seed uint64, slower float64) *File {
	const rounds, requests = 20, 300
	f := &File{
		Plan:    Plan{Arrival: Constant, Stages: []Stage{{From: 150, To: 150}}, Sizes: []int{0}, Rounds: rounds},
		Targets: []Target{{Name: "a"}, {Name: "b"}},
	}
	random := rand.New(rand.NewPCG(seed, 7))
	for round := range rounds {
		machine := 1 + 0.3*random.Float64()
		for _, arm := range random.Perm(2) {
			mean := float64(10*time.Millisecond) * machine * (1 + 0.02*random.NormFloat64())
			if arm == 1 {
				mean *= slower
			}
			o := OpBlock{Op: "search", Offered: requests, OK: requests, InTime: requests, Latency: NewHistogram()}
			for range requests {
				o.Latency.Add(int64(random.ExpFloat64() * mean))
			}
			f.Blocks = append(f.Blocks, Block{Target: arm, Round: round, Seconds: 2, Ops: []OpBlock{o}})
		}
	}
	f.compare()
	return f
}

// claims returns in how many of so many simulations a difference is claimed.
func claims(t *testing.T, runs int, slower float64) (claimed int) {
	t.Helper()
	if testing.Short() {
		t.Skip("how often a difference is claimed does not depend on the race detector")
	}
	for seed := range uint64(runs) {
		f := simulated(seed, slower)
		if len(f.Comparisons) != 4 {
			t.Fatalf("%d figures are compared, want mean, p50, p90 and p99", len(f.Comparisons))
		}
		any := false
		for _, c := range f.Comparisons {
			any = any || c.Verdict != Alike
			if c.Verdict == Faster && slower > 1 {
				t.Errorf("the slower one is called faster: %+v", c)
			}
		}
		if any {
			claimed++
		}
	}
	t.Logf("×%.2f: a difference is claimed in %d of %d benches", slower, claimed, runs)
	return claimed
}

func TestSameStubsAreRarelyCalledDifferent(t *testing.T) {
	if n := claims(t, 200, 1); n > 10 {
		t.Errorf("a difference is claimed in %d of 200 benches of the same stub, and 5 %% are allowed", n)
	}
}

func TestTenPercentSlowerIsFound(t *testing.T) {
	if n := claims(t, 200, 1.1); n < 180 {
		t.Errorf("10 %% slower is found in %d of 200 benches, want 90 %%", n)
	}
}
