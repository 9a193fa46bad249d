package load_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/harness/bench/load"
	"evalctl/harness/bench/record"
)

// stub is a service whose answers take a time each, in the time of a bubble of synctest.
func stub(takes func(number uint64) time.Duration) load.Work {
	return func(number uint64) load.Request {
		return load.Request{Op: "search", Do: func(ctx context.Context) load.Outcome {
			select {
			case <-time.After(takes(number)):
				return load.Outcome{}
			case <-ctx.Done():
				return load.Outcome{Err: ctx.Err(), Kind: "timeout"}
			}
		}}
	}
}

// run runs load in a bubble and returns the figures of all blocks together.
func run(t *testing.T, p load.Profile, s load.Span, w load.Work) record.OpFigures {
	t.Helper()
	var blocks []record.Block
	synctest.Test(t, func(t *testing.T) {
		var err error
		if blocks, err = load.Run(t.Context(), p, s, w, new(atomic.Uint64), nil); err != nil {
			t.Fatal(err)
		}
	})
	for i := range blocks {
		blocks[i].Round = i
	}
	f := record.File{
		Plan:    record.Plan{Arrival: p.Arrival, Stages: []record.Stage{p.Stage}, Sizes: []int{0}, Rounds: s.Blocks},
		Targets: []record.Target{{Name: "stub"}}, Blocks: blocks,
	}
	f.Compute()
	return f.Summaries[0].Ops[0]
}

func constant(rate float64) load.Profile {
	return load.Profile{
		Arrival: record.Constant, MaxInFlight: 1000, Stage: record.Stage{From: rate, To: rate}, Timeout: time.Minute,
	}
}

// freezing answers in 5 ms, but stands still for one second in every ten.
func freezing() load.Work {
	start := sync.OnceValue(time.Now)
	return stub(func(uint64) time.Duration {
		const every, frozen, work = 10 * time.Second, time.Second, 5 * time.Millisecond
		if in := (time.Since(start()) + every/2) % every; in < frozen {
			return frozen - in + work
		}
		return work
	})
}

func TestConstantRateShowsStalls(t *testing.T) {
	o := run(t, constant(100), load.Span{Block: 10 * time.Second, Blocks: 6}, freezing())
	if o.Offered != 6000 || o.OK != 6000 {
		t.Errorf("%d offered, %d answered, want 6000", o.Offered, o.OK)
	}
	if p99 := o.Latency.P99.Value; p99 < 800 {
		t.Errorf("p99 is %.0f ms; a stop of a second in ten must show as more than 800 ms", p99)
	}
	if p50 := o.Latency.P50.Value; p50 > 6 {
		t.Errorf("p50 is %.1f ms, want that of the requests outside stalls, 5 ms", p50)
	}
}

func TestClosedLoopHidesStalls(t *testing.T) {
	p := load.Profile{Arrival: record.Closed, Concurrency: 8, Timeout: time.Minute}
	o := run(t, p, load.Span{Block: 10 * time.Second, Blocks: 6}, freezing())
	if p99 := o.Latency.P99.Value; p99 > 50 {
		t.Errorf("p99 is %.0f ms; in a closed loop a stop delays only 8 requests, so it must be below 50 ms", p99)
	}
	if o.Service != nil {
		t.Error("a closed loop has a service time of its own")
	}
	if max := o.Latency.Max; max < 900 {
		t.Errorf("the maximum is %.0f ms, want the stall", max)
	}
}

// exponential returns latencies with a mean by the number of the request.
func exponential(mean time.Duration, seed uint64) func(uint64) time.Duration {
	return func(number uint64) time.Duration {
		return time.Duration(rand.New(rand.NewPCG(seed, number)).ExpFloat64() * float64(mean))
	}
}

func TestQuantilesOfExponentialLatencies(t *testing.T) {
	for _, arrival := range []string{record.Constant, record.Poisson} {
		p := constant(2000)
		p.Arrival = arrival
		o := run(t, p, load.Span{Block: 3 * time.Second, Blocks: 40}, stub(exponential(20*time.Millisecond, 3)))
		for _, q := range []struct {
			p     float64
			found *record.Quantity
		}{{0.5, o.Latency.P50}, {0.9, o.Latency.P90}, {0.99, o.Latency.P99}, {0.999, o.Latency.P999}} {
			want := -20 * math.Log(1-q.p)
			if math.Abs(q.found.Value/want-1) > 0.02 {
				t.Errorf("%s: quantile %v is %.2f ms, want %.2f ms within 2 %%", arrival, q.p, q.found.Value, want)
			}
			if q.found.Low == nil || *q.found.Low > q.found.Value || q.found.High != nil && q.found.Value > *q.found.High {
				t.Errorf("%s: quantile %v lies outside its interval", arrival, q.p)
			}
		}
	}
}

