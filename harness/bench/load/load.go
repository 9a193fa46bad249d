// Package load sends requests at the times of an arrival model, and counts their outcomes. It knows
// nothing about the requests.
package load

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"evalctl/harness/bench/record"
)

// Outcome is the outcome of one request.
type Outcome struct {
	// Err is nil for a successful request. Kind is the kind of the error, empty without one.
	Err  error
	Kind string
	// Ended is when the reply was complete, zero to use the return of Do.
	Ended time.Time
	// FirstDelta is the time to a stream's first delta, and Stream the time from there to its end.
	// Gaps are the times between deltas. Without a stream they are 0 and nil.
	FirstDelta, Stream time.Duration
	Gaps               []time.Duration
	Bytes              int64
	// The tokens and the cost of an answer. Priced is set if the cost is known.
	InputTokens, OutputTokens, CostNanoUSD int64
	Priced                                 bool
}

// Request is one request of a sequence. Op is its operation; Do sends it and waits for its end.
type Request struct {
	Op string
	Do func(ctx context.Context) Outcome
}

type dueKey struct{}

// Due returns when the request that Do's context belongs to was due.
func Due(ctx context.Context) time.Time { return ctx.Value(dueKey{}).(time.Time) }

// Work returns the requests of a sequence by number. Equal numbers return equal requests. It must
// be safe for concurrent use.
type Work func(number uint64) Request

// Profile says when requests begin.
type Profile struct {
	// Arrival is as in record.Plan.
	Arrival     string
	Concurrency int // of a closed loop
	// MaxInFlight limits the requests in flight in the open models. A request due beyond this limit
	// is dropped and counted.
	MaxInFlight int
	Stage       record.Stage
	Timeout     time.Duration // of a request, from its actual start
	Seed        uint64        // of Poisson arrivals
}

// Span is the duration of a load: Lead, which is discarded, then Blocks blocks of length Block.
type Span struct {
	Lead, Block time.Duration
	Blocks      int
	// Every is the interval for counting the backlog of an open model, 0 for never. Enough is
	// called with the counts so far. If it returns true, the load ends early with a shorter block;
	// there must be only one.
	Every  time.Duration
	Enough func(backlog []int64) bool
}

func (s Span) whole() time.Duration { return s.Lead + time.Duration(s.Blocks)*s.Block }

// Live is the current state of a load, for display. Its methods are safe for concurrent use.
type Live struct {
	load                                   atomic.Pointer[Load] // that goes on, nil before
	started, ok, failed, dropped, inFlight atomic.Int64

	mu     sync.Mutex
	recent [512]time.Duration // latencies, a ring buffer
	n      int
}

// Counts returns how many requests have begun, succeeded, failed and been dropped, and how many are
// in flight.
func (l *Live) Counts() (started, ok, failed, dropped, inFlight int64) {
	return l.started.Load(), l.ok.Load(), l.failed.Load(), l.dropped.Load(), l.inFlight.Load()
}

// Recent returns the latencies of recent successful requests in unspecified order.
func (l *Live) Recent() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]time.Duration(nil), l.recent[:min(l.n, len(l.recent))]...)
}

// Blocks returns a copy of the finished blocks. A request in flight counts as interrupted if it
// takes longer than any other of its operation has taken.
func (l *Live) Blocks() []record.Block {
	load := l.load.Load()
	if load == nil {
		return nil
	}
	return load.counts.blocks(load.span, load.over())
}

func (l *Live) add(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recent[l.n%len(l.recent)] = took
	l.n++
}

// Load is a running load.
type Load struct {
	profile  Profile
	span     Span
	work     Work
	live     *Live
	number   *atomic.Uint64 // of the next request
	start    time.Time
	counts   *counts
	ends     atomic.Int64 // of the last block, in nanoseconds since the first one began
	looked   int          // how many counts of the backlog Enough has seen
	inFlight atomic.Int64
	requests sync.WaitGroup
}

// Run sends requests for the duration of span, waits for all that have begun, and returns the
// outcomes by block. A request belongs to the block in which it was due; the block in which it
// ended is counted separately. number is the number of the first request, and is advanced to the
// next unused one; live may be nil.
//
// If ctx ends, Run returns the blocks completed by then, and the cause. A request that was cut off
// counts as interrupted if it took longer than any other of its operation had taken.
func Run(ctx context.Context, p Profile, span Span, work Work, number *atomic.Uint64, live *Live) ([]record.Block, error) {
	if live == nil {
		live = &Live{}
	}
	l := &Load{profile: p, span: span, work: work, live: live, number: number, start: time.Now()}
	clients := 0
	if p.Arrival == record.Closed {
		clients = p.Concurrency
	}
	l.counts = newCounts(span.Blocks, clients)
	l.counts.backlog.every = span.Every
	l.ends.Store(int64(span.Block) * int64(span.Blocks))
	live.load.Store(l)
	if clients > 0 {
		l.closed(ctx)
	} else {
		l.open(ctx)
	}
	l.requests.Wait()
	if ctx.Err() != nil {
		return l.counts.blocks(span, l.over()), context.Cause(ctx)
	}
	if span.Every > 0 {
		span.Block = time.Duration(l.ends.Load())
	}
	return l.counts.blocks(span, span.Blocks), nil
}

