package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"evalctl/harness/bench/load"
	"evalctl/harness/bench/record"
	"evalctl/harness/bench/work"
	"evalctl/internal/retry"
)

// How faults are injected.
const (
	frozenFor   = time.Second
	heldStreams = 32
	readers     = 8 // of the written documents
)

// errUnheld means that a daemon did not begin all held streams.
var errUnheld = fmt.Errorf("the daemon did not begin %d streams before the load ended", heldStreams)

// chaos measures one target with a fault injected after a third of the time, then the null daemon.
func (b *Bench) chaos(ctx context.Context) error {
	a := b.arms[0]
	size := b.Plan.Sizes[0]
	f := &fault{arm: a, requests: a.requests[size], kind: b.Plan.Chaos}
	f.requests.Written = f.written
	span := load.Span{Block: seconds(b.Plan.BlockSeconds), Blocks: b.Plan.Rounds}
	total := span.Block * time.Duration(span.Blocks)
	caused := make(chan error, 1)
	lctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		err := f.cause(lctx, total/3, total/3)
		if err != nil {
			stop(err)
		}
		caused <- err
	}()
	blocks, err := a.blocks(lctx, run{
		span: span, profile: b.profile(0, 0), size: size, first: number(0, 0), work: f.request,
		what: fmt.Sprintf("%s: %s under load", a.target.Name, f.kind),
	})
	b.file.Blocks = append(b.file.Blocks, blocks...)
	if f.kind == SlowClient {
		stop(errUnheld)
	}
	if caused := <-caused; caused != nil {
		return caused
	}
	if err != nil {
		return err
	}
	b.Observer.Doing(a.target.Name+": reading acknowledged writes", nil)
	found, err := f.check(ctx)
	found.Target, found.AtSeconds = a.index, f.at.Sub(b.start).Seconds()
	b.file.Faults = append(b.file.Faults, found)
	if last := b.arms[len(b.arms)-1]; err == nil && last != a {
		err = b.run(ctx, last, 0, size, 0, b.Plan.Rounds)
	}
	return err
}

// fault is a fault injected under load, with its observed effects.
type fault struct {
	arm      *arm
	requests *work.Requests
	kind     string

	mu        sync.Mutex
	at        time.Time // when it began, zero before
	lasted    time.Duration
	recovered *float64
	writes    []work.Write // that were acknowledged
}

func (f *fault) written(w work.Write) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes = append(f.writes, w)
}

// request implements load.Work. It looks for the first request that begins after the fault and
// succeeds.
func (f *fault) request(number uint64) load.Request {
	r := f.requests.Request(number)
	send := r.Do
	r.Do = func(ctx context.Context) load.Outcome {
		began := time.Now()
		o := send(ctx)
		if o.Err == nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.recovered == nil && !f.at.IsZero() && began.After(f.at) {
				after := time.Since(f.at).Seconds()
				f.recovered = &after
			}
		}
		return o
	}
	return r
}

// cause waits and then injects the fault. A held stream is held for a while.
func (f *fault) cause(ctx context.Context, wait, while time.Duration) error {
	if retry.Sleep(ctx, wait) != nil {
		return nil
	}
	p := f.arm.session.Process()
	switch f.kind {
	case Kill:
		if err := p.Kill(); err != nil {
			return err
		}
		f.begun()
		<-p.Done()
		if err := f.arm.session.Restart(ctx); err != nil {
			return fmt.Errorf("start the daemon again after --chaos kill: %w", err)
		}
		f.requests.Use(f.arm.session.Service())
	case Stop:
		if err := p.Freeze(); err != nil {
			return err
		}
		f.begun()
		time.Sleep(frozenFor) // also if ctx ends: a frozen daemon could not be stopped gently
		if err := p.Thaw(); err != nil {
			return err
		}
	case SlowClient:
		release, err := f.requests.Hold(ctx, heldStreams, seconds(f.arm.bench.Plan.TimeoutSeconds))
		if err != nil {
			return err
		}
		f.begun()
		_ = retry.Sleep(ctx, while)
		release()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lasted = time.Since(f.at)
	return nil
}

func (f *fault) begun() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = time.Now()
}

// check reads the acknowledged writes.
func (f *fault) check(ctx context.Context) (record.Fault, error) {
	found := record.Fault{
		Kind: f.kind, LastedSeconds: f.lasted.Seconds(), RecoverySeconds: f.recovered, Acknowledged: int64(len(f.writes)),
	}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for _, w := range f.writes {
		g.Go(func() error {
			err := f.requests.Check(ctx, w)
			if err != nil && !errors.Is(err, work.ErrLost) {
				return fmt.Errorf("read an acknowledged write: %w", err)
			}
			mu.Lock()
			defer mu.Unlock()
			found.Checked++
			if err != nil {
				found.Lost++
				if found.FirstLost == "" {
					found.FirstLost = err.Error()
				}
			}
			return nil
		})
	}
	return found, g.Wait()
}
