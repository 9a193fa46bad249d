// Package bench measures memory services under load: one, or several that take turns. It starts or
// reaches them, fills brains, sends requests in blocks, and records what became of them. Everything
// that is said about the blocks is computed in record.
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

// Target is what is measured.
type Target struct {
	Name    string
	Session harness.SessionConfig
	Dialect result.Dialect
	Mode    string // a retrieval mode, empty for that of the plan
	Null    bool
}

// Config says what is measured, and how.
type Config struct {
	Plan    record.Plan
	Tool    result.ToolID
	Targets []Target
	// Brain is a brain that exists and is used as it is. If it is empty, brains are created and filled
	// with Documents, and removed at the end.
	Brain     string
	Documents work.Documents
	Queries   []string
	Prices    llm.Prices
	// Filling and Answering are called with the name of a target when its brains are filled, and when
	// it gets load, until the functions that they return are called. They may be nil.
	Filling, Answering func(name string) (end func())
	// WarmUp is how long a target may warm up, 0 for not at all.
	WarmUp time.Duration
	// Step is how long a rate is tried for in the search for the highest.
	Step time.Duration
	// Baseline is an earlier bench to compare with, nil for none.
	Baseline     *record.File
	BaselinePath string
	Observer     Observer
}

// Observer sees how far a bench is. Its methods are not called concurrently.
type Observer interface {
	// Doing is called when something begins, such as the filling of a brain. live is nil without load.
	Doing(what string, live *load.Live)
	// Save is called with what was measured so far.
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
	// slow is the longest latency of the last requests of a warm-up, up to longestLead. A block of an
	// open model begins so long after its load does, that of each target alike.
	slow time.Duration
}

// Run measures. If it is stopped, it returns what was measured until then with the error. The
// targets that it started have ended when it returns.
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

// measure fills the brains of all sizes and then does what the plan says.
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

// stage measures one stage. Several targets or sizes take turns, in random order in each round; a
// single one has all its blocks without a pause, and the null daemon afterwards.
func (b *Bench) stage(ctx context.Context, stage int) error {
	type turn struct {
		arm  *arm
		size int
	}
	var turns []turn
	var alone *arm
	for _, a := range b.arms {
		for i, size := range b.Plan.Sizes {
			// The size makes no difference to a daemon that does nothing.
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

// saveEvery is how often a bench is kept that goes on. Its figures are computed each time.
const saveEvery = 15 * time.Second

// save keeps what was measured so far, unless it did a while ago. If the process is killed, the
// file says that the bench was interrupted.
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

// restart starts all started daemons again, and warms them up.
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

// longestLead limits what blocks leave out for slow requests.
const longestLead = 5 * time.Second

// nullBlock is the longest block of the null daemon, whose requests all take the same time.
const nullBlock = time.Second

// run measures some blocks of one target, from a round on, without a pause.
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
		// Every target of a round gets the same arrivals.
		Seed: b.Plan.Seed + uint64(stage)<<32 + uint64(round),
	}
}

// number returns the number of the first request of a round: every target of it gets the same ones.
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
