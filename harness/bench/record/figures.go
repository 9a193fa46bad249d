package record

import (
	"math"
	"slices"

	"evalctl/internal/stats"
)

const (
	confidence = 0.95
	seed       = 1
	// fewestBlocks is the minimum number of blocks for the interval of a mean.
	fewestBlocks = 5
	// near is how many times better the null daemon must be for a figure to be the target's own.
	near = 2
)

// Quantity is a figure with its interval at confidence 0.95. Low and High are nil if there are too
// few blocks, or if blocks that follow each other are too alike. High alone is nil for a quantile
// without an upper bound.
type Quantity struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	// Near is set if the null daemon's figure is less than twice as good, so that the generator may
	// be the limit.
	Near bool `json:"near_limit,omitempty"`
}

// Times are the quantiles of a time in milliseconds. In the quantiles, but not in N, Mean and Max,
// failed requests count as slower than any other. A quantile is nil if it falls on a failed
// request, or if there are too few requests for a distribution-free interval (stats.QuantileCIMin).
type Times struct {
	N    int64     `json:"n"`
	Mean float64   `json:"mean_ms"`
	P50  *Quantity `json:"p50_ms"`
	P90  *Quantity `json:"p90_ms"`
	P99  *Quantity `json:"p99_ms"`
	P999 *Quantity `json:"p999_ms"`
	Max  float64   `json:"max_ms"`
}

// quantiles are the quantiles in Times, in field order.
var quantiles = []float64{0.5, 0.9, 0.99, 0.999}

// Summary has the figures of one target at one stage and size.
type Summary struct {
	Target  int     `json:"target"`
	Stage   int     `json:"stage"`
	Size    int     `json:"size"`
	Seconds float64 `json:"seconds"`
	Blocks  int     `json:"blocks"`
	// Ops are the operations, followed by their sum under the name all if there are several.
	Ops       []OpFigures `json:"ops"`
	Resources *Resources  `json:"resources"`
}

// All is the name of the sum over all operations.
const All = "all"

// OpFigures are the figures of one operation.
type OpFigures struct {
	Op      string           `json:"op"`
	Offered int64            `json:"offered"`
	OK      int64            `json:"ok"`
	Dropped int64            `json:"dropped"`
	Errors  map[string]int64 `json:"errors"`
	// ErrorShare is the share of the offered requests that failed or were dropped.
	ErrorShare float64 `json:"error_share"`
	// OfferedRate is the number of requests per second that should have begun, Rate the number that
	// succeeded.
	OfferedRate float64   `json:"offered_rate"`
	Rate        *Quantity `json:"rate"`
	Latency     *Times    `json:"latency"`
	Service     *Times    `json:"service"`
	FirstDelta  *Times    `json:"first_delta"`
	Gap         *Times    `json:"gap"`
	Stream      *Times    `json:"stream"`
	BytesMean   float64   `json:"bytes_mean"`
	// CostPer1000 is the cost of 1,000 requests in dollars, nil if no priced usage was reported.
	CostPer1000 *float64 `json:"usd_per_1000"`
	FirstError  string   `json:"first_error,omitempty"`
}

// Resources are the resources that a started daemon used.
type Resources struct {
	// CPU is in processors: 1.5 means one and a half of them all the time.
	CPU       *Quantity `json:"cpu"`
	RSSBytes  int64     `json:"rss_bytes"`
	OpenFiles int       `json:"open_files"`
}

// Compute sets the figures from the rest of the file.
func (f *File) Compute() {
	f.Figures = Figures{
		Summaries: []Summary{}, Comparisons: []Comparison{}, Growth: []Growth{}, Limits: []Limit{}, Verdicts: []Verdict{},
	}
	for stage := range f.Plan.Stages {
		for _, size := range f.Plan.Sizes {
			for t := range f.Targets {
				if blocks := f.blocks(t, stage, size); len(blocks) > 0 {
					f.Summaries = append(f.Summaries, summarise(blocks))
				}
			}
		}
	}
	f.mark()
	f.compare()
	f.compareBaseline()
	f.grow()
	f.limits()
	f.judge()
}

// blocks returns the blocks of a target at a stage and size, by round.
func (f *File) blocks(target, stage, size int) []Block {
	return blocksOf(f.Blocks, target, stage, size)
}

