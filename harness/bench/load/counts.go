package load

import (
	"cmp"
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
	open []map[*openRequest]struct{} // requests that have begun and not ended, by block
	busy []time.Duration             // of all clients, by block

	slowest map[string]time.Duration // of the successful requests, by operation

	backlog backlog
}

func newCounts(blocks, clients int) *counts {
	c := &counts{
		clients: clients, by: make([]map[string]*record.OpBlock, blocks), open: make([]map[*openRequest]struct{}, blocks), busy: make([]time.Duration, blocks),
		slowest: map[string]time.Duration{},
	}
	for i := range c.by {
		c.by[i], c.open[i] = map[string]*record.OpBlock{}, map[*openRequest]struct{}{}
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

// openRequest is a request that has begun and not ended.
type openRequest struct {
	op    string
	due   time.Time
	block int // in which it was due, unless the load is ended before
}

// begin counts a request that was due in a block, until add is called when it has ended.
func (c *counts) begin(name string, block int, due time.Time) *openRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &openRequest{name, due, block}
	if c.op(name, block) != nil {
		c.open[block][r] = struct{}{}
	}
	return r
}

// add counts a request that was due in a block, and ended in that or a later one.
func (c *counts) add(r *openRequest, block, ended int, t timedOutcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := r.op
	if c.op(name, r.block) != nil {
		delete(c.open[r.block], r)
	}
	if t.Err == nil {
		c.slowest[name] = max(c.slowest[name], t.latency)
	}
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

// kindInterrupted is the kind of the error of a request that has not ended.
const kindInterrupted = "interrupted"

// blocks returns a copy of the first n blocks. A request that has not ended counts as an error if it
// takes longer than any other has taken, or else a daemon that hangs would look good.
func (c *counts) blocks(s Span, n int) []record.Block {
	out := make([]record.Block, n)
	now := time.Now()
	for i := range out {
		out[i] = c.block(i, now)
		out[i].Seconds = s.Block.Seconds()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(out) > 0 {
		out[0].LeftOut = c.left
		if c.backlog.every > 0 {
			out[0].Backlog = c.backlog.at(int(s.Block / c.backlog.every))
		}
	}
	return out
}

// block returns a copy of a block, with operations sorted by name. No request waits for the copies
// of the other blocks.
func (c *counts) block(i int, now time.Time) record.Block {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := record.Block{Ops: []record.OpBlock{}}
	if c.clients > 0 {
		busy := c.busy[i].Seconds() / float64(c.clients)
		b.BusySeconds = &busy
	}
	hanging := map[string]int64{}
	for r := range c.open[i] {
		if now.Sub(r.due) > c.slowest[r.op] {
			hanging[r.op]++
		}
	}
	for name, counted := range c.by[i] {
		o := counted.Clone()
		if n := hanging[name]; n > 0 {
			o.Offered += n
			o.Errors[kindInterrupted] += n
			o.FirstError = cmp.Or(o.FirstError, "the bench was stopped before the reply")
		}
		b.Ops = append(b.Ops, o)
	}
	slices.SortFunc(b.Ops, func(x, y record.OpBlock) int { return cmp.Compare(x.Op, y.Op) })
	return b
}
