package load_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/harness/bench/load"
	"evalctl/harness/bench/record"
	"evalctl/internal/longtest"
)

// warming is a load that gets faster or slower: factor returns how many times as long as at its end
// everything takes, after so many seconds.
type warming struct {
	name    string
	rate    float64
	takes   func(number uint64) time.Duration
	factor  func(seconds float64) float64
	even    bool
	changes bool // all the time
}

// falls returns a factor that falls from times to 1 with a time constant in seconds.
func falls(times, constant float64) func(float64) float64 {
	return func(seconds float64) float64 { return 1 + (times-1)*math.Exp(-seconds/constant) }
}

func same(float64) float64 { return 1 }

// spread returns latencies around 10 ms with a coefficient of variation of about 0.3.
func spread(seed uint64) func(uint64) time.Duration {
	return func(number uint64) time.Duration {
		return time.Duration(10e6 * math.Exp(0.3*rand.New(rand.NewPCG(seed, number)).NormFloat64()))
	}
}

// stalls returns latencies of which those of one second in ten are ten times as long.
func stalls(number uint64) time.Duration {
	if number%2000 > 1800 {
		return 100 * time.Millisecond
	}
	return 10 * time.Millisecond
}

var warmings = []warming{
	{"1,000/s, even", 1000, always(10 * time.Millisecond), same, true, false},
	{"1,000/s, varied", 1000, nil, same, true, false},
	{"200/s, varied", 200, nil, same, true, false},
	{"200/s, exponential", 200, exponential(10*time.Millisecond, 0), same, true, false},
	{"50/s, exponential", 50, exponential(10*time.Millisecond, 0), same, true, false},
	{"200/s, a stall in ten seconds", 200, stalls, same, true, false},
	{"200/s, from ×3 in 1 s", 200, nil, falls(3, 1), false, false},
	{"200/s, from ×3 in 2 s", 200, nil, falls(3, 2), false, false},
	{"200/s, from ×3 in 3 s", 200, nil, falls(3, 3), false, false},
	{"200/s, from ×10 in 1 s", 200, nil, falls(10, 1), false, false},
	{"200/s, from ×10 in 3 s", 200, nil, falls(10, 3), false, false},
	{"200/s, exponential, from ×3 in 3 s", 200, exponential(10*time.Millisecond, 0), falls(3, 3), false, false},
	{"200/s, exponential, from ×10 in 3 s", 200, exponential(10*time.Millisecond, 0), falls(10, 3), false, false},
	{"50/s, exponential, from ×10 in 2 s", 50, exponential(10*time.Millisecond, 0), falls(10, 2), false, false},
	{"200/s, doubles in 10 s", 200, nil, func(s float64) float64 { return math.Exp2(s / 10) }, false, true},
	{"200/s, halves in 10 s", 200, nil, func(s float64) float64 { return math.Exp2(-s / 10) }, false, true},
}

// TestSimulatedWarmUp counts how often a load is called steady, and how far it then is from its end.
// It prints a table for docs/dev/simulations.md.
func TestSimulatedWarmUp(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	runs := longtest.Rounds(5, 100)
	for i, w := range warmings {
		if !longtest.On() && i%2 != 0 {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			steady, far, took := 0, 1.0, 0.0
			for seed := range uint64(runs) {
				found, end := w.up(t, seed)
				if took += found.Seconds; found.Steady {
					steady++
					far = max(far, w.factor(found.Seconds)/end, end/w.factor(found.Seconds))
				}
			}
			share := float64(steady) / float64(runs)
			called := fmt.Sprintf("×%.2f", far)
			if w.changes {
				called = "-" // it has no end
			}
			t.Logf("| %s | %.1f s | %.0f %% | %s |", w.name, took/float64(runs), 100*(1-share), called)
			if w.changes && share > 0.2 || w.even && share < 0.8 {
				t.Errorf("%s: steady in %.0f %%", w.name, 100*share)
			}
			if !w.changes && far > 1.4 {
				t.Errorf("%s: called steady at ×%.2f", w.name, far)
			}
		})
	}
}

// up warms up, for at most 20 s, and returns the factor at the end of time as well.
func (w warming) up(t *testing.T, seed uint64) (found record.WarmUp, end float64) {
	synctest.Test(t, func(t *testing.T) {
		takes, start := w.takes, time.Now()
		if takes == nil {
			takes = spread(seed)
		}
		number := new(atomic.Uint64)
		number.Store(seed << 32)
		work := stub(func(n uint64) time.Duration {
			return time.Duration(float64(takes(n)) * w.factor(time.Since(start).Seconds()))
		})
		var err error
		if found, err = load.WarmUp(t.Context(), constant(w.rate), 20*time.Second, work, number, nil); err != nil {
			t.Error(err)
		}
	})
	return found, w.factor(60)
}

// So few requests that differ so much seldom show soon that a latency is steady.
func TestWarmUpOfFewRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	soon := 0
	for seed := range uint64(10) {
		w := warming{rate: 10, takes: exponential(10*time.Millisecond, seed), factor: same}
		if found, _ := w.up(t, seed); found.Steady && found.Seconds < 10 {
			soon++
		}
	}
	if soon > 1 {
		t.Errorf("100 requests are called steady in %d of 10 warm-ups", soon)
	}
}

// A warm-up that is too short to tell is not steady.
func TestShortWarmUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, limit := range []time.Duration{time.Millisecond, time.Second, 1900 * time.Millisecond} {
			w, err := load.WarmUp(t.Context(), constant(1000), limit, stub(always(time.Millisecond)), new(atomic.Uint64), nil)
			if err != nil || w.Steady {
				t.Errorf("%v: %+v, %v", limit, w, err)
			}
		}
	})
}
