package bench

import (
	"context"
	"time"

	"evalctl/harness/bench/load"
	"evalctl/harness/bench/record"
)

// sampleEvery is the interval for sampling a started daemon's resource use.
const sampleEvery = 200 * time.Millisecond

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
		usage := make([]*record.Usage, span.Blocks)
		var cpu time.Duration // at the beginning of the block
		current := -1
		look := func(block int) {
			u, ok := p.Usage()
			if !ok {
				return
			}
			if block != current {
				if current >= 0 && usage[current] != nil {
					usage[current].CPUSeconds = (u.CPU - cpu).Seconds()
				}
				current, cpu = block, u.CPU
			}
			if block < 0 || block >= span.Blocks {
				return
			}
			if usage[block] == nil {
				usage[block] = &record.Usage{}
			}
			x := usage[block]
			x.CPUSeconds = (u.CPU - cpu).Seconds()
			x.RSSBytes, x.OpenFiles = max(x.RSSBytes, u.RSS), max(x.OpenFiles, u.OpenFiles)
		}
		tick := time.NewTicker(min(sampleEvery, span.Block/4))
		defer tick.Stop()
		for {
			block := -1
			if since := time.Since(start); since >= 0 {
				block = int(since / span.Block)
			}
			if block < span.Blocks {
				look(block)
			} else if current < span.Blocks {
				look(span.Blocks) // ends the last block
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				done <- usage
				return
			}
		}
	}()
	return func() []*record.Usage {
		stop()
		return <-done
	}
}
