// Package bench measures one memory service under load, or several in turns. It starts or connects
// to them, fills brains, sends requests in blocks, and records the outcomes. Package record
// computes all figures.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"evalctl/harness"
	"evalctl/harness/bench/load"
	"evalctl/harness/bench/null"
	"evalctl/harness/bench/record"
	"evalctl/harness/bench/work"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/internal/llm"
)

// Target is a service to measure.
type Target struct {
	Name    string
	Session harness.SessionConfig
	Dialect result.Dialect
	Mode    string // a retrieval mode, empty for the plan's
	Null    bool
	Calls   bool // the daemon calls models that are known
}

// Config says what to measure, and how.
type Config struct {
	Plan    record.Plan
	Tool    result.ToolID
	Targets []Target
	// Brain is an existing brain, used as it is. If empty, brains are created and filled with
	// Documents, and removed at the end.
	Brain     string
	Documents work.Documents
	Queries   []string
	Prices    llm.Prices
	// Filling and Answering are called with a target's name when its brains are filled and when it
	// is under load. The returned function ends the phase. Both may be nil.
	Filling, Answering func(name string) (end func())
	// WarmUp is the maximum time for warming up a target, 0 to skip it.
	WarmUp time.Duration
	// Step is how long each rate is tried in the search for the highest.
	Step time.Duration
	// Baseline is an earlier bench to compare with, nil for none.
	Baseline     *record.File
	BaselinePath string
	Observer     Observer
}

// Observer follows the progress of a bench. Its methods are not called concurrently.
type Observer interface {
	// Doing is called when something begins, such as filling a brain. live is nil without load.
	Doing(what string, live *load.Live)
	// Save is called with the measurements so far.
	Save(*record.File) error
}

// Bench is a bench in progress.
type Bench struct {
	Config
	file   *record.File
	start  time.Time
	arms   []*arm
	random *rand.Rand // of the order of blocks
	saved  time.Time  // when the file was written last
	// slow is the longest latency of the last warm-up requests, up to longestLead. In an open
	// model, blocks begin this long after the load, for all targets alike.
	slow time.Duration
}

