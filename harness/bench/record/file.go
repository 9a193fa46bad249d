// Package record holds the measurements of a bench, which are blocks of load with histograms, and
// the figures computed from them. Only File.Compute computes figures, both in a bench and when its
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

// Kind is the kind of this package's files, and Version their schema version.
const (
	Kind    = "bench"
	Version = 1
)

// File is a bench: its plan, its measurements and the figures computed from them.
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
	// Client is how requests were sent to all daemons, the null daemon included: Direct or
	// Ordinary. It is empty in older files, which used net/http.
	Client   string    `json:"client,omitempty"`
	Targets  []Target  `json:"targets"`
	Fills    []Fill    `json:"fills"`
	Blocks   []Block   `json:"blocks"`
	Faults   []Fault   `json:"faults"`
	Probes   []Probe   `json:"probes"`
	Baseline *Baseline `json:"baseline"`
	// Cost is the cost of the models that the targets called, zero in files of older versions that
	// did not count it.
	Cost result.Spending `json:"cost,omitzero"`

	Figures
}

// Figures are computed from the rest of a File.
type Figures struct {
	Summaries   []Summary    `json:"summaries"`
	Comparisons []Comparison `json:"comparisons"`
	Growth      []Growth     `json:"growth"`
	Limits      []Limit      `json:"limits"`
	Verdicts    []Verdict    `json:"verdicts"`
}

// Arrivals are the ways requests begin.
const (
	Closed   = "closed"   // when the previous request has ended
	Constant = "constant" // at equal intervals
	Poisson  = "poisson"  // at independent random times
)

// Clients are the ways requests are sent to a daemon.
const (
	Direct   = "direct"   // over connections of the bench's own
	Ordinary = "net/http" // by http.Transport
)

// Plan configures a bench. Benches with equal plans did the same work.
type Plan struct {
	Mix []Share `json:"mix"`
	// Arrival is Closed, Constant or Poisson.
	Arrival     string `json:"arrival"`
	Concurrency int    `json:"concurrency,omitempty"` // of Closed
	MaxInFlight int    `json:"max_in_flight,omitempty"`
	// Stages run one after the other. A closed loop has one.
	Stages []Stage `json:"stages"`
	// Rounds is the number of blocks for each stage, size and target; BlockSeconds is the length of
	// a block.
	Rounds       int     `json:"rounds"`
	BlockSeconds float64 `json:"block_seconds"`
	// LeadSeconds is how much of the beginning of each block is discarded. With a rate it grows if
	// requests take longer.
	LeadSeconds float64 `json:"lead_seconds"`
	// Restart is set if started daemons are restarted before each round, so that rounds include the
	// variation between processes.
	Restart        bool    `json:"restart,omitempty"`
	TimeoutSeconds float64 `json:"timeout_seconds"`
	Seed           uint64  `json:"seed"`
	TopK           int     `json:"top_k"`
	Mode           string  `json:"mode"`
	Corpus         string  `json:"corpus"`
	CorpusSHA256   string  `json:"corpus_sha256,omitempty"`
	Queries        string  `json:"queries"`
	QueriesSHA256  string  `json:"queries_sha256,omitempty"`
	// Sizes are the numbers of documents per brain.
	Sizes  []int `json:"sizes"`
	Brains int   `json:"brains"`
	// Objectives apply to every summary. Search has the objectives for which the highest rate is
	// searched.
	Objectives string  `json:"objectives,omitempty"`
	Search     string  `json:"find_limit,omitempty"`
	Chaos      string  `json:"chaos,omitempty"`
	FailOver   float64 `json:"fail_over,omitempty"`
}

// Share is the relative frequency of an operation.
type Share struct {
	Op     string  `json:"op"`
	Weight float64 `json:"weight"`
}

// Stage is a rate in requests per second, which changes from From to To over a block.
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

// MixText returns the mix in command-line syntax.
func (p Plan) MixText() string {
	var parts []string
	for _, s := range p.Mix {
		parts = append(parts, fmt.Sprintf("%s=%g", s.Op, s.Weight))
	}
	return strings.Join(parts, ",")
}

// Target is one of the measured daemons.
type Target struct {
	Name   string          `json:"name"`
	Daemon result.DaemonID `json:"daemon"`
	// Null is set for the null daemon, which does nothing: its figures are the limit of the
	// generator.
	Null    bool     `json:"null,omitempty"`
	Lacks   []string `json:"lacks,omitempty"` // operations of the mix that it does not have, and why
	WarmUp  WarmUp   `json:"warm_up"`
	Started bool     `json:"started"`
	// Escaped is as in result.Result.
	Escaped []string `json:"escaped_processes,omitzero"`
	// Searched is set once the search for the target's highest rate has ended.
	Searched bool `json:"searched,omitempty"`
}

// WarmUp describes the load before the first block, which is discarded.
type WarmUp struct {
	Method   string  `json:"method"`
	Seconds  float64 `json:"seconds"`
	Requests int64   `json:"requests"`
	// Steady is false if the latency was still changing at the end, or if there were too few
	// requests or seconds to tell.
	Steady bool `json:"steady"`
}

