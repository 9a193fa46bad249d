package conformance

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// maxAlone is the number of checks in a row that may time out again when they run alone. The rest
// of those that timed out are not run again.
const maxAlone = 3

// processGrace is how long the checks have to report what happened after the process has ended.
const processGrace = time.Second

// runner runs the checks of one run.
type runner struct {
	target  *target
	options Options
	checks  []check
	stop    context.CancelCauseFunc

	reporting sync.Mutex // serializes Options.Done
	suspicion sync.Mutex // serializes health checks

	mu      sync.Mutex
	results []Result
	running []string // ids, in the order in which they began
	death   *Death
}

// outcome is the result of a check. again is set if it counts only after the check ran alone.
type outcome struct {
	Result
	again bool
}

// runAll runs the checks and returns one result for each. A check that did not finish before ctx
// ended has no verdict.
func (r *runner) runAll(ctx context.Context) []Result {
	ctx, r.stop = context.WithCancelCause(ctx)
	defer r.stop(nil)
	if r.options.Process != nil {
		go r.watch(ctx, r.options.Process)
	}
	r.results = make([]Result, len(r.checks))
	alone := r.runParallel(ctx)
	slices.Sort(alone)
	r.runAlone(ctx, alone)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.results
}

// watch stops the run when the process of the daemon ends.
func (r *runner) watch(ctx context.Context, p Process) {
	select {
	case <-p.Done():
	case <-ctx.Done():
		return
	}
	select {
	case <-time.After(processGrace):
		r.die("", p.Err())
	case <-ctx.Done():
	}
}

// runParallel returns the indexes of the checks that must run again, alone.
func (r *runner) runParallel(ctx context.Context) (alone []int) {
	next := make(chan int)
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range min(r.options.Parallel, len(r.checks)) {
		workers.Go(func() {
			for i := range next {
				if o := r.run(ctx, i); o.again && ctx.Err() == nil {
					mu.Lock()
					alone = append(alone, i)
					mu.Unlock()
				} else {
					r.report(ctx, i, o.Result)
				}
			}
		})
	}
feed:
	for i := range r.checks {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	workers.Wait()
	return alone
}

// runAlone runs checks again, one after another. Only now does it count that nothing came in time.
func (r *runner) runAlone(ctx context.Context, alone []int) {
	late := 0
	for _, i := range alone {
		if late == maxAlone || ctx.Err() != nil {
			res := Result{Check: r.checks[i].Check, Verdict: NotJudged, Reason: ReasonTimeout,
				Detail: "the check timed out beside others, and was not run again because checks timed out alone too"}
			r.report(ctx, i, res)
			continue
		}
		o := r.run(ctx, i)
		o.Alone = true
		if o.again {
			late++
		} else {
			late = 0
		}
		r.report(ctx, i, o.Result)
	}
}

// run runs one check. If it got no answer, run finds out whether the daemon is alive.
func (r *runner) run(ctx context.Context, i int) outcome {
	id := r.checks[i].ID
	r.mu.Lock()
	r.running = append(r.running, id)
	r.mu.Unlock()
	o := r.target.runCheck(ctx, r.options, r.checks[i])
	if o.again || o.Reason == ReasonTransport {
		r.suspect(ctx, id)
	}
	r.mu.Lock()
	r.running = slices.DeleteFunc(r.running, func(other string) bool { return other == id })
	r.mu.Unlock()
	return o
}

// report keeps a result. The results of an interrupted run are those of the checks that finished
// before. A daemon's death leaves the running checks not judged.
func (r *runner) report(ctx context.Context, i int, res Result) {
	r.mu.Lock()
	died := r.death != nil
	r.mu.Unlock()
	if ctx.Err() != nil && !died {
		return
	}
	if died && res.Verdict != Kept && res.Reason != ReasonNeed {
		res.Verdict, res.Reason = NotJudged, ReasonTransport
		res.Detail = "the daemon died while the check was running: " + res.Detail
	}
	r.mu.Lock()
	r.results[i] = res
	r.mu.Unlock()
	if r.options.Done != nil {
		r.reporting.Lock()
		defer r.reporting.Unlock()
		r.options.Done(res)
	}
}

// suspect stops the run if the daemon is not alive after a check that got no answer.
func (r *runner) suspect(ctx context.Context, id string) {
	r.suspicion.Lock()
	defer r.suspicion.Unlock()
	if ctx.Err() != nil {
		return
	}
	err := r.target.health(ctx)
	if err == nil {
		return
	}
	if p := r.options.Process; p != nil {
		select {
		case <-p.Done():
			err = errors.Join(err, p.Err())
		case <-time.After(processGrace):
		}
	}
	r.die(id, err)
}

// die records that the daemon died and stops the run.
func (r *runner) die(id string, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.death != nil {
		return
	}
	r.death = &Death{After: id, Cause: r.target.redactor.Text(cause.Error())}
	if id == "" && len(r.running) > 0 {
		r.death.After = r.running[0]
	}
	for _, other := range r.running {
		if other != r.death.After {
			r.death.Running = append(r.death.Running, other)
		}
	}
	r.stop(ErrDied)
}
