// Package record has what a bench measured: blocks of load with their histograms, and every figure
// that follows from them. File.Compute is the only code that makes figures, in a bench and when its
// file is verified.
package record

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"evalctl/harness/result"
	"evalctl/internal/figure"
)

// Kind is the kind of the files of this package, Version that of their schema.
const (
	Kind    = "bench"
	Version = 1
)

// File is a bench: what was asked for, what was measured, and the figures that follow.
type File struct {
	Version    int           `json:"schema_version"`
	Kind       string        `json:"kind"`
	SDK        string        `json:"sdk"`
	StartedAt  time.Time     `json:"started_at"`
	FinishedAt time.Time     `json:"finished_at"`
	Stopped    result.Stop   `json:"stopped,omitempty"`
	Tool       result.ToolID `json:"tool"`
	Plan       Plan          `json:"plan"`
	SHA256     string        `json:"-"` // of the file that was read
	// Client is how requests were sent to the daemons, the null daemon included: Direct or
	// Ordinary. It is empty in older files, whose requests were sent by net/http.
	Client   string    `json:"client,omitempty"`
	Targets  []Target  `json:"targets"`
	Fills    []Fill    `json:"fills"`
	Blocks   []Block   `json:"blocks"`
	Faults   []Fault   `json:"faults"`
	Probes   []Probe   `json:"probes"`
	Baseline *Baseline `json:"baseline"`
	// Cost is what the models cost that targets called, zero in a file of an evalctl that did not
	// count it.
	Cost result.Spending `json:"cost,omitzero"`

	Figures
}

// Figures are what follows from the rest of a File.
type Figures struct {
	Summaries   []Summary    `json:"summaries"`
	Comparisons []Comparison `json:"comparisons"`
	Growth      []Growth     `json:"growth"`
	Limits      []Limit      `json:"limits"`
	Verdicts    []Verdict    `json:"verdicts"`
}

// Arrivals are how requests begin.
const (
	Closed   = "closed"   // when the request before has ended
	Constant = "constant" // at equal intervals
	Poisson  = "poisson"  // at independent random times
)

// Clients are how requests are sent to a daemon.
const (
	Direct   = "direct"   // over connections of the bench's own
	Ordinary = "net/http" // by http.Transport
)

// Plan is what was asked for. Benches with equal plans did the same work.
type Plan struct {
	Mix []Share `json:"mix"`
	// Arrival is Closed, Constant or Poisson.
	Arrival     string `json:"arrival"`
	Concurrency int    `json:"concurrency,omitempty"` // of Closed
	MaxInFlight int    `json:"max_in_flight,omitempty"`
	// Stages are run one after the other. A closed loop has one.
	Stages []Stage `json:"stages"`
	// Rounds is the number of blocks of each stage, size and target, BlockSeconds the time of one.
	Rounds       int     `json:"rounds"`
	BlockSeconds float64 `json:"block_seconds"`
	// LeadSeconds is how much of the beginning of each block is left out. With a rate it is more where
	// requests take longer.
	LeadSeconds float64 `json:"lead_seconds"`
	// Restart is set if started daemons are started again before each round, so that rounds differ by
	// what processes of one program differ by.
	Restart        bool    `json:"restart,omitempty"`
	TimeoutSeconds float64 `json:"timeout_seconds"`
	Seed           uint64  `json:"seed"`
	TopK           int     `json:"top_k"`
	Mode           string  `json:"mode"`
	Corpus         string  `json:"corpus"`
	CorpusSHA256   string  `json:"corpus_sha256,omitempty"`
	Queries        string  `json:"queries"`
	QueriesSHA256  string  `json:"queries_sha256,omitempty"`
	// Sizes are the numbers of documents of a brain.
	Sizes  []int `json:"sizes"`
	Brains int   `json:"brains"`
	// Objectives are those of every summary, Search those of which the highest rate is looked for.
	Objectives string  `json:"objectives,omitempty"`
	Search     string  `json:"find_limit,omitempty"`
	Chaos      string  `json:"chaos,omitempty"`
	FailOver   float64 `json:"fail_over,omitempty"`
}

