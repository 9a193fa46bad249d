package conformance

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"evalctl/harness/conformance/requirements"
)

// maxAlone is how many checks in a row may time out again when run alone. After that, the remaining
// timed-out checks are not rerun.
const maxAlone = 3

// runner runs the checks of one run.
type runner struct {
	target  *requirements.Target
	options Options
	checks  []Check
	process Process // of the present life
	results []Result
	deaths  []Death
	strays  *strays

	reporting sync.Mutex // guards results, and serializes Options.Done
}

// runAll runs the checks and returns one result for each. A check that did not finish before ctx
// ended, or before the daemon died for good, has no verdict.
//
// After the first death, the daemon is restarted if possible, and the checks that may have caused
// it run again, one after another. If one of them makes the daemon die again, it is not run a third
// time, and after a second restart the remaining checks run. Any other death ends the run.
func (r *runner) runAll(ctx context.Context) []Result {
	r.results = make([]Result, len(r.checks))
	first := r.live(ctx, r.runRest)
	if r.survived(ctx, first) {
		return r.results
	}
	alone := r.live(ctx, func(l *life) { r.runSuspects(l, first.suspects) })
	if alone.death != nil && (!r.confirm(ctx, alone) || !r.restart(ctx)) {
		return r.results
	}
	if last := r.live(ctx, r.runRest); last.death != nil {
		r.bury(ctx, last)
	}
	return r.results
}

func (r *runner) live(ctx context.Context, work func(*life)) *life {
	return live(ctx, r.target, r.process, r.options.Log, work)
}

// probe probes the daemon, and restarts it once if it dies in the process.
func (r *runner) probe(ctx context.Context) error {
	for {
		var err error
		l := r.live(ctx, func(l *life) {
			err = r.target.Probe(l.ctx)
			if l.ctx.Err() != nil {
				err = context.Cause(l.ctx)
			} else if err != nil {
				err = fmt.Errorf("%w: %s", ErrUnusable, r.target.Redact(err.Error()))
			}
			if l.process == nil && !r.target.Reached() {
				l.stop(nil) // there was no daemon that could die
			}
		})
		if l.death == nil {
			return err
		}
		death := *l.death
		death.Probing, death.Request = true, r.target.Lost()
		r.deaths = append(r.deaths, death)
		if len(r.deaths) > 1 || !r.restart(ctx) {
			return ErrDied
		}
	}
}

// survived reports whether the run is over after the first life, because the daemon did not die or
// was not restarted.
func (r *runner) survived(ctx context.Context, l *life) bool {
	if l.death == nil {
		return true
	}
	r.addDeath(l)
	if r.restart(ctx) {
		return false
	}
	r.reportCut(ctx, l, "")
	return true
}

// bury records a death that ends the run.
func (r *runner) bury(ctx context.Context, l *life) {
	r.addDeath(l)
	r.reportCut(ctx, l, ", after a restart")
}

func (r *runner) addDeath(l *life) {
	d := *l.death
	d.Request = l.requests[d.After]
	r.deaths = append(r.deaths, d)
}

// confirm records which check made the daemon die again while running alone. It returns false if no
// check was running.
func (r *runner) confirm(ctx context.Context, l *life) bool {
	first, killer := &r.deaths[len(r.deaths)-1], l.death.After
	if killer == "" {
		r.bury(ctx, l)
		return false
	}
	first.Killer, first.Cause, first.Request = killer, l.death.Cause, l.requests[killer]
	r.reportCut(ctx, l, ", and again when no other was")
	return true
}

// reportCut reports the checks cut short by a death. how says when it happened.
func (r *runner) reportCut(ctx context.Context, l *life, how string) {
	if ctx.Err() != nil {
		return
	}
	for i, c := range r.checks {
		res, ok := l.cut[c.ID]
		if !ok || !slices.Contains(l.suspects, c.ID) || r.hasResult(i) {
			continue
		}
		res.Verdict, res.Reason = NotJudged, ReasonTransport
		res.Detail = "the daemon died while the check was running" + how + ": " + res.Detail
		r.report(i, res)
	}
}

// restart restarts the daemon and reports whether that was possible.
func (r *runner) restart(ctx context.Context) bool {
	if r.options.Restart == nil || ctx.Err() != nil {
		return false
	}
	latest := &r.deaths[len(r.deaths)-1]
	endpoint, p, err := r.options.Restart(ctx)
	if err == nil {
		err = r.target.MoveTo(endpoint)
	}
	if err != nil {
		latest.Restarted = false
		latest.Cause += r.target.Redact(fmt.Sprintf("\nthe daemon could not be restarted: %v", err))
		return false
	}
	r.process, latest.Restarted = p, true
	return true
}