func blocksOf(all []Block, target, stage, size int) []Block {
	var out []Block
	for _, b := range all {
		if b.Target == target && b.Stage == stage && b.Size == size {
			out = append(out, b)
		}
	}
	slices.SortStableFunc(out, func(a, b Block) int { return a.Round - b.Round })
	return out
}

// Succeeded reports whether any request of the block succeeded.
func (b Block) Succeeded() bool {
	return slices.ContainsFunc(b.Ops, func(o OpBlock) bool { return o.OK > 0 })
}

// op returns the block's data for an operation, or the sum over all operations for All. ok is false
// if there is none.
func (b Block) op(name string) (sum OpBlock, ok bool) {
	if name != All {
		i := slices.IndexFunc(b.Ops, func(o OpBlock) bool { return o.Op == name })
		if i < 0 {
			return OpBlock{}, false
		}
		return b.Ops[i], true
	}
	return total(All, b.Ops), len(b.Ops) > 0
}

// total adds up operations. Stream times are kept only for a single operation.
func total(name string, ops []OpBlock) OpBlock {
	sum := OpBlock{Op: name, Errors: map[string]int64{}}
	pick := func(of func(OpBlock) *Histogram) *Histogram {
		hs := make([]*Histogram, len(ops))
		for i, o := range ops {
			hs[i] = of(o)
		}
		return merge(hs...)
	}
	for _, o := range ops {
		sum.Offered, sum.OK, sum.InTime = sum.Offered+o.Offered, sum.OK+o.OK, sum.InTime+o.InTime
		sum.Dropped, sum.Bytes = sum.Dropped+o.Dropped, sum.Bytes+o.Bytes
		sum.Priced, sum.CostNanoUSD = sum.Priced+o.Priced, sum.CostNanoUSD+o.CostNanoUSD
		sum.InputTokens, sum.OutputTokens = sum.InputTokens+o.InputTokens, sum.OutputTokens+o.OutputTokens
		for kind, n := range o.Errors {
			sum.Errors[kind] += n
		}
		if sum.FirstError == "" {
			sum.FirstError = o.FirstError
		}
	}
	sum.Latency = pick(func(o OpBlock) *Histogram { return o.Latency })
	sum.Service = pick(func(o OpBlock) *Histogram { return o.Service })
	if name != All {
		sum.FirstDelta = pick(func(o OpBlock) *Histogram { return o.FirstDelta })
		sum.Gap = pick(func(o OpBlock) *Histogram { return o.Gap })
		sum.Stream = pick(func(o OpBlock) *Histogram { return o.Stream })
	}
	return sum
}

// names returns the operations in blocks, followed by All if there are several.
func names(blocks []Block) []string {
	var out []string
	for _, b := range blocks {
		for _, o := range b.Ops {
			if !slices.Contains(out, o.Op) {
				out = append(out, o.Op)
			}
		}
	}
	slices.Sort(out)
	if len(out) > 1 {
		out = append(out, All)
	}
	return out
}

// summarise returns the figures of the blocks of one target, stage and size.
func summarise(blocks []Block) Summary {
	s := Summary{
		Target: blocks[0].Target, Stage: blocks[0].Stage, Size: blocks[0].Size, Blocks: len(blocks), Ops: []OpFigures{},
	}
	for _, b := range blocks {
		s.Seconds += b.Seconds
	}
	for _, name := range names(blocks) {
		s.Ops = append(s.Ops, opFigures(name, blocks, s.Seconds))
	}
	s.Resources = resources(blocks)
	return s
}