// The rate is known also if requests take longer than the blocks in which they begin.
func TestRateOfLongRequests(t *testing.T) {
	closed := load.Profile{Arrival: record.Closed, Concurrency: 8, Timeout: time.Minute}
	for _, c := range []struct {
		name    string
		profile load.Profile
		span    load.Span
		takes   func(uint64) time.Duration
		want    float64
	}{
		{"closed, all alike", closed, load.Span{Block: time.Second, Blocks: 30}, always(1600 * time.Millisecond), 5},
		{"closed, one block", closed, load.Span{Block: time.Second, Blocks: 1}, always(1600 * time.Millisecond), 5},
		{"closed, of a mix", closed, load.Span{Block: 2 * time.Second, Blocks: 300}, exponential(1600*time.Millisecond, 5), 5},
		{"rate", constant(5), load.Span{Lead: 3200 * time.Millisecond, Block: time.Second, Blocks: 30}, always(3200 * time.Millisecond), 5},
	} {
		o := run(t, c.profile, c.span, stub(c.takes))
		if math.Abs(o.Rate.Value/c.want-1) > 0.03 {
			t.Errorf("%s: the rate is %.3f/s, want %v/s within 3 %%", c.name, o.Rate.Value, c.want)
		}
	}
}

func always(took time.Duration) func(uint64) time.Duration {
	return func(uint64) time.Duration { return took }
}

// A service that does one request at a time keeps 10 a second, whatever is asked for.
func TestRateOfFullService(t *testing.T) {
	busy := sync.OnceValue(func() chan bool { return make(chan bool, 1) }) // of the bubble
	w := func(uint64) load.Request {
		return load.Request{Op: "search", Do: func(context.Context) load.Outcome {
			busy() <- true
			defer func() { <-busy() }()
			time.Sleep(100 * time.Millisecond)
			return load.Outcome{}
		}}
	}
	o := run(t, constant(20), load.Span{Block: time.Second, Blocks: 10}, w)
	if math.Abs(o.Rate.Value-10) > 0.2 {
		t.Errorf("the rate is %.2f/s, want 10/s", o.Rate.Value)
	}
}

func TestDroppedIsCountedNotDelayed(t *testing.T) {
	p := constant(100)
	p.MaxInFlight = 10
	o := run(t, p, load.Span{Block: time.Second, Blocks: 10}, stub(func(uint64) time.Duration { return 500 * time.Millisecond }))
	// Ten at a time of half a second are 20 a second.
	if o.OK < 195 || o.OK > 205 || o.OK+o.Dropped != o.Offered || o.Offered != 1000 {
		t.Errorf("%d answered, %d dropped of %d offered, want 200 and 800 of 1000", o.OK, o.Dropped, o.Offered)
	}
	if o.Latency.Max > 501 {
		t.Errorf("a request took %.0f ms: it was delayed", o.Latency.Max)
	}
	if math.Abs(o.ErrorShare-0.8) > 0.01 {
		t.Errorf("the share of errors is %.2f, want that of what was dropped, 0.8", o.ErrorShare)
	}
}

func TestArrivalModels(t *testing.T) {
	at := func(p load.Profile, s load.Span) (offsets []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			w := func(uint64) load.Request {
				offsets = append(offsets, time.Since(start)) // only the loop of arrivals calls it
				return load.Request{Op: "x", Do: func(context.Context) load.Outcome { return load.Outcome{} }}
			}
			if _, err := load.Run(t.Context(), p, s, w, new(atomic.Uint64), nil); err != nil {
				t.Fatal(err)
			}
		})
		return offsets
	}
	second := load.Span{Block: time.Second, Blocks: 1}
	if got := at(constant(4), second); len(got) != 4 || got[1] != 250*time.Millisecond {
		t.Errorf("constant: %v", got)
	}
	ramp := constant(0)
	ramp.Stage = record.Stage{From: 100, To: 300}
	got := at(ramp, load.Span{Block: 10 * time.Second, Blocks: 1})
	half := 0
	for _, o := range got {
		if o < 5*time.Second {
			half++
		}
	}
	if len(got) != 2000 || half != 750 { // 100·5 + 20·25/2
		t.Errorf("ramp: %d arrivals, %d in the first half, want 2000 and 750", len(got), half)
	}
	poisson := constant(1000)
	poisson.Arrival = record.Poisson
	got = at(poisson, load.Span{Block: 20 * time.Second, Blocks: 1})
	if n := len(got); n < 19_500 || n > 20_500 { // 3.5 standard deviations
		t.Errorf("poisson: %d arrivals in 20 s, want about 20,000", n)
	}
	long := 0 // gaps of more than the mean, of which an exponential distribution has 1/e
	for i := range got[1:] {
		if got[i+1]-got[i] > time.Millisecond {
			long++
		}
	}
	if share := float64(long) / float64(len(got)); math.Abs(share-1/math.E) > 0.02 {
		t.Errorf("poisson: %.3f of the gaps are longer than the mean, want %.3f", share, 1/math.E)
	}
}