// Run runs a bench. If it is stopped, it returns the measurements so far with the error. All
// started targets have ended when it returns.
func Run(ctx context.Context, c Config) (file *record.File, err error) {
	b := &Bench{Config: c, start: time.Now(), random: rand.New(rand.NewPCG(c.Plan.Seed, 0xb10c))}
	b.file = &record.File{
		Version: record.Version, Kind: record.Kind, StartedAt: b.start.UTC(), Tool: c.Tool, Plan: c.Plan,
		Targets: []record.Target{}, Fills: []record.Fill{}, Blocks: []record.Block{}, Faults: []record.Fault{}, Probes: []record.Probe{},
	}
	defer func() {
		b.file.FinishedAt = time.Now().UTC()
		b.file.Stopped = harness.StopReason(err)
		b.file.Compute()
		if err == nil && c.Baseline != nil {
			if err = c.sameWork(b.file); err == nil {
				b.file.Baseline, err = record.NewBaseline(c.Baseline, b.file)
			}
			if err != nil {
				err = fmt.Errorf("--baseline: %w", err)
				return
			}
			b.file.Baseline.Path = c.BaselinePath
			b.file.Compute()
		}
	}()
	nothing, err := null.Start()
	if err != nil {
		return b.file, err
	}
	defer func() { err = errors.Join(err, nothing.Close()) }()
	for i := range b.Targets {
		if b.Targets[i].Null {
			b.Targets[i].Session.Endpoint = nothing.URL()
		}
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.open(ctx); err != nil {
		return b.file, err
	}
	ctx, stop := b.watch(ctx)
	defer stop()
	return b.file, b.measure(ctx)
}

// measure fills the brains of all sizes and carries out the plan.
func (b *Bench) measure(ctx context.Context) error {
	for _, size := range b.Plan.Sizes {
		for _, a := range b.arms {
			if err := a.fill(ctx, size); err != nil {
				return err
			}
		}
	}
	for _, a := range b.arms {
		if b.Answering != nil {
			defer b.Answering(a.target.Name)()
		}
		if err := a.warm(ctx); err != nil {
			return err
		}
	}
	switch {
	case b.Plan.Search != "":
		return b.search(ctx)
	case b.Plan.Chaos != "":
		return b.chaos(ctx)
	}
	for stage := range b.Plan.Stages {
		if err := b.stage(ctx, stage); err != nil {
			return err
		}
	}
	return nil
}

// stage measures one stage. Several targets or sizes take turns, in random order in each round. A
// single one runs all its blocks without a pause, followed by the null daemon.
func (b *Bench) stage(ctx context.Context, stage int) error {
	type turn struct {
		arm  *arm
		size int
	}
	var turns []turn
	var alone *arm
	for _, a := range b.arms {
		for i, size := range b.Plan.Sizes {
			// The size makes no difference to the null daemon.
			if !a.target.Null || i == 0 {
				turns = append(turns, turn{a, size})
			}
		}
		if !a.target.Null {
			alone = a
		}
	}
	if b.Plan.LeadSeconds == 0 {
		if alone != nil {
			if err := b.run(ctx, alone, stage, b.Plan.Sizes[0], 0, b.Plan.Rounds); err != nil {
				return err
			}
		}
		for _, t := range turns {
			if t.arm != alone {
				if err := b.run(ctx, t.arm, stage, t.size, 0, b.Plan.Rounds); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for round := range b.Plan.Rounds {
		if b.Plan.Restart && stage+round > 0 {
			if err := b.restart(ctx); err != nil {
				return err
			}
		}
		b.random.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
		for _, t := range turns {
			if err := b.run(ctx, t.arm, stage, t.size, round, 1); err != nil {
				return err
			}
		}
		if err := b.save(b.file); err != nil {
			return err
		}
	}
	return nil
}

// saveEvery is the interval for saving a running bench. Its figures are computed each time.
const saveEvery = 15 * time.Second

// save saves the measurements so far, unless they were saved recently. If the process is killed,
// the file marks the bench as interrupted.
func (b *Bench) save(f *record.File) error {
	if time.Since(b.saved) < saveEvery {
		return nil
	}
	defer func() { b.saved = time.Now() }()
	kept := *f
	kept.Stopped, kept.FinishedAt = result.StopInterrupted, time.Now().UTC()
	kept.Compute()
	return b.Observer.Save(&kept)
}

// restart restarts all started daemons and warms them up.
func (b *Bench) restart(ctx context.Context) error {
	for _, a := range b.arms {
		if a.session.Process() == nil {
			continue
		}
		b.Observer.Doing("restarting "+a.target.Name, nil)
		if err := a.session.Restart(ctx); err != nil {
			return fmt.Errorf("target %s: %w", a.target.Name, err)
		}
		for _, size := range b.Plan.Sizes {
			a.requests[size].Use(a.session.Service())
			brain := seed.NewBrain(a.session.Service(), a.target.Dialect, cmp.Or(b.Brain, a.brainName(size, 0)))
			if err := brain.Find(ctx); err != nil {
				return fmt.Errorf("target %s: --restart needs a daemon that keeps its brains: %w", a.target.Name, err)
			}
		}
		if err := a.warm(ctx); err != nil {
			return err
		}
	}
	return nil
}

// longestLead limits how much of a block is discarded for slow requests.
const longestLead = 5 * time.Second

// nullBlock limits the blocks of the null daemon, whose requests all take the same time.
const nullBlock = time.Second

// run measures consecutive blocks of one target, starting at a round.
func (b *Bench) run(ctx context.Context, a *arm, stage, size, round, blocks int) error {
	span := load.Span{Lead: seconds(b.Plan.LeadSeconds), Block: seconds(b.Plan.BlockSeconds), Blocks: blocks}
	if a.target.Null {
		span.Block = min(span.Block, nullBlock)
	}
	if b.Plan.Arrival != record.Closed {
		span.Lead = max(span.Lead, b.slow) // as many requests end as begin only then
	}
	what := fmt.Sprintf("%s: %d of %d", a.target.Name, round+1, b.Plan.Rounds)
	if len(b.Plan.Sizes) > 1 {
		what = fmt.Sprintf("%s, %d documents: %d of %d", a.target.Name, size, round+1, b.Plan.Rounds)
	}
	found, err := a.blocks(ctx, run{
		span: span, profile: b.profile(stage, round), stage: stage, size: size, round: round, first: number(stage, round), what: what,
	})
	b.file.Blocks = append(b.file.Blocks, found...)
	return err
}

// profile returns when the requests of a stage begin.
func (b *Bench) profile(stage, round int) load.Profile {
	return load.Profile{
		Arrival: b.Plan.Arrival, Concurrency: b.Plan.Concurrency, MaxInFlight: b.Plan.MaxInFlight,
		Stage: b.Plan.Stages[stage], Timeout: seconds(b.Plan.TimeoutSeconds),
		// All targets of a round get the same arrivals.
		Seed: b.Plan.Seed + uint64(stage)<<32 + uint64(round),
	}
}

// number returns the number of a round's first request. All targets of the round get the same
// requests.
func number(stage, round int) uint64 { return uint64(stage+1)<<48 + uint64(round)<<28 }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (b *Bench) since() float64 { return time.Since(b.start).Seconds() }

// watch returns a context that ends when a started daemon dies, unless the bench kills it.
func (b *Bench) watch(ctx context.Context) (context.Context, context.CancelFunc) {
	var stops []context.CancelFunc
	for _, a := range b.arms {
		if b.Plan.Chaos == "" {
			var stop context.CancelFunc
			ctx, stop = a.session.Watch(ctx)
			stops = append(stops, stop)
		}
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
	}
}