// Share is how often an operation is made, in any unit.
type Share struct {
	Op     string  `json:"op"`
	Weight float64 `json:"weight"`
}

// Stage is a rate in requests a second, which goes from From to To in the time of a block.
type Stage struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

func (s Stage) String() string {
	if s.From == s.To {
		return fmt.Sprintf("%g/s", s.From)
	}
	return fmt.Sprintf("%g/s..%g/s", s.From, s.To)
}

// ArrivalAt describes when the requests of a stage begin: 8 clients, 200/s or 200/s Poisson.
func (p Plan) ArrivalAt(stage int) string {
	switch p.Arrival {
	case Closed:
		return figure.Count(p.Concurrency, "client")
	case Poisson:
		return p.Stages[stage].String() + " Poisson"
	}
	return p.Stages[stage].String()
}

// MixText returns the mix as on a command line.
func (p Plan) MixText() string {
	var parts []string
	for _, s := range p.Mix {
		parts = append(parts, fmt.Sprintf("%s=%g", s.Op, s.Weight))
	}
	return strings.Join(parts, ",")
}

// Target is one of the things that were measured.
type Target struct {
	Name   string          `json:"name"`
	Daemon result.DaemonID `json:"daemon"`
	// Null is set for the daemon that does nothing: its figures are the limit of the generator.
	Null    bool     `json:"null,omitempty"`
	Lacks   []string `json:"lacks,omitempty"` // operations of the mix that it does not have, and why
	WarmUp  WarmUp   `json:"warm_up"`
	Started bool     `json:"started"`
	// Escaped are those of result.Result.
	Escaped []string `json:"escaped_processes,omitzero"`
	// Searched is set once the search for its highest rate has come to an end.
	Searched bool `json:"searched,omitempty"`
}

// WarmUp is what was left out before the first block.
type WarmUp struct {
	Method   string  `json:"method"`
	Seconds  float64 `json:"seconds"`
	Requests int64   `json:"requests"`
	// Steady is false if the latency was still changing when the time for it was over, or so few
	// requests or seconds do not show that it was not.
	Steady bool `json:"steady"`
}

// Fill is the writing of documents to the brains of a size.
type Fill struct {
	Target    int     `json:"target"`
	Size      int     `json:"size"`
	Documents int     `json:"documents"`
	Bytes     int64   `json:"bytes"`
	Seconds   float64 `json:"seconds"`
	// After has what the daemon holds once the documents can be searched, in addition to what it held
	// before. Values that are not known are nil.
	RSSBytes   *int64 `json:"rss_bytes"`
	DiskBytes  *int64 `json:"disk_bytes"`
	IndexBytes *int64 `json:"index_bytes"`
}

// Block is the load on one target for a short time. It is the unit of all intervals and tests.
type Block struct {
	Target int `json:"target"`
	Stage  int `json:"stage"`
	Size   int `json:"size"`
	Round  int `json:"round"`
	// AtSeconds is when the block began, since the bench did. Seconds is the time that is measured.
	AtSeconds float64 `json:"at_seconds"`
	Seconds   float64 `json:"seconds"`
	// BusySeconds is for how long the requests that began in the block kept a client of a closed loop
	// busy, on average over the clients: until the last one ended. It is nil in an open model.
	BusySeconds *float64 `json:"busy_seconds,omitempty"`
	// LeftOut is the number of requests before that.
	LeftOut   int64     `json:"left_out"`
	Ops       []OpBlock `json:"ops"`
	Resources *Usage    `json:"resources"`
	// Backlog is how many requests should have begun and had not ended, at equal distances up to the
	// end of the block. Only the blocks of probes have it.
	Backlog []int64 `json:"backlog,omitempty"`
}

// Usage is what a started daemon used during a block. OpenFiles and RSSBytes are the most seen.
type Usage struct {
	CPUSeconds float64 `json:"cpu_seconds"`
	RSSBytes   int64   `json:"rss_bytes"`
	OpenFiles  int     `json:"open_files"`
}