// firstResult is a check's outcome while others ran, after which it must run again alone.
type firstResult struct {
	index int
	Result
}

// runRest runs the checks without a result. Checks that timed out or had failed requests run again
// alone.
func (r *runner) runRest(l *life) {
	again := r.runParallel(l)
	slices.SortFunc(again, func(a, b firstResult) int { return cmp.Compare(a.index, b.index) })
	r.runAlone(l, again)
}

// runParallel returns the checks that must run again alone.
func (r *runner) runParallel(l *life) (again []firstResult) {
	next := make(chan int)
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range min(r.options.Parallel, len(r.checks)) {
		workers.Go(func() {
			for i := range next {
				if l.ctx.Err() != nil {
					continue
				}
				if o := r.run(l, i); (o.found.Again || r.strays.isFailing(o)) && l.ctx.Err() == nil {
					mu.Lock()
					again = append(again, firstResult{i, o})
					mu.Unlock()
				} else {
					r.settle(l, i, o)
				}
			}
		})
	}
feed:
	for i := range r.checks {
		if r.hasResult(i) {
			continue
		}
		select {
		case next <- i:
		case <-l.ctx.Done():
			break feed
		}
	}
	close(next)
	workers.Wait()
	return again
}

// runAlone runs checks again, one after another. Only now do timeouts count.
func (r *runner) runAlone(l *life, again []firstResult) {
	late := 0
	for _, f := range again {
		i, o := f.index, f.Result
		if l.ctx.Err() != nil {
			return
		}
		if late == maxAlone && o.found.Late {
			r.settle(l, i, Result{Check: r.checks[i], Verdict: NotJudged, Reason: ReasonTimeout,
				Detail: "the check timed out beside others, and was not run again because checks timed out alone too"})
			continue
		}
		run := func() Result { return r.run(l, i) }
		if o.found.Again {
			o = run()
			o.Alone = true
		}
		o = r.strays.steady(l.ctx, o, run)
		if o.found.Late {
			late++
		} else {
			late = 0
		}
		r.settle(l, i, o)
	}
}

// runSuspects runs the checks that may have made the daemon die, one after another, until it dies
// again. It does not replace results of checks that had ended before.
func (r *runner) runSuspects(l *life, suspects []string) {
	for _, id := range suspects {
		i := slices.IndexFunc(r.checks, func(c Check) bool { return c.ID == id })
		run := func() Result { return r.runSuspect(l, i) }
		o := r.strays.steady(l.ctx, run(), run)
		if r.hasResult(i) {
			l.keep(o)
		} else {
			r.settle(l, i, o)
		}
		if l.ctx.Err() != nil {
			return
		}
	}
}

// runSuspect runs one check that may make the daemon die, perhaps a moment after its last response.
func (r *runner) runSuspect(l *life, i int) Result {
	id := r.checks[i].ID
	l.begin(id)
	defer l.end(id, 0)
	o := r.judged(l, i)
	o.Alone = true
	select {
	case <-time.After(settling):
		l.suspect(id)
	case <-l.ctx.Done():
	}
	return o
}

// run runs one check. Without an answer, it checks whether the daemon is alive.
func (r *runner) run(l *life, i int) Result {
	id := r.checks[i].ID
	l.begin(id)
	defer l.end(id, r.options.Parallel)
	o := r.judged(l, i)
	if o.isSuspicious() {
		l.suspect(id)
	}
	return o
}

// judged runs one check.
func (r *runner) judged(l *life, i int) Result {
	res := Result{Check: r.checks[i]}
	found := r.target.Run(l.ctx, r.checks[i])
	res.judge(found)
	res.DurationMS = millis(found.Duration)
	l.answered(res)
	return res
}

// settle reports a result, unless the check was cut short by the end of the run or the daemon's
// death.
func (r *runner) settle(l *life, i int, res Result) {
	if l.keep(res) || l.ctx.Err() != nil && res.Verdict != Kept {
		return
	}
	r.report(i, res)
}

// isDead reports whether the daemon died and was not restarted.
func (r *runner) isDead() bool {
	return slices.ContainsFunc(r.deaths, func(d Death) bool { return !d.Restarted })
}

func (r *runner) hasResult(i int) bool {
	r.reporting.Lock()
	defer r.reporting.Unlock()
	return r.results[i].Verdict != ""
}

func (r *runner) report(i int, res Result) {
	r.reporting.Lock()
	defer r.reporting.Unlock()
	r.results[i] = res
	if r.options.Done != nil {
		r.options.Done(res)
	}
}
