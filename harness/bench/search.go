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

// search looks for the highest rate of each target. It then tries the null daemon at these rates
// and at twice these, which shows whether the generator is the limit.
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
				if _, err := f.probe(ctx, rate); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// finder returns a finder for a target, which records its tries.
func (a *arm) finder(objectives []record.Objective) *finder {
	b, tried := a.bench, 0
	return &finder{
		objectives: objectives, start: b.Plan.Stages[0].From, step: b.Step, slow: b.slow,
		need: need(objectives, a.mix, b.Plan.Arrival),
		try: func(ctx context.Context, rate float64, span load.Span) (record.Block, error) {
			p := b.profile(0, tried)
			p.Stage = record.Stage{From: rate, To: rate}
			blocks, err := a.blocks(ctx, run{
				span: span, profile: p, size: b.Plan.Sizes[0], first: number(0, tried),
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
	need       float64 // the number of requests for which the figures are known
	start      float64
	step       time.Duration
	slow       time.Duration // the longest latency at the last rate that was kept
	try        func(ctx context.Context, rate float64, span load.Span) (record.Block, error)
	found      func(record.Probe) error
	failed     int // the rates in a row at which no request succeeded
}

// need returns the number of requests for which the figures of objectives are known.
func need(objectives []record.Objective, mix []record.Share, arrival string) float64 {
	return 1.05 * record.Need(objectives, mix, arrival == record.Poisson)
}

// tooFew returns errFew if the figures cannot be known at any rate.
func tooFew(objectives []record.Objective, mix []record.Share, arrival string) error {
	if need(objectives, mix, arrival)/longest.Seconds() > maxRate {
		return errFew
	}
	return nil
}

// least returns the lowest rate to try, at which the figures get their requests in time.
func (f *finder) least() float64 { return max(lowest, f.need/longest.Seconds()) }

const (
	// closeEnough is the maximum ratio of the lost rate to the kept rate.
	closeEnough = 1.02
	// lower divides a rate that could not be confirmed, at most times times.
	lower, times = 1.03, 12
	// lowest is the lowest rate that is tried. If a figure needs many requests, the lowest rate is
	// the one at which they take longest.
	lowest = 0.1
	// longest limits the time for trying a rate, and patience limits it as a multiple of the usual
	// time. Then the rate is decided, even if it is not clear whether the queue grows.
	longest  = time.Minute
	patience = 12
	// looks is how many times per step the backlog is counted.
	looks = 20
	// dead is the number of consecutive rates without any success after which the search is
	// abandoned.
	dead = 3
)

// errDead means that a target answers nothing at any rate.
var errDead = fmt.Errorf("%w at %d rates in a row: see that the target answers, and that its brain can be searched", ErrNoAnswers, dead)

// errFew means that an operation of the objectives has too few requests at any rate, or none.
var errFew = fmt.Errorf("the objectives of --find-limit cannot be known: at %.0f/s, the highest rate, an operation has too few requests "+
	"in %v; give it a larger share of --mix, or leave it out of the objectives", maxRate, longest)

// bounds are the highest kept and the lowest lost rate.
type bounds struct{ kept, lost float64 }

// find looks for close bounds, and then tries both again, because the upper one may have been lost
// to a temporary slowdown such as a cold cache. If it is kept now, the search continues from there.
// If the lower one is not confirmed, a lower rate is tried.
func (f *finder) find(ctx context.Context) error {
	if f.least() > maxRate {
		return errFew
	}
	b, rate := bounds{0, math.Inf(1)}, max(f.start, f.least())
	for range times {
		if err := f.widen(ctx, &b, rate); err != nil || b.kept == 0 {
			return err
		}
		if err := f.narrow(ctx, &b); err != nil {
			return err
		}
		if math.IsInf(b.lost, 1) {
			break
		}
		ok, err := f.probe(ctx, b.lost)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		b, rate = bounds{b.lost, math.Inf(1)}, 2*b.lost
	}
	for range times {
		ok, err := f.confirm(ctx, b.kept)
		if ok || err != nil {
			return err
		}
		b.kept /= lower
	}
	return nil
}

// widen doubles a rate until it is lost, or halves it until it is kept.
func (f *finder) widen(ctx context.Context, b *bounds, rate float64) error {
	for rate <= maxRate && (b.kept == 0 || math.IsInf(b.lost, 1)) {
		ok, err := f.probe(ctx, rate)
		if err != nil {
			return err
		}
		if ok {
			b.kept = rate
			rate *= 2
			continue
		}
		b.lost = rate
		if rate <= f.least() {
			break
		}
		rate = max(rate/2, f.least())
	}
	return nil
}

// narrow halves the ratio of the bounds until they are close.
func (f *finder) narrow(ctx context.Context, b *bounds) error {
	for b.lost/b.kept > closeEnough && !math.IsInf(b.lost, 1) {
		rate := math.Sqrt(b.kept * b.lost)
		ok, err := f.probe(ctx, rate)
		if err != nil {
			return err
		}
		if ok {
			b.kept = rate
		} else {
			b.lost = rate
		}
	}
	return nil
}

// confirm tries a rate until it is kept often enough in a row. As in probe, one loss by chance is
// forgiven.
func (f *finder) confirm(ctx context.Context, rate float64) (bool, error) {
	for kept, again := 0, true; kept < record.Confirmations; kept++ {
		p, err := f.once(ctx, rate, true)
		if err != nil || !p.Kept && (!again || !chance(p.Block)) {
			return false, err
		}
		if !p.Kept {
			kept, again = -1, false
		}
	}
	return true, nil
}

// probe tries a rate, and once more if it may have been lost by chance.
func (f *finder) probe(ctx context.Context, rate float64) (bool, error) {
	p, err := f.once(ctx, rate, false)
	if err == nil && !p.Kept && chance(p.Block) {
		p, err = f.once(ctx, rate, false)
	}
	return p.Kept, err
}

// chance reports whether a block may have been lost because of the machine or leftover work from
// the previous rate. Neither makes a queue grow to the end.
func chance(b record.Block) bool { return b.Succeeded() && !b.Grows() }

// once tries a rate for as long as needed to know the figures and whether the queue grows.
func (f *finder) once(ctx context.Context, rate float64, confirm bool) (p record.Probe, err error) {
	length := f.step
	if need := f.need / rate; need > length.Seconds() {
		length = min(seconds(need), longest)
	}
	every, next := length/looks, looks
	b, err := f.try(ctx, rate, load.Span{
		Lead: f.slow, Block: max(length, min(longest, patience*length)), Blocks: 1, Every: every,
		Enough: func(backlog []int64) bool {
			n := len(backlog)
			if n < next {
				return false
			}
			next = n + looks
			return record.Settled(rate*every.Seconds()*float64(n), backlog)
		},
	})
	if err != nil {
		return p, err
	}
	if f.failed++; b.Succeeded() {
		f.failed = 0
	}
	if f.failed == dead {
		return p, errDead
	}
	p = record.Probe{Rate: rate, Confirm: confirm, Block: b, Kept: record.Keeps(f.objectives, b)}
	if p.Kept {
		f.slow = min(record.Slowest(b), longestLead)
	}
	return p, f.found(p)
}