// OpBlock is what became of the requests of one operation in a block. Times are in nanoseconds, of
// the requests that succeeded.
type OpBlock struct {
	Op string `json:"op"`
	// Offered is how many should have begun: OK, Errors and Dropped. InTime is how many ended with
	// success during the block, wherever they began.
	Offered int64 `json:"offered"`
	OK      int64 `json:"ok"`
	InTime  int64 `json:"in_time"`
	// Dropped could not begin, because too many requests were in flight.
	Dropped int64            `json:"dropped"`
	Errors  map[string]int64 `json:"errors"` // by kind
	Bytes   int64            `json:"bytes"`
	// Latency counts from the intended start. Service counts from the actual one, and is nil in a
	// closed loop, where both are the same.
	Latency    *Histogram `json:"latency"`
	Service    *Histogram `json:"service"`
	FirstDelta *Histogram `json:"first_delta"`
	Gap        *Histogram `json:"gap"`
	Stream     *Histogram `json:"stream"`
	// Cost is that of the answers that report their usage and whose model has a price.
	Priced       int64  `json:"priced,omitempty"`
	CostNanoUSD  int64  `json:"cost_nano_usd,omitempty"`
	InputTokens  int64  `json:"input_tokens,omitempty"`
	OutputTokens int64  `json:"output_tokens,omitempty"`
	FirstError   string `json:"first_error,omitempty"`
}

// Clone returns a copy that shares nothing with o.
func (o OpBlock) Clone() OpBlock {
	o.Errors = maps.Clone(o.Errors)
	for _, h := range []**Histogram{&o.Latency, &o.Service, &o.FirstDelta, &o.Gap, &o.Stream} {
		if *h != nil {
			*h = &Histogram{(*h).h.Clone()}
		}
	}
	return o
}

// failed returns the number of requests that ended with an error.
func (o OpBlock) failed() (n int64) {
	for _, k := range o.Errors {
		n += k
	}
	return n
}

// lost returns the number of requests that did not succeed.
func (o OpBlock) lost() int64 { return o.failed() + o.Dropped }

// Fault is one that was caused on purpose.
type Fault struct {
	Target    int     `json:"target"`
	Kind      string  `json:"kind"` // kill, stop or slow-client
	AtSeconds float64 `json:"at_seconds"`
	// LastedSeconds is how long it was kept up: until the daemon was started again, or the time of the
	// stop.
	LastedSeconds float64 `json:"lasted_seconds"`
	// RecoverySeconds is the time from its beginning to the first request that began afterwards and
	// succeeded, nil if none did.
	RecoverySeconds *float64 `json:"recovery_seconds"`
	Acknowledged    int64    `json:"acknowledged"` // writes, before and during the fault
	Checked         int64    `json:"checked"`      // of those, how many were read afterwards
	Lost            int64    `json:"lost"`         // of those, how many were not there or not the same
	FirstLost       string   `json:"first_lost,omitempty"`
}

// Probe is one rate of the search for the highest. Those of the null daemon are the rates that were
// found, and twice these.
type Probe struct {
	Target  int     `json:"target"`
	Rate    float64 `json:"rate"`
	Confirm bool    `json:"confirm"`
	Block   Block   `json:"block"`
	Kept    bool    `json:"kept"` // the objectives
}

// Baseline is an earlier bench that this one is compared with.
type Baseline struct {
	Path      string    `json:"path"`
	SHA256    string    `json:"sha256"` // of the file
	StartedAt time.Time `json:"started_at"`
	// Blocks are those of the earlier bench that are compared, with the index that the target has
	// in this one. Series and Null follow from them.
	Blocks []Block `json:"blocks"`
	// Series are the figures by block of both benches, paired by round.
	Series []Change `json:"series"`
	// Null are those of the null daemon: how much the machine differs.
	Null []Change `json:"null"`
}

// Series are a figure of the blocks of two targets or benches at one stage and size, by round.
type Series struct {
	Stage  int       `json:"stage"`
	Size   int       `json:"size"`
	Op     string    `json:"op"`
	Figure string    `json:"figure"`
	Rounds []int     `json:"rounds"`
	Before []float64 `json:"before"`
	Now    []float64 `json:"now"`
}

// Change is how much a figure differs from that of an earlier bench.
type Change struct {
	Series
	Difference
}