// opFigures returns the figures of one operation over blocks that lasted whole seconds in total.
func opFigures(name string, blocks []Block, whole float64) OpFigures {
	parts := make([]OpBlock, len(blocks))
	done, seconds := make([]float64, len(blocks)), make([]float64, len(blocks))
	for i, b := range blocks {
		parts[i], _ = b.op(name)
		done[i], seconds[i] = b.done(parts[i])
	}
	sum := total(name, parts)
	f := OpFigures{
		Op: name, Offered: sum.Offered, OK: sum.OK, Dropped: sum.Dropped, Errors: sum.Errors,
		OfferedRate: float64(sum.Offered) / whole, Rate: meanOf(ratios(done, seconds)), FirstError: sum.FirstError,
	}
	if sum.Offered > 0 {
		f.ErrorShare = float64(sum.lost()) / float64(sum.Offered)
	}
	if sum.OK > 0 {
		f.BytesMean = float64(sum.Bytes) / float64(sum.OK)
	}
	if sum.Priced > 0 {
		usd := float64(sum.CostNanoUSD) / 1e9 / float64(sum.Priced) * 1000
		f.CostPer1000 = &usd
	}
	times := func(of func(OpBlock) *Histogram, counted bool) *Times {
		hs, lost := make([]*Histogram, len(parts)), make([]int64, len(parts))
		for i, p := range parts {
			if hs[i] = of(p); counted {
				lost[i] = p.lost()
			}
		}
		return timesOf(hs, lost)
	}
	f.Latency = times(func(o OpBlock) *Histogram { return o.Latency }, true)
	f.Service = times(func(o OpBlock) *Histogram { return o.Service }, true)
	if name != All {
		f.FirstDelta = times(func(o OpBlock) *Histogram { return o.FirstDelta }, true)
		f.Gap = times(func(o OpBlock) *Histogram { return o.Gap }, false) // a reply has any number of these
		f.Stream = times(func(o OpBlock) *Histogram { return o.Stream }, true)
	}
	return f
}

// meanOf returns the mean of one value per block, in their order, with its interval.
func meanOf(values []float64) *Quantity {
	q := &Quantity{Value: stats.Mean(values)}
	if reach, ok := reachOf(values, inflation(values, 0)); ok && len(values) >= fewestBlocks {
		low, high := max(0, q.Value-reach), q.Value+reach
		q.Low, q.High = &low, &high
	}
	return q
}

// done returns how many requests of an operation succeeded, and in what time. In an open model, it
// counts the requests that ended during the block. In a closed loop that would undercount, because
// a block begins with no requests in flight. Done then counts all requests that began in the block,
// and the time until the clients finished them.
func (b Block) done(o OpBlock) (n, seconds float64) {
	if b.BusySeconds != nil {
		return float64(o.OK), *b.BusySeconds
	}
	return float64(o.InTime), b.Seconds
}

// ratios returns one value per block. Their mean is the ratio of the sums of n and seconds, and
// their variance is the variance of this ratio to first order.
func ratios(n, seconds []float64) []float64 {
	each := stats.Mean(seconds)
	if each == 0 {
		return n // no request was over
	}
	ratio := stats.Mean(n) / each
	out := make([]float64, len(n))
	for i := range n {
		out[i] = ratio + (n[i]-ratio*seconds[i])/each
	}
	return out
}

// milliseconds converts nanoseconds.
func milliseconds(ns int64) float64 { return float64(ns) / 1e6 }

// timesOf returns the quantiles of the histograms of blocks, nil without values. lost is the number
// of failed requests of each block, which count as slower than any other.
func timesOf(blocks []*Histogram, lost []int64) *Times {
	sum := merge(blocks...)
	n := sum.N()
	if n == 0 {
		return nil
	}
	all := n
	for _, l := range lost {
		all += l
	}
	t := &Times{N: n, Mean: sum.h.Mean() / 1e6, Max: milliseconds(sum.h.Max())}
	b := newBars(blocks)
	for i, to := range []**Quantity{&t.P50, &t.P90, &t.P99, &t.P999} {
		p := quantiles[i]
		v := sum.among(p, all)
		if all < int64(stats.QuantileCIMin(p, confidence)) || v == never {
			continue
		}
		q := &Quantity{Value: milliseconds(v)}
		if lo, hi, ok := b.interval(p, v, lost); ok {
			lo, hi = min(lo, q.Value), max(hi, q.Value)
			q.Low, q.High = &lo, finite(hi)
		}
		*to = q
	}
	return t
}

// resources returns the resources used over blocks, nil if any block lacks them.
func resources(blocks []Block) *Resources {
	var r Resources
	cpu := make([]float64, len(blocks))
	for i, b := range blocks {
		if b.Resources == nil {
			return nil
		}
		cpu[i] = b.Resources.CPUSeconds / b.Seconds
		r.RSSBytes = max(r.RSSBytes, b.Resources.RSSBytes)
		r.OpenFiles = max(r.OpenFiles, b.Resources.OpenFiles)
	}
	r.CPU = meanOf(cpu)
	return &r
}

// finite returns nil for a value that JSON cannot represent.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