// Fill is the writing of documents to the brains of a size.
type Fill struct {
	Target    int     `json:"target"`
	Size      int     `json:"size"`
	Documents int     `json:"documents"`
	Bytes     int64   `json:"bytes"`
	Seconds   float64 `json:"seconds"`
	// After describes the daemon's growth once the documents can be searched. Unknown values are
	// nil.
	RSSBytes   *int64 `json:"rss_bytes"`
	DiskBytes  *int64 `json:"disk_bytes"`
	IndexBytes *int64 `json:"index_bytes"`
}

// Block is a short load on one target. All intervals and tests treat it as one unit.
type Block struct {
	Target int `json:"target"`
	Stage  int `json:"stage"`
	Size   int `json:"size"`
	Round  int `json:"round"`
	// AtSeconds is the block's start relative to the bench's. Seconds is the measured time.
	AtSeconds float64 `json:"at_seconds"`
	Seconds   float64 `json:"seconds"`
	// BusySeconds is how long the block's requests kept a client of a closed loop busy until the
	// last one ended, averaged over the clients. It is nil in an open model.
	BusySeconds *float64 `json:"busy_seconds,omitempty"`
	// LeftOut is the number of requests in the discarded lead.
	LeftOut   int64     `json:"left_out"`
	Ops       []OpBlock `json:"ops"`
	Resources *Usage    `json:"resources"`
	// Backlog samples, at equal intervals up to the end of the block, how many due requests had not
	// ended. Only blocks of probes have it.
	Backlog []int64 `json:"backlog,omitempty"`
}

// Usage is a started daemon's resource use during a block. OpenFiles and RSSBytes are peaks.
type Usage struct {
	CPUSeconds float64 `json:"cpu_seconds"`
	RSSBytes   int64   `json:"rss_bytes"`
	OpenFiles  int     `json:"open_files"`
}

// OpBlock has the outcomes of one operation's requests in a block. Times are in nanoseconds and
// cover successful requests only.
type OpBlock struct {
	Op string `json:"op"`
	// Offered is how many requests should have begun: OK, Errors and Dropped. InTime is how many
	// succeeded during the block, wherever they began.
	Offered int64 `json:"offered"`
	OK      int64 `json:"ok"`
	InTime  int64 `json:"in_time"`
	// Dropped counts requests that could not begin because too many were in flight.
	Dropped int64            `json:"dropped"`
	Errors  map[string]int64 `json:"errors"` // by kind
	Bytes   int64            `json:"bytes"`
	// Latency is measured from the intended start, Service from the actual start. Service is nil in
	// a closed loop, where both are equal.
	Latency    *Histogram `json:"latency"`
	Service    *Histogram `json:"service"`
	FirstDelta *Histogram `json:"first_delta"`
	Gap        *Histogram `json:"gap"`
	Stream     *Histogram `json:"stream"`
	// Cost sums up the answers that report their usage and whose model has a price.
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

// Fault is a fault injected on purpose.
type Fault struct {
	Target    int     `json:"target"`
	Kind      string  `json:"kind"` // kill, stop or slow-client
	AtSeconds float64 `json:"at_seconds"`
	// LastedSeconds is how long the fault lasted: until the daemon was restarted, or the length of
	// the stop.
	LastedSeconds float64 `json:"lasted_seconds"`
	// RecoverySeconds is the time from the start of the fault to the first later request that
	// succeeded, nil if none did.
	RecoverySeconds *float64 `json:"recovery_seconds"`
	Acknowledged    int64    `json:"acknowledged"` // writes, before and during the fault
	Checked         int64    `json:"checked"`      // of those, how many were read afterwards
	Lost            int64    `json:"lost"`         // of those, how many were not there or not the same
	FirstLost       string   `json:"first_lost,omitempty"`
}

// Probe is one rate of the search for the highest rate. The null daemon is probed at the rates
// found for the targets, and at twice these.
type Probe struct {
	Target  int     `json:"target"`
	Rate    float64 `json:"rate"`
	Confirm bool    `json:"confirm"`
	Block   Block   `json:"block"`
	Kept    bool    `json:"kept"` // the objectives
}

// Baseline is an earlier bench to compare with.
type Baseline struct {
	Path      string    `json:"path"`
	SHA256    string    `json:"sha256"` // of the file
	StartedAt time.Time `json:"started_at"`
	// Blocks are the earlier bench's compared blocks, with the target index of this bench. Series
	// and Null are computed from them.
	Blocks []Block `json:"blocks"`
	// Series are the figures of both benches, paired by round.
	Series []Change `json:"series"`
	// Null are the changes of the null daemon, which show how much the machine differs.
	Null []Change `json:"null"`
}

// Series is a figure of two targets or benches at one stage and size, by round.
type Series struct {
	Stage  int       `json:"stage"`
	Size   int       `json:"size"`
	Op     string    `json:"op"`
	Figure string    `json:"figure"`
	Rounds []int     `json:"rounds"`
	Before []float64 `json:"before"`
	Now    []float64 `json:"now"`
}

// Change is the change of a figure since an earlier bench.
type Change struct {
	Series
	Difference
}
