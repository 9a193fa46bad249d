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
	defaultParallel = 4
	defaultTimeout  = 30 * time.Second
)

// Options configures Run. Only Endpoint is required.
type Options struct {
	// Endpoint is the daemon's base URL, http or https.
	Endpoint string
	// Token is sent with every request. ReadOnlyToken belongs to the same tenant and may only read
	// its documents. OtherTenantToken belongs to another tenant. Checks that need a token that is
	// empty are skipped.
	Token, ReadOnlyToken, OtherTenantToken string
	// Only selects checks; see Checks.
	Only []string
	// Parallel is the number of concurrent checks; 0 means 4.
	Parallel int
	// Timeout bounds one check; 0 means 30 seconds.
	Timeout time.Duration
	// Slow includes the checks that wait for something that a daemon does every 25 seconds.
	Slow bool
	// Agent is the User-Agent header of every request.
	Agent string
	// Done is called with each result as soon as it is available. Calls are not concurrent.
	Done func(Result)
}

// ErrUnusable reports that no check could run: the daemon does not respond, or does not create and
// delete brains.
var ErrUnusable = errors.New("the daemon cannot be checked")

var errCheckTimeout = errors.New("the check timed out")

// Run runs the selected checks. It returns an error for an invalid selection or endpoint, if the
// daemon is unusable (ErrUnusable), and if ctx ends early: then the error is ctx's cause and the
// report contains the checks that were finished.
func Run(ctx context.Context, o Options) (Report, error) {
	checks, err := selectChecks(o.Only)
	if err != nil {
		return Report{}, err
	}
	if o.Parallel <= 0 {
		o.Parallel = defaultParallel
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	d, err := newTarget(o)
	if err != nil {
		return Report{}, err
	}
	defer d.http.CloseIdleConnections()
	started := time.Now()
	report := Report{
		Endpoint: d.base, StartedAt: started.UTC(), Planned: len(checks), Partial: true, Results: []Result{},
	}
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

// probe creates a brain and deletes it, as every check does. It stops a run against a daemon that
// cannot delete brains, which would otherwise keep hundreds of them.
func (d *target) probe(ctx context.Context, timeout time.Duration) error {
	probe, cancel := context.WithTimeoutCause(ctx, timeout, errCheckTimeout)
	defer cancel()
	id, err := d.createBrain(probe)
	if err == nil {
		err = d.verifyDeletion(ctx, id)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", ErrUnusable, d.redactor.Text(err.Error()))
	}
	return nil
}

func (d *target) verifyDeletion(ctx context.Context, id string) error {
	res, err := d.requestDeletion(ctx, id)
	if err == nil && res.status/100 != 2 {
		err = fmt.Errorf("delete the check's brain: %s", res)
	}
	return err
}

// runAll returns one result per check. Checks that did not finish before ctx ended have an empty
// status.
func (d *target) runAll(ctx context.Context, o Options, checks []check) []Result {
	results := make([]Result, len(checks))
	next := make(chan int)
	var reporting sync.Mutex
	var workers sync.WaitGroup
	for range min(o.Parallel, len(checks)) {
		workers.Go(func() {
			for i := range next {
				r := d.runCheck(ctx, o, checks[i])
				if ctx.Err() != nil {
					continue // the check was interrupted, which is not the daemon's fault
				}
				results[i] = r
				if o.Done != nil {
					reporting.Lock()
					o.Done(r)
					reporting.Unlock()
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

func (d *target) runCheck(ctx context.Context, o Options, chk check) Result {
	res := Result{Check: chk.Check, Status: Skip}
	if unmet := d.unmet(chk.needs, o.Slow); unmet != "" {
		res.Detail = unmet
		return res
	}
	start := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, o.Timeout, errCheckTimeout)
	defer cancel()
	c := &client{target: d}
	err := c.runInNewBrain(limited, chk.steps)
	res.DurationMS = millis(time.Since(start))
	res.Request = d.redactor.Text(c.last())
	switch {
	case err == nil:
		res.Status = Pass
		return res
	case errors.As(err, new(skipError)):
	default:
		res.Status = Fail
	}
	res.Detail = d.redactor.Text(err.Error())
	return res
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
