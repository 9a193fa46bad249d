package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/ledger"
)

// Hooks are called as a replay proceeds. Each may be nil. Calls are concurrent.
type Hooks struct {
	// Controls is called when the scorer has been checked.
	Controls func(result.Controls)
	// Opened is called when the daemon of an arm is healthy.
	Opened func(arm string, s *harness.Session)
	// Ingested is called with the number of sessions that an arm's brains have got, or had already,
	// since its last call.
	Ingested func(arm string, sessions int)
	// Cached is called at the end with what the cache of replies has done.
	Cached func(llm.CacheStats)
	// Queued is called when the questions of an arm are on the queue.
	Queued func(arm string)
	// Asking is called when a question begins to be asked and when its answer or failure is there.
	Asking func(arm, id string, begin bool)
	// Recorded is called with each finished question of an arm, those of a resumed replay first.
	Recorded func(arm string, rec result.Record)
}

// Outcome is how an arm ended.
type Outcome struct {
	Arm Arm
	// Result is nil if no question was asked. Path is its file.
	Result *result.Result
	Path   string
	// Journal is the arm's journal, from which it can be resumed if Err is set.
	Journal string
	// Err is why the arm did not finish, nil if it did.
	Err error
}

// replaying is the state that the arms of a running replay share.
type replaying struct {
	plan   *Plan
	files  Files
	ledger ledger.Books
	cache  *llm.Cache
	place  place
	hooks  Hooks
	data   []dataset.Dataset // of each arm
	steps  *lockstep
	done   map[string]*result.Result
	// checked has the scorer checked by the first arm that calls it. unchecked is its error, for when
	// all arms have ended.
	checked   func() (*result.Controls, error)
	unchecked error
}

func (r *replaying) run(ctx context.Context, h Hooks) (_ []Outcome, err error) {
	p := r.plan
	r.hooks = h
	if r.cache, err = llm.OpenCache(p.Cache.Dir, p.Cache.Mode, p.Cache.MaxBytes); err != nil {
		return nil, err
	}
	r.checked = sync.OnceValues(func() (c *result.Controls, err error) {
		c, r.unchecked = r.check(ctx)
		return c, r.unchecked
	})
	if h.Cached != nil {
		defer func() { h.Cached(r.cache.Stats()) }()
	}
	return r.arms(ctx)
}

// begin returns the state of a replay of which nothing runs.
func (p *Plan) begin(f Files, k kept) (*replaying, error) {
	r := &replaying{plan: p, files: f, ledger: k, place: k.place(), done: map[string]*result.Result{}}
	for _, a := range p.Arms {
		d, err := p.dataset(a, p.Questions...)
		if err != nil {
			return nil, err
		}
		r.data = append(r.data, d)
	}
	return r, r.findFinished()
}

// findFinished reads the results of arms that an earlier process has finished, and checks that the
// others were begun as the same experiment.
func (r *replaying) findFinished() error {
	for i, a := range r.plan.Arms {
		res, ok, err := r.files.finished(a, r.ledger)
		if err != nil {
			return err
		}
		daemon := res.Identity.Daemon
		if !ok && a.daemon() {
			if daemon, err = a.Session.DaemonID(); err != nil {
				return err
			}
		}
		id := r.plan.identity(a, daemon, r.data[i])
		if !ok {
			if err := r.files.check(a, id, r.ledger); err != nil {
				return err
			}
			continue
		}
		if err := differences(r.files.result(a), res.Identity, id); err != nil {
			return err
		}
		r.done[a.Name] = &res
	}
	return nil
}

// arms runs the arms.
func (r *replaying) arms(ctx context.Context) ([]Outcome, error) {
	var names []string
	for _, a := range r.plan.Arms {
		names = append(names, a.Name)
	}
	r.steps = newLockstep(names)
	out := make([]Outcome, len(names))
	var wg sync.WaitGroup
	for i, a := range r.plan.Arms {
		run := r.newArm(a, r.data[i])
		wg.Go(func() { out[i] = run.run(ctx) })
	}
	wg.Wait()
	if r.unchecked != nil {
		return nil, errors.Join(r.unchecked, unopened(out, r.unchecked), r.ledger.Sync())
	}
	return out, errors.Join(r.account(ctx, out), r.ledger.Sync())
}

// unopened returns why arms ended for another reason than that the scorer could not be checked.
func unopened(outcomes []Outcome, unchecked error) error {
	var errs []error
	for _, o := range outcomes {
		if o.Err != nil && !errors.Is(o.Err, unchecked) {
			errs = append(errs, fmt.Errorf("%s: %w", o.Arm.Name, o.Err))
		}
	}
	return errors.Join(errs...)
}

// finished reports whether every arm has.
func finished(outcomes []Outcome) bool {
	return !slices.ContainsFunc(outcomes, func(o Outcome) bool {
		return o.Err != nil || o.Result == nil || o.Result.Stopped != ""
	})
}

// begun reports whether there is anything to resume: an arm with a journal or a result, or money
// that was spent.
func begun(outcomes []Outcome, l ledger.Books) bool {
	return l.Spent() > 0 || slices.ContainsFunc(outcomes, func(o Outcome) bool {
		return o.Journal != "" || o.Result != nil
	})
}

func (r *replaying) opened(arm string, s *harness.Session) {
	if r.hooks.Opened != nil {
		r.hooks.Opened(arm, s)
	}
}

func (r *replaying) ingested(arm string, n int) {
	if r.hooks.Ingested != nil {
		r.hooks.Ingested(arm, n)
	}
}

func (r *replaying) queued(arm string) {
	if r.hooks.Queued != nil {
		r.hooks.Queued(arm)
	}
}

// Asking implements pipeline.Observer.
func (r *armRun) Asking(id string, begin bool) {
	if r.hooks.Asking != nil {
		r.hooks.Asking(r.arm.Name, id, begin)
	}
}

// Recorded implements pipeline.Observer.
func (r *armRun) Recorded(rec result.Record) {
	r.tally.Add(rec)
	if r.hooks.Recorded != nil {
		r.hooks.Recorded(r.arm.Name, rec)
	}
}
