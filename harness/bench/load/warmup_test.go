package load_test

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/harness/bench/load"
)

func TestWarmUp(t *testing.T) {
	// since returns a latency of 10 ms times a factor that depends on the seconds since the first.
	since := func(factor func(seconds float64) float64) func(uint64) time.Duration {
		start := sync.OnceValue(time.Now)
		noise := exponential(5*time.Millisecond, 2)
		return func(number uint64) time.Duration {
			return noise(number) + time.Duration(10e6*factor(time.Since(start()).Seconds()))
		}
	}
	for _, c := range []struct {
		name        string
		takes       func(uint64) time.Duration
		least, most time.Duration
		steady      bool
	}{
		{"steady", func(uint64) time.Duration { return time.Millisecond }, 1900 * time.Millisecond, 2200 * time.Millisecond, true},
		{"noisy", exponential(5*time.Millisecond, 1), 1900 * time.Millisecond, 6 * time.Second, true},
		{"cold for seconds", since(func(s float64) float64 { return 1 + 9*math.Exp(-s) }), 4 * time.Second, 15 * time.Second, true},
		{"never steady", since(func(s float64) float64 { return math.Exp(s / 5) }), 29 * time.Second, 31 * time.Second, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, err := load.WarmUp(t.Context(), constant(200), 30*time.Second, stub(c.takes), new(atomic.Uint64), nil)
			took := time.Duration(w.Seconds * float64(time.Second))
			if err != nil || w.Steady != c.steady || took < c.least || took > c.most {
				t.Errorf("%s: steady %v after %v, want %v after %v to %v (%v)", c.name, w.Steady, took, c.steady, c.least, c.most, err)
			}
			if w.Requests < 350 {
				t.Errorf("%s: %d requests were left out", c.name, w.Requests)
			}
		})
	}
}