// over returns the number of finished blocks.
func (l *Load) over() int {
	return max(0, min(l.block(time.Now()), l.span.Blocks))
}

// closed runs workers that begin a request when their previous one has ended.
func (l *Load) closed(ctx context.Context) {
	end := l.start.Add(l.span.whole())
	for range l.profile.Concurrency {
		l.requests.Go(func() {
			for ctx.Err() == nil {
				now := time.Now()
				if !now.Before(end) {
					return
				}
				l.send(ctx, l.work(l.number.Add(1)-1), now)
				l.counts.keptBusy(l.block(now), time.Since(now))
			}
		})
	}
}

// open begins requests at the times of the arrival model. If the generator is late, it begins them
// at once, with latencies measured from the due time.
func (l *Load) open(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	arrivals := newArrivals(l.profile, l.span)
	for {
		offset, ok := arrivals.next()
		if !ok || l.enough(offset-l.span.Lead) {
			return
		}
		intended := l.start.Add(offset)
		if wait := time.Until(intended); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		} else if ctx.Err() != nil {
			return
		}
		r := l.work(l.number.Add(1) - 1)
		if l.inFlight.Load() >= int64(l.profile.MaxInFlight) {
			l.live.dropped.Add(1)
			l.counts.drop(r.Op, l.block(intended))
			continue
		}
		l.inFlight.Add(1)
		l.counts.mark(l.since(intended), 1)
		l.requests.Go(func() {
			defer l.inFlight.Add(-1)
			l.send(ctx, r, intended)
		})
	}
}

// enough reports whether Enough ends the load before an arrival at this time since the first block
// began.
func (l *Load) enough(since time.Duration) bool {
	if l.span.Every == 0 || int(since/l.span.Every) <= l.looked {
		return false
	}
	l.looked = int(since / l.span.Every)
	if !l.span.Enough(l.counts.backlogs(l.looked)) {
		return false
	}
	l.ends.Store(int64(since))
	return true
}

// since returns the time from the beginning of the first block, negative before it.
func (l *Load) since(at time.Time) time.Duration { return at.Sub(l.start) - l.span.Lead }

// block returns the index of the block that contains a time, negative before the first one.
func (l *Load) block(at time.Time) int {
	switch since := l.since(at); {
	case since < 0:
		return -1
	case since >= time.Duration(l.ends.Load()):
		return l.span.Blocks
	default:
		return int(since / l.span.Block)
	}
}

// send sends a request that was due at the time intended.
func (l *Load) send(ctx context.Context, r Request, intended time.Time) {
	l.live.started.Add(1)
	l.live.inFlight.Add(1)
	open := l.counts.begin(r.Op, l.block(intended), intended)
	defer l.live.inFlight.Add(-1)
	rctx, cancel := context.WithTimeout(context.WithValue(ctx, dueKey{}, intended), l.profile.Timeout)
	began := time.Now()
	o := r.Do(rctx)
	ended := o.Ended
	if ended.IsZero() {
		ended = time.Now()
	}
	cancel()
	l.counts.mark(l.since(ended), -1)
	if ctx.Err() != nil && o.Err != nil {
		return // it was cut off
	}
	if o.Err != nil {
		l.live.failed.Add(1)
	} else {
		l.live.ok.Add(1)
		l.live.add(ended.Sub(intended))
	}
	l.counts.add(open, l.block(intended), l.block(ended), timedOutcome{o, ended.Sub(intended), ended.Sub(began)})
}

// arrivals are the due times of requests in an open model, relative to the start.
type arrivals struct {
	profile Profile
	span    Span
	random  *rand.Rand
	at      float64 // the number of arrivals expected so far
}

func newArrivals(p Profile, s Span) *arrivals {
	return &arrivals{profile: p, span: s, random: rand.New(rand.NewPCG(p.Seed, 0xa221a1))}
}

// next returns the time of the next arrival. ok is false after the end.
func (a *arrivals) next() (offset time.Duration, ok bool) {
	at := a.at
	if a.profile.Arrival == record.Poisson {
		// The expected number of arrivals between two arrivals of a Poisson process is exponential
		// with mean 1, whatever the rate.
		a.at += a.random.ExpFloat64()
		at = a.at
	} else {
		a.at++
	}
	seconds := a.time(at)
	offset = time.Duration(seconds * float64(time.Second))
	return offset, offset < a.span.whole()
}

// time returns when n arrivals are expected. The lead has the rate at the start of the first block.
// In each block the rate changes from From to To, so after t, n = From·t + (To-From)·t²/(2·block)
// arrivals are expected.
func (a *arrivals) time(n float64) float64 {
	from, to := a.profile.Stage.From, a.profile.Stage.To
	lead, block := a.span.Lead.Seconds(), a.span.Block.Seconds()
	if n < from*lead {
		return n / from
	}
	n -= from * lead
	each := (from + to) / 2 * block
	whole := float64(int(n / each))
	rest := n - whole*each
	return lead + whole*block + solve(from, (to-from)/block, rest)
}
