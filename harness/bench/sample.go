package bench

import (
	"context"
	"time"

	"evalctl/harness/bench/load"
	"evalctl/harness/bench/record"
	"evalctl/harness/launch"
)

// sampleEvery is the interval for sampling a started daemon's resource use.
const sampleEvery = 200 * time.Millisecond

// sampler computes the resource use of blocks from looks at a daemon.
type sampler struct {
	block time.Duration
	used  []*record.Usage // by block, nil if unknown
	cpu   []time.Duration // used between the looks of a block
	spans []time.Duration // between the looks of a block
	at    time.Duration   // of the last look, negative before the first block
	last  launch.Usage
}

func newSampler(block time.Duration, blocks int) *sampler {
	return &sampler{
		block: block, used: make([]*record.Usage, blocks), cpu: make([]time.Duration, blocks), spans: make([]time.Duration, blocks), at: -1,
	}
}

// look takes a daemon's use at a time since the first block began. The time between two looks
// belongs to the block in which it began. What a block used between its looks is extrapolated to
// the whole block.
func (s *sampler) look(at time.Duration, now launch.Usage) {
	before, since := s.last, s.at
	s.last, s.at = now, at
	i := int(since / s.block)
	if since < 0 || i >= len(s.used) || at == since {
		return
	}
	if s.used[i] == nil {
		s.used[i] = &record.Usage{}
	}
	u := s.used[i]
	s.cpu[i] += max(0, now.CPU-before.CPU) // which is less if one of several processes has ended
	s.spans[i] += at - since
	u.CPUSeconds = s.cpu[i].Seconds() * s.block.Seconds() / s.spans[i].Seconds()
	u.RSSBytes, u.OpenFiles = max(u.RSSBytes, before.RSS, now.RSS), max(u.OpenFiles, before.OpenFiles, now.OpenFiles)
}

// sample samples a started daemon during blocks that begin now. The returned function waits for
// their end and returns the use of each block, nil if unknown.
func (a *arm) sample(ctx context.Context, span load.Span) func() []*record.Usage {
	p := a.session.Process()
	if p == nil {
		return func() []*record.Usage { return nil }
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan []*record.Usage)
	start := time.Now().Add(span.Lead)
	go func() {
		s := newSampler(span.Block, span.Blocks)
		tick := time.NewTicker(min(sampleEvery, span.Block/4))
		defer tick.Stop()
		for {
			since := time.Since(start)
			if u, ok := p.Usage(); ok {
				s.look(since, u)
			}
			if ctx.Err() != nil {
				done <- s.used
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	return func() []*record.Usage {
		stop()
		return <-done
	}
}
