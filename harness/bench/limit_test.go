package bench

import (
	"fmt"
	"testing"
	"time"

	"evalctl/harness/bench/record"
	"evalctl/internal/longtest"
)

// kinds are kinds of servers with a capacity. The limit must be within 5 % of it, unless something
// else is said.
var kinds = []struct {
	name string
	of   func(capacity float64) Server
	// low is the least limit divided by the capacity, 0 for 0.95, where requests differ: their queue
	// becomes long below the capacity. least is the lowest objective, in times of a request.
	low, least float64
	poisson    bool // requests come at random times
}{
	{name: "one worker", of: func(c float64) Server { return Server{Workers: 1, Service: seconds(1 / c)} }},
	{name: "16 workers", of: func(c float64) Server { return Server{Workers: 16, Service: seconds(16 / c)} }},
	{name: "full with 20 waiting", of: func(c float64) Server { return Server{Workers: 4, Service: seconds(4 / c), Room: 20} }},
	{name: "slow at first", of: func(c float64) Server { return Server{Workers: 4, Service: seconds(4 / c), Cold: 40} }},
	{name: "one worker, exponential", low: 0.85, least: 100, of: func(c float64) Server {
		return Server{Workers: 1, Service: seconds(1 / c), Random: true}
	}},
	{name: "16 workers, exponential", low: 0.9, least: 20, of: func(c float64) Server {
		return Server{Workers: 16, Service: seconds(16 / c), Random: true}
	}},
	{name: "one worker, Poisson", low: 0.9, least: 100, poisson: true, of: func(c float64) Server {
		return Server{Workers: 1, Service: seconds(1 / c)}
	}},
	{name: "16 workers, pauses of 1 s", low: 0.9, least: 100, of: func(c float64) Server {
		return Server{Workers: 16, Service: seconds(16 / c * 0.9), Pause: time.Second, Every: 10 * time.Second}
	}},
	{name: "16 workers, pauses", low: 0.9, least: 100, of: func(c float64) Server {
		return Server{Workers: 16, Service: seconds(16 / c * 0.9), Pause: seconds(16 / c), Every: seconds(160 / c)}
	}},
}

// TestFindLimitOfServers compares limits with the capacities of servers, for objectives from 2 to 100
// times the time of a request. It prints them all.
func TestFindLimitOfServers(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	capacities, times := []float64{57}, []float64{2, 100}
	if longtest.On() {
		capacities, times = []float64{57, 230, 1170, 4700}, []float64{2, 20, 100}
	}
	for _, k := range kinds {
		for _, capacity := range capacities {
			for _, x := range times {
				if x < k.least || k.low > 0 && capacity > 2000 { // minutes at such a rate take long to simulate
					continue
				}
				server := k.of(capacity)
				objective := fmt.Sprintf("p99<%v", time.Duration(x*float64(server.Service)).Round(time.Microsecond))
				arrival := record.Constant
				if k.poisson {
					arrival = record.Poisson
				}
				f := find(t, objective, 50, server.work(), arrival)
				l, took := f.Limits[0], 0.0
				for _, p := range f.Probes {
					took += p.Block.Seconds
				}
				share, low := l.Rate/server.capacity(), 0.95
				if k.low > 0 {
					low = k.low
				}
				t.Logf("%-24s %5.0f/s  %-14s  %7.1f/s  ×%.3f  %2d probes in %.0f s", k.name, server.capacity(), objective, l.Rate, share, len(f.Probes), took)
				if !l.Confirmed || share < low || share > 1.05 {
					t.Errorf("%s of %.0f/s, %s: the limit is %+v", k.name, capacity, objective, l)
				}
			}
		}
	}
}
