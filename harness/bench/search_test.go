package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/harness/bench/load"
	"evalctl/harness/bench/record"
)

// find runs the search against work in a bubble, and returns what it probed and found.
func find(t *testing.T, objectives string, start float64, work load.Work, arrival string) record.File {
	t.Helper()
	return findOf(t, []record.Share{{Op: "search", Weight: 1}}, objectives, start, work, arrival)
}

func findOf(t *testing.T, mix []record.Share, objectives string, start float64, work load.Work, arrival string) record.File {
	t.Helper()
	parsed, err := record.ParseObjectives(objectives)
	if err != nil {
		t.Fatal(err)
	}
	file := record.File{Plan: record.Plan{Search: objectives}, Targets: []record.Target{{Name: "stub"}}}
	synctest.Test(t, func(t *testing.T) {
		f := finder{
			objectives: parsed, start: start, step: 5 * time.Second, need: 1.05 * record.Need(parsed, mix, arrival == record.Poisson),
			try: func(ctx context.Context, rate float64, span load.Span) (record.Block, error) {
				p := load.Profile{
					Arrival: arrival, MaxInFlight: 1000, Stage: record.Stage{From: rate, To: rate}, Timeout: time.Minute,
				}
				blocks, err := load.Run(ctx, p, span, work, new(atomic.Uint64), nil)
				return blocks[0], err
			},
			found: func(p record.Probe) error {
				file.Probes = append(file.Probes, p)
				return nil
			},
		}
		if err := f.find(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	file.Compute()
	return file
}

func TestFindLimitOfKnownCapacity(t *testing.T) {
	for _, c := range []struct{ capacity, start float64 }{{500, 50}, {500, 3000}, {37, 50}} {
		f := find(t, "p99<50ms,errors<0.1%", c.start, Server{Workers: 1, Service: seconds(1 / c.capacity)}.work(), record.Constant)
		l := f.Limits[0]
		if !l.Confirmed || l.Rate < 0.95*c.capacity || l.Rate > 1.05*c.capacity {
			t.Errorf("capacity %v/s from %v/s: found %+v in %d probes, want it within 5 %%", c.capacity, c.start, l, len(f.Probes))
		}
		if l.Above <= l.Rate || l.Above > 1.1*l.Rate {
			t.Errorf("capacity %v/s: %v/s is the lowest rate that is not kept", c.capacity, l.Above)
		}
		confirmed := 0
		for _, p := range f.Probes {
			if p.Confirm && p.Kept && p.Rate == l.Rate {
				confirmed++
			}
		}
		if confirmed != record.Confirmations {
			t.Errorf("capacity %v/s: confirmed %d times", c.capacity, confirmed)
		}
	}
}

// A search begins at the lowest rate at which a minute has enough requests, if --rate is lower.
func TestFindLimitFromBelow(t *testing.T) {
	for objective, start := range map[string]float64{"p99.9<100ms": 50, "p99<50ms": 5} {
		f := find(t, objective, start, Server{Workers: 1, Service: seconds(1.0 / 80)}.work(), record.Constant)
		if l := f.Limits[0]; !l.Confirmed || l.Rate < 0.95*80 || l.Rate > 1.05*80 {
			t.Errorf("%s from %v/s: the limit is %+v in %d probes", objective, start, l, len(f.Probes))
		}
	}
	// Halving 100/s would miss the rates from 52/s, which is the lowest one.
	f := find(t, "p99.9<100ms", 100, Server{Workers: 1, Service: seconds(1.0 / 60)}.work(), record.Constant)
	if l := f.Limits[0]; !l.Confirmed || l.Rate < 0.95*60 || l.Rate > 1.05*60 {
		t.Errorf("the limit is %+v in %d probes", l, len(f.Probes))
	}
}

// Each operation of a mix has enough requests for the objective.
func TestFindLimitOfMix(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	mix := []record.Share{{Op: "search", Weight: 80}, {Op: "ask", Weight: 15}, {Op: "put", Weight: 5}}
	server := Server{Workers: 16, Service: seconds(16.0 / 300)}.work()
	f := findOf(t, mix, "p99<500ms", 50, func(number uint64) load.Request {
		r := server(number)
		at := 100 * rand.New(rand.NewPCG(1, number)).Float64()
		for _, s := range mix {
			if r.Op = s.Op; at < s.Weight {
				break
			}
			at -= s.Weight
		}
		return r
	}, record.Poisson)
	if l := f.Limits[0]; !l.Confirmed || l.Rate < 0.9*300 || l.Rate > 1.05*300 {
		t.Errorf("the limit is %+v in %d probes", l, len(f.Probes))
	}
	for _, p := range f.Probes {
		for _, o := range f.Summarise(p).Ops {
			if o.Offered < 299 {
				t.Errorf("at %.1f/s: %d requests of %s", p.Rate, o.Offered, o.Op)
			}
		}
	}
}

// An operation that no target has, or hardly any request, is said at once.
func TestFindLimitOfTooFewRequests(t *testing.T) {
	objectives, _ := record.ParseObjectives("put.p99<50ms")
	for _, mix := range [][]record.Share{{{Op: "search", Weight: 1}}, {{Op: "search", Weight: 1e9}, {Op: "put", Weight: 1}}} {
		f := finder{start: 50, step: time.Second, need: record.Need(objectives, mix, false)}
		if err := f.find(t.Context()); !errors.Is(err, errFew) {
			t.Errorf("%v: %v", mix, err)
		}
	}
}

func TestFindLimitThatIsNever(t *testing.T) {
	slow := func(uint64) load.Request {
		return load.Request{Op: "search", Do: func(context.Context) load.Outcome {
			time.Sleep(time.Second)
			return load.Outcome{}
		}}
	}
	if l := find(t, "p50<50ms", 50, slow, record.Constant).Limits[0]; l.Rate != 0 || l.Confirmed {
		t.Errorf("a stub that is too slow at any rate has the limit %+v", l)
	}
}

// A target that answers nothing is given up after three rates.
func TestFindLimitOfNothing(t *testing.T) {
	objectives, _ := record.ParseObjectives("p99<50ms")
	tried := 0
	f := finder{
		objectives: objectives, start: 50, step: time.Second,
		try: func(context.Context, float64, load.Span) (record.Block, error) {
			tried++
			return record.Block{Seconds: 1, Ops: []record.OpBlock{{Op: "search", Offered: 9, Latency: record.NewHistogram()}}}, nil
		},
		found: func(record.Probe) error { return nil },
	}
	if err := f.find(t.Context()); !errors.Is(err, errDead) || tried != 3 {
		t.Errorf("%v after %d rates", err, tried)
	}
}

// A rate that is kept once and not again is no limit: a lower one is looked for.
func TestFindLimitIsConfirmed(t *testing.T) {
	objectives, _ := record.ParseObjectives("p50<50ms")
	tried := map[float64]int{}
	file := record.File{Plan: record.Plan{Search: "p50<50ms"}, Targets: []record.Target{{Name: "stub"}}}
	f := finder{
		objectives: objectives, start: 50, step: time.Second,
		try: func(_ context.Context, rate float64, _ load.Span) (record.Block, error) {
			tried[rate]++
			o := record.OpBlock{Op: "search", Offered: 10, OK: 10, Latency: record.NewHistogram()}
			took := time.Millisecond
			if rate > 500 || rate > 480 && tried[rate] > 1 {
				took = time.Second
			}
			for range 10 {
				o.Latency.Add(int64(took))
			}
			return record.Block{Seconds: 1, Ops: []record.OpBlock{o}}, nil
		},
		found: func(p record.Probe) error {
			file.Probes = append(file.Probes, p)
			return nil
		},
	}
	if err := f.find(t.Context()); err != nil {
		t.Fatal(err)
	}
	file.Compute()
	if l := file.Limits[0]; !l.Confirmed || l.Rate > 480 || l.Rate < 440 {
		t.Errorf("the limit is %+v, want a rate below 480/s that is kept each time", l)
	}
}
