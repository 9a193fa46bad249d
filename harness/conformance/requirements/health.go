package requirements

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

const (
	// healthTries requests with pauses, within a limit, decide whether a daemon is alive. The limit is
	// at least healthLimit.
	healthTries = 4
	healthLimit = 10 * time.Second
	healthPause = 200 * time.Millisecond
)

// Health returns why the daemon does not seem to be alive. A daemon that was healthy at the start
// must be healthy now; any other must send any response.
func (d *Target) Health(ctx context.Context) (err error) {
	// A daemon that is slow is alive as long as a check would wait for it, and a busy one longer than
	// it was seen to be busy.
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
			select {
			case <-time.After(healthPause):
			case <-ctx.Done():
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
	res, err := d.send(ctx, r, "")
	if err != nil {
		return 0, err
	}
	return res.status, nil
}
