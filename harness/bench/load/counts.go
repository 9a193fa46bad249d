package load

import (
	"math"
	"slices"
	"sync"
	"time"

	"evalctl/harness/bench/record"
)

// solve returns t >= 0 with rate·t + slope·t²/2 = n.
func solve(rate, slope, n float64) float64 {
	if slope == 0 {
		return n / rate
	}
	return 2 * n / (rate + math.Sqrt(max(0, rate*rate+2*slope*n)))
}

// timedOutcome is an outcome with its times.
type timedOutcome struct {
	Outcome
	latency, service time.Duration
}

// counts holds the outcomes of requests by block and operation. Its size does not depend on the
// number of requests.
type counts struct {
	clients int // of a closed loop, 0 in an open model

	mu   sync.Mutex
	left int64 // out, before the first block
	by   []map[string]*record.OpBlock
	busy []time.Duration // of all clients, by block

	backlog backlog
}

func newCounts(blocks, clients int) *counts {
	c := &counts{clients: clients, by: make([]map[string]*record.OpBlock, blocks), busy: make([]time.Duration, blocks)}
	for i := range c.by {
		c.by[i] = map[string]*record.OpBlock{}
	}
	return c
}

// op returns the counts of an operation in a block, nil outside of all blocks. mu must be held.
func (c *counts) op(name string, block int) *record.OpBlock {
	if block < 0 || block >= len(c.by) {
		return nil
	}
	o := c.by[block][name]
	if o == nil {
		o = &record.OpBlock{Op: name, Errors: map[string]int64{}}
		c.by[block][name] = o
	}
	return o
}

// offer counts a request that was due in a block. mu must be held.
func (c *counts) offer(name string, block int) *record.OpBlock {
	o := c.op(name, block)
	if o == nil {
		c.left++
		return nil
	}
	o.Offered++
	return o
}

// keptBusy adds the time that a request begun in a block kept a client busy.
func (c *counts) keptBusy(block int, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if block >= 0 && block < len(c.busy) {
		c.busy[block] += took
	}
}

func (c *counts) drop(name string, block int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.offer(name, block); o != nil {
		o.Dropped++
	}
}

// add counts a request that was due in a block, and ended in that or a later one.
func (c *counts) add(name string, block, ended int, t timedOutcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.op(name, ended); o != nil && t.Err == nil {
		o.InTime++
	}
	o := c.offer(name, block)
	if o == nil {
		return
	}
	if t.Err != nil {
		o.Errors[t.Kind]++
		if o.FirstError == "" {
			o.FirstError = t.Err.Error()
		}
		return
	}
	o.OK++
	o.Bytes += t.Bytes
	add(&o.Latency, t.latency)
	if c.clients == 0 {
		add(&o.Service, t.service)
	}
	if t.FirstDelta > 0 {
		add(&o.FirstDelta, t.FirstDelta)
		add(&o.Stream, t.Stream)
	}
	for _, g := range t.Gaps {
		add(&o.Gap, g)
	}
	o.InputTokens, o.OutputTokens = o.InputTokens+t.InputTokens, o.OutputTokens+t.OutputTokens
	if t.Priced {
		o.Priced, o.CostNanoUSD = o.Priced+1, o.CostNanoUSD+t.CostNanoUSD
	}
}

func add(h **record.Histogram, d time.Duration) {
	if *h == nil {
		*h = record.NewHistogram()
	}
	(*h).Add(int64(d))
}

// blocks returns a copy of the first n blocks, with operations sorted by name.
func (c *counts) blocks(s Span, n int) []record.Block {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]record.Block, n)
	for i, by := range c.by[:n] {
		out[i] = record.Block{Seconds: s.Block.Seconds(), Ops: []record.OpBlock{}}
		if c.clients > 0 {
			busy := c.busy[i].Seconds() / float64(c.clients)
			out[i].BusySeconds = &busy
		}
		for _, o := range by {
			out[i].Ops = append(out[i].Ops, o.Clone())
		}
		slices.SortFunc(out[i].Ops, func(a, b record.OpBlock) int {
			if a.Op < b.Op {
				return -1
			}
			return 1
		})
	}
	if len(out) > 0 {
		out[0].LeftOut = c.left
		if c.backlog.every > 0 {
			out[0].Backlog = c.backlog.at(int(s.Block / c.backlog.every))
		}
	}
	return out
}
