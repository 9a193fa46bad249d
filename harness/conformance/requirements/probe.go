package requirements

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"time"

	"evalctl/harness/census"
	"evalctl/internal/retry"
)

// probeLimit limits a request that looks for quirks of a fast daemon. If it takes longer, no quirks
// are known.
const probeLimit = 5 * time.Second

// Probe creates a brain like every check does, finds out how the daemon differs from others, and
// deletes the brain. It returns an error for a token that may not delete brains, because a run
// would leave hundreds of them; a missing deletion endpoint is not an error. After MoveTo, optional
// requests that made the daemon die are skipped.
func (d *Target) Probe(ctx context.Context) error {
	healthy, cancel := context.WithTimeoutCause(ctx, d.config.Timeout, errCheckTimeout)
	defer cancel()
	if d.base == "" {
		_, err := d.tools.client(healthy)
		return err
	}
	status, err := d.healthStatus(healthy)
	d.healthy, d.reached = err == nil && status/100 == 2, err == nil
	probe, cancel := patient(ctx, d.config.Timeout)
	defer cancel()
	if d.before == nil { // else a restarted daemon may also have brains of the checks
		if d.before, err = census.Take(probe, d.list); err != nil {
			return err
		}
	}
	id, err := d.probeCreation(probe)
	if err == nil {
		err = d.probeOther(probe, id)
	}
	if err != nil {
		return err
	}
	d.probeQuirks(probe, id)
	return d.probeDeletion(ctx, id)
}

// probeQuirks writes a document to an empty brain, searches it and lists it. Some daemons create
// index files at the first search. The route at which a daemon died is skipped.
func (d *Target) probeQuirks(ctx context.Context, brain string) {
	c := &client{target: d, brain: brain}
	once := func(r request) (*response, error) {
		limited, cancel := context.WithTimeoutCause(ctx, d.patience(probeLimit), errCheckTimeout)
		defer cancel()
		return c.do(limited, r)
	}
	do := func(r request) *response {
		if d.exchange(r, brain).route == d.deadly {
			return nil
		}
		res, err := once(r)
		if err == nil && res.status >= 500 {
			failed := res.seen
			if res, err = once(r); err == nil && res.status/100 == 2 {
				d.routes.strayed([]*exchange{failed})
			}
		}
		if err != nil || res.status/100 != 2 {
			return nil
		}
		return res
	}
	do(putOf(probeDocument, "probe"))
	do(searchOf(object{"query": "probe"}))
	if listing := do(listOf("recursive", "true", "include_generated", "true")); listing != nil {
		d.quirks.probeEntries(listing, probeDocument)
	}
	d.quirks.mu.Lock()
	defer d.quirks.mu.Unlock()
	d.quirks.begun = true
}

// patient returns a context that ends when no response has begun for limit. What uses no HTTP calls
// responded for each response.
func patient(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(errCheckTimeout) })
	again := func() { timer.Reset(limit) }
	ctx = context.WithValue(ctx, againKey{}, again)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: again})
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

type againKey struct{}

// responded gives the next response the whole time of patient.
func responded(ctx context.Context) {
	if again, ok := ctx.Value(againKey{}).(func()); ok && ctx.Err() == nil {
		again()
	}
}

const (
	// healthTries is the number of requests, with pauses and within a limit, that decide whether a
	// daemon is alive. The limit is at least healthLimit.
	healthTries = 4
	healthLimit = 10 * time.Second
	healthPause = 200 * time.Millisecond
)

// Health returns why the daemon does not seem to be alive. A daemon that was healthy at the start
// must be healthy now; any other must send any response.
func (d *Target) Health(ctx context.Context) (err error) {
	// A slow daemon counts as alive as long as a check would wait for it, and a busy one longer
	// than it has been busy before.
	limit := max(healthLimit, d.config.Timeout, 2*time.Duration(d.slowest.Load()))
	limited, cancel := context.WithTimeoutCause(ctx, limit, errCheckTimeout)
	defer cancel()
	if d.base == "" {
		if err := d.tools.health(limited); ctx.Err() == nil {
			return err
		}
		return nil // the run is over
	}
	for try := range healthTries {
		if try > 0 {
			if retry.Sleep(ctx, healthPause) != nil {
				return nil // the run is over
			}
		}
		var status int
		status, err = d.healthStatus(limited)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil && d.healthy && status/100 != 2 {
			err = fmt.Errorf("GET /healthz returned %d", status)
		}
		if err == nil {
			return nil
		}
		if limited.Err() != nil {
			break
		}
	}
	return err
}

func (d *Target) healthStatus(ctx context.Context) (int, error) {
	r := daemonRequest(http.MethodGet, "/healthz")
	r.close = true
	res, err := d.roundTrip(ctx, r, "")
	if err != nil {
		return 0, err
	}
	return res.status, nil
}