func TestFailuresAreCountedByKind(t *testing.T) {
	work := func(number uint64) load.Request {
		return load.Request{Op: "put", Do: func(context.Context) load.Outcome {
			if number%4 == 0 {
				return load.Outcome{Err: errors.New("no space"), Kind: "status 507"}
			}
			return load.Outcome{Bytes: 10}
		}}
	}
	o := run(t, constant(100), load.Span{Lead: time.Second, Block: time.Second, Blocks: 4}, work)
	if o.Errors["status 507"] != 100 || o.OK != 300 || o.ErrorShare != 0.25 || o.FirstError != "no space" || o.BytesMean != 10 {
		t.Errorf("%+v", o)
	}
}

func TestInterruptedLoadKeepsWholeBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		blocks, err := load.Run(ctx, constant(10), load.Span{Block: time.Second, Blocks: 5},
			stub(func(uint64) time.Duration { return time.Millisecond }), new(atomic.Uint64), nil)
		if !errors.Is(err, context.DeadlineExceeded) || len(blocks) != 2 {
			t.Errorf("%d blocks, %v; want the two whole ones and the cause", len(blocks), err)
		}
	})
}

// Requests that hang when the load is stopped count in the finished blocks in which they were due,
// also in those that are saved meanwhile.
func TestInterruptedRequestsAreCounted(t *testing.T) {
	hanging := stub(func(number uint64) time.Duration {
		if number%10 == 5 {
			return time.Hour
		}
		return time.Millisecond
	})
	closed := load.Profile{Arrival: record.Closed, Concurrency: 1, Timeout: time.Hour}
	for _, c := range []struct {
		profile load.Profile
		work    load.Work
		want    []int64 // interrupted, by block
	}{
		{constant(10), hanging, []int64{1, 1}}, {closed, hanging, []int64{1, 0}},
		{constant(10), stub(func(uint64) time.Duration { return 950 * time.Millisecond }), []int64{0, 0}}, // slow as ever
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2800*time.Millisecond)
			defer cancel()
			var live load.Live
			interim := make(chan []record.Block, 1)
			time.AfterFunc(2700*time.Millisecond, func() { interim <- live.Blocks() })
			c.profile.Timeout = time.Hour
			blocks, err := load.Run(ctx, c.profile, load.Span{Block: time.Second, Blocks: 5}, c.work, new(atomic.Uint64), &live)
			saved := <-interim
			if !errors.Is(err, context.DeadlineExceeded) || len(blocks) != 2 || len(saved) != 2 {
				t.Fatalf("%d blocks, %d saved, %v", len(blocks), len(saved), err)
			}
			for i, want := range c.want {
				for _, b := range []record.Block{blocks[i], saved[i]} {
					n, failed := int64(0), int64(0)
					for _, o := range b.Ops {
						n, failed = n+o.Offered-o.OK, failed+o.Errors["interrupted"]
					}
					if n != want || failed != want {
						t.Errorf("%s: %d of block %d did not succeed, %d were interrupted, want %d", c.profile.Arrival, n, i, failed, want)
					}
				}
			}
		})
	}
}

// A request that begins late because the generator was busy has a latency from when it should have
// begun, and a service time from when it did.
func TestLatencyCountsFromTheIntendedStart(t *testing.T) {
	answer := stub(func(uint64) time.Duration { return 5 * time.Millisecond })
	busy := func(number uint64) load.Request {
		if number == 100 {
			time.Sleep(time.Second) // in the loop that begins requests
		}
		return answer(number)
	}
	o := run(t, constant(100), load.Span{Block: 5 * time.Second, Blocks: 1}, busy)
	if o.Offered != 500 || o.Latency.Max < 990 || o.Latency.P90.Value < 400 {
		t.Errorf("of %d requests the slowest took %.0f ms, p90 is %.0f ms; a fifth of them should have begun during a second",
			o.Offered, o.Latency.Max, o.Latency.P90.Value)
	}
	if o.Service.Max > 6 {
		t.Errorf("the service time is at most %.0f ms, want 5 ms", o.Service.Max)
	}
}

// The backlog is how many requests should have begun and have not ended. Those of a load that is
// ended early belong to a block that is as long as the load was.
func TestBacklog(t *testing.T) {
	for _, c := range []struct {
		enough func([]int64) bool
		blocks float64 // seconds
		want   []int64
	}{
		{func([]int64) bool { return false }, 4, []int64{20, 29, 29, 29}},
		{func(b []int64) bool { return len(b) == 2 }, 2, []int64{20, 29}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := load.Span{Lead: time.Second, Block: 4 * time.Second, Blocks: 1, Every: time.Second, Enough: c.enough}
			blocks, err := load.Run(t.Context(), constant(10), s, stub(always(2950*time.Millisecond)), new(atomic.Uint64), nil)
			if err != nil {
				t.Fatal(err)
			}
			b := blocks[0]
			if n := int64(c.blocks * 10); b.Seconds != c.blocks || b.LeftOut != 10 || b.Ops[0].Offered != n || b.Ops[0].OK != n {
				t.Errorf("a block of %v s with %+v", b.Seconds, b.Ops[0])
			}

			if !slices.Equal(b.Backlog, c.want) { // a second of lead and one of the block have begun at first
				t.Errorf("the backlog is %d, want %d", b.Backlog, c.want)
			}
		})
	}
}
