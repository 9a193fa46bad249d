package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"evalctl/harness/bench/load"
	"evalctl/harness/bench/record"
)

// search looks for the highest rate of each target. Then it tries the null daemon at these rates
// and at twice these, which shows whether they are those of the generator.
func (b *Bench) search(ctx context.Context) error {
	objectives, err := record.ParseObjectives(b.Plan.Search)
	if err != nil {
		return err
	}
	for _, a := range b.arms {
		if a.target.Null && len(b.arms) > 1 {
			continue
		}
		if err := a.finder(objectives).find(ctx); err != nil {
			return err
		}
		b.file.Targets[a.index].Searched = true
	}
	b.file.Compute()
	var rates []float64
	for _, l := range b.file.Limits {
		rates = append(rates, l.Rate, min(l.Twice(), maxRate))
	}
	slices.Sort(rates)
	for _, a := range b.arms {
		if !a.target.Null || len(b.arms) == 1 {
			continue
		}
		f := a.finder(objectives)
		for _, rate := range slices.Compact(rates) {
			if rate > 0 {
				if _, err := f.probe(ctx, rate, false); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// finder returns what looks for the highest rate of a target. What it tries is kept.
func (a *arm) finder(objectives []record.Objective) *finder {
	b, tried := a.bench, 0
	return &finder{
		objectives: objectives, start: b.Plan.Stages[0].From, step: b.Step,
		try: func(ctx context.Context, rate float64, length time.Duration) (record.Block, error) {
			p := b.profile(0, tried)
			p.Stage = record.Stage{From: rate, To: rate}
			blocks, err := a.blocks(ctx, run{
				span: load.Span{Block: length, Blocks: 1}, profile: p, size: b.Plan.Sizes[0], first: number(0, tried),
				what: fmt.Sprintf("%s: %.4g/s", a.target.Name, rate), probe: true,
			})
			tried++
			if err != nil {
				return record.Block{}, err
			}
			return blocks[0], nil
		},
		found: func(p record.Probe) error {
			p.Target = a.index
			b.file.Probes = append(b.file.Probes, p)
			b.saved = time.Time{} // a probe takes so long that each is kept
			return b.save(b.file)
		},
	}
}

// finder looks for the highest rate that keeps objectives.
type finder struct {
	objectives []record.Objective
	start      float64
	step       time.Duration
	try        func(ctx context.Context, rate float64, length time.Duration) (record.Block, error)
	found      func(record.Probe) error
	failed     int // the rates in a row at which no request succeeded
}

// need returns the number of requests that the figures need.
func (f *finder) need() float64 { return float64(record.Need(f.objectives)) * 1.05 }

const (
	// close is how much the rate that is not kept may be above the one that is.
	closeEnough = 1.02
	// lower is what a rate is divided by that was not kept each time again, at most times.
	lower, times = 1.03, 12
	// lowest is the lowest rate that is tried. If a figure needs many requests, it is the one at
	// which they take longest.
	lowest = 0.1
	// longest is the longest time that a rate is tried for.
	longest = time.Minute
	// dead is the number of rates in a row without any success after which the target is given up.
	dead = 3
)

// errDead reports a target that answers nothing at any rate.
var errDead = fmt.Errorf("%w at %d rates in a row: see that the target answers, and that its brain can be searched", ErrNoAnswers, dead)

// find doubles the rate until it is not kept, or halves it until it is, halves the ratio of the
// bounds, and tries the lower one again. If it is not kept each time, a lower one is.
func (f *finder) find(ctx context.Context) error {
	kept, lost := 0.0, math.Inf(1)
	least := max(lowest, f.need()/longest.Seconds())
	for rate := f.start; rate <= maxRate && rate >= least && (kept == 0 || math.IsInf(lost, 1)); {
		ok, err := f.probe(ctx, rate, false)
		if err != nil {
			return err
		}
		if ok {
			kept = rate
			rate *= 2
		} else {
			lost = rate
			rate /= 2
		}
	}
	if kept == 0 {
		return nil
	}
	for lost/kept > closeEnough && !math.IsInf(lost, 1) {
		rate := math.Sqrt(kept * lost)
		ok, err := f.probe(ctx, rate, false)
		if err != nil {
			return err
		}
		if ok {
			kept = rate
		} else {
			lost = rate
		}
	}
	for range times {
		ok, err := f.confirm(ctx, kept)
		if ok || err != nil {
			return err
		}
		kept /= lower
	}
	return nil
}

// confirm tries a rate again, and reports whether it was kept each time.
func (f *finder) confirm(ctx context.Context, rate float64) (bool, error) {
	for range record.Confirmations {
		if ok, err := f.probe(ctx, rate, true); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// probe tries a rate, for as long as it takes to know the figures.
func (f *finder) probe(ctx context.Context, rate float64, confirm bool) (bool, error) {
	length := f.step
	if need := f.need() / rate; need > length.Seconds() {
		length = min(seconds(need), longest)
	}
	b, err := f.try(ctx, rate, length)
	if err != nil {
		return false, err
	}
	if f.failed++; b.Succeeded() {
		f.failed = 0
	}
	if f.failed == dead {
		return false, errDead
	}
	p := record.Probe{Rate: rate, Confirm: confirm, Block: b, Kept: record.Keeps(f.objectives, b)}
	return p.Kept, f.found(p)
}
