package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"evalctl/harness/aggregate"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// runState is shared by the arms of a running replay.
type runState struct {
	instruments
	replay   storedReplay
	observer Observer
	data     []dataset.Dataset // of each arm
	lockstep *lockstep
	results  map[string]result.Result // of arms that an earlier process finished
	// controls checks the scorer on the first call. controlsErr is its error, read when all arms
	// have ended.
	controls    func() (*result.Controls, error)
	controlsErr error
}

// begin returns the state of a replay before anything runs.
func (p *Plan) begin(f Files, k storedReplay) (*runState, error) {
	r := &runState{instruments: instruments{plan: p, books: k, files: f}, replay: k, results: map[string]result.Result{}}
	for _, a := range p.Arms {
		d, err := p.dataset(a, p.Questions...)
		if err != nil {
			return nil, err
		}
		r.data = append(r.data, d)
	}
	return r, r.findFinished()
}

// findFinished reads the results of arms that an earlier process finished, and checks that the
// other arms were begun as the same experiment.
func (r *runState) findFinished() error {
	for i, a := range r.plan.Arms {
		res, ok, err := r.files.finished(a, r.books)
		if err != nil {
			return err
		}
		daemon := res.Identity.Daemon
		if !ok {
			if daemon, err = a.daemonID(); err != nil {
				return err
			}
		}
		id := r.plan.identity(a, daemon, r.data[i])
		if !ok {
			if err := r.files.check(a, id, r.books); err != nil {
				return err
			}
			continue
		}
		if err := differences(r.files.result(a), res.Identity, id); err != nil {
			return err
		}
		r.results[a.Name] = res
	}
	return nil
}

// run runs the arms.
func (r *runState) run(ctx context.Context, o Observer) (_ []Outcome, err error) {
	c := r.plan.Cache
	if r.cache, err = llm.OpenCache(c.Dir, c.Mode, c.MaxBytes); err != nil {
		return nil, err
	}
	defer func() { o.Cached(r.cache.Stats()) }()
	r.observer = o
	r.controls = sync.OnceValues(func() (c *result.Controls, err error) {
		c, r.controlsErr = r.checkScorer(ctx, o.Controls)
		return c, r.controlsErr
	})
	var names []string
	for _, a := range r.plan.Arms {
		names = append(names, a.Name)
	}
	r.lockstep = newLockstep(names)
	out := make([]Outcome, len(names))
	var wg sync.WaitGroup
	for i := range out {
		arm := r.newArm(i)
		wg.Go(func() { out[i] = arm.outcome(ctx) })
	}
	wg.Wait()
	if r.controlsErr != nil {
		return nil, errors.Join(r.controlsErr, otherErrors(out, r.controlsErr), r.books.Sync())
	}
	return out, errors.Join(r.account(ctx, out), r.books.Sync())
}

// otherErrors joins the errors of arms that did not end because the scorer could not be checked.
func otherErrors(outcomes []Outcome, controlsErr error) error {
	var errs []error
	for _, o := range outcomes {
		if o.Err != nil && !errors.Is(o.Err, controlsErr) {
			errs = append(errs, fmt.Errorf("%s: %w", o.Arm.Name, o.Err))
		}
	}
	return errors.Join(errs...)
}

// account updates the costs of finished arms. An arm may have been charged after it finished: a
// resumed replay checks the judge again, and requests of a vanished process are charged when its
// end is noticed.
func (r *runState) account(ctx context.Context, outcomes []Outcome) error {
	if finished(outcomes) {
		if err := r.replay.settle(ctx); err != nil {
			return err
		}
	}
	var errs []error
	for _, o := range outcomes {
		if o.Result == nil || o.Err != nil || o.Result.CostAccounting == nil {
			continue
		}
		was := o.Result.CostAccounting
		var questions llm.USD
		var list result.ListCost
		if was.List != nil {
			list, questions = *was.List, was.CachedSavingsUSD-was.List.UnassignedSavingsUSD
		}
		now := r.plan.accounting(r.books, o.Arm, list, questions)
		if was.List == nil {
			now.List = nil // an older evalctl has measured it
		}
		if err := r.books.Err(); err != nil {
			return err
		}
		if now.TotalUSD == was.TotalUSD && now.SharedUSD == was.SharedUSD && now.LostUSD == was.LostUSD &&
			(was.List == nil || now.List.SavedUSD == was.List.SavedUSD) {
			continue
		}
		now.Unmetered = was.Unmetered
		aggregate.PerCorrect(&now, o.Result.Counts, o.Result.Believed())
		err := journal.ReplaceCosts(o.Path, func(res *result.Result, own string) error {
			return errors.Join(r.plan.setCost(ctx, r.books, o.Arm, res, now, own), r.plan.setCost(ctx, r.books, o.Arm, o.Result, now, own))
		})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
