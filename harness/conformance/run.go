package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Defaults of Options.
const (
	DefaultParallel = 4
	DefaultTimeout  = 30 * time.Second
)

// Options of Run. Only Endpoint is required.
type Options struct {
	// Endpoint is the daemon's base URL, http or https.
	Endpoint string
	// Token is sent with every request. ReadOnlyToken may only read the same
	// tenant's documents, OtherTenantToken belongs to another tenant. Checks
	// that need one that is empty are skipped.
	Token, ReadOnlyToken, OtherTenantToken string
	// Only selects checks as Checks does.
	Only []string
	// Parallel is how many checks run at once; 0 means DefaultParallel.
	Parallel int
	// Timeout bounds one check; 0 means DefaultTimeout.
	Timeout time.Duration
	// Slow runs checks that wait for what a daemon does every 25 s.
	Slow bool
	// Agent is the User-Agent.
	Agent string
	// Done is told each result as it comes, one at a time.
	Done func(Result)
}

// ErrUnusable tells that no check could be run: the daemon does not answer, or
// makes no brain.
var ErrUnusable = errors.New("the daemon cannot be checked")

var errCheckTimeout = errors.New("the check's time is over")

// Run runs the selected checks. The error is ErrNoCheck, ErrUnusable, a bad
// endpoint, or the cause of ctx's end; the report then holds what was finished.
func Run(ctx context.Context, o Options) (Report, error) {
	checks, err := choose(o.Only)
	if err != nil {
		return Report{}, err
	}
	if o.Parallel <= 0 {
		o.Parallel = DefaultParallel
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	d, err := newTarget(o)
	if err != nil {
		return Report{}, err
	}
	defer d.http.CloseIdleConnections()
	started := time.Now()
	report := Report{Endpoint: d.base, StartedAt: started.UTC(), Planned: len(checks), Partial: true, Results: []Result{}}
	if err := d.probe(ctx, o.Timeout); err != nil {
		return report, err
	}
	for _, r := range d.runAll(ctx, o, checks) {
		if r.Status != "" {
			report.Results = append(report.Results, r)
		}
	}
	report.Partial = len(report.Results) < report.Planned
	report.DurationMS = millis(time.Since(started))
	return report, context.Cause(ctx)
}

// probe makes a brain and deletes it, as every check does: hundreds of brains
// must not stay behind at a daemon that only does the first.
func (d *target) probe(ctx context.Context, timeout time.Duration) error {
	probe, cancel := context.WithTimeoutCause(ctx, timeout, errCheckTimeout)
	defer cancel()
	id, err := d.createBrain(probe)
	if err == nil {
		err = d.proveDeletion(ctx, id)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", ErrUnusable, d.hidden.Text(err.Error()))
	}
	return nil
}

func (d *target) proveDeletion(ctx context.Context, id string) error {
	res, err := d.requestDeletion(ctx, id)
	if err == nil && res.status/100 != 2 {
		err = fmt.Errorf("delete the check's brain: %s", res)
	}
	return err
}

// runAll gives a result for each check; those that ctx's end left out have no
// status.
func (d *target) runAll(ctx context.Context, o Options, checks []check) []Result {
	results := make([]Result, len(checks))
	next := make(chan int)
	var tell sync.Mutex
	var workers sync.WaitGroup
	for range min(o.Parallel, len(checks)) {
		workers.Go(func() {
			for i := range next {
				r := d.run(ctx, o, checks[i])
				if ctx.Err() != nil {
					continue // the check was cut short: not the daemon's fault
				}
				results[i] = r
				if o.Done != nil {
					tell.Lock()
					o.Done(r)
					tell.Unlock()
				}
			}
		})
	}
feed:
	for i := range checks {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	workers.Wait()
	return results
}

func (d *target) run(ctx context.Context, o Options, c check) Result {
	res := Result{Check: c.Check, Status: Skip}
	if missing := d.missing(c.needs, o.Slow); missing != "" {
		res.Detail = missing
		return res
	}
	start := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, o.Timeout, errCheckTimeout)
	defer cancel()
	t := &trial{target: d}
	err := t.inBrain(limited, c.steps)
	res.DurationMS = millis(time.Since(start))
	res.Request = d.hidden.Text(t.last())
	switch {
	case err == nil:
		res.Status = Pass
		return res
	case errors.As(err, new(notJudged)):
	default:
		res.Status = Fail
	}
	res.Detail = d.hidden.Text(err.Error())
	return res
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
