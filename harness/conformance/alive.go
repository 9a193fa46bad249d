package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// ErrDied reports that the daemon stopped answering during a run.
var ErrDied = errors.New("the daemon died")

const (
	// healthTries requests, each with a limit and a pause, decide whether a daemon is alive.
	healthTries = 4
	healthLimit = 3 * time.Second
	healthPause = 200 * time.Millisecond
)

// Process is the process of a daemon that was started for the run.
type Process interface {
	// Done is closed when the process has ended.
	Done() <-chan struct{}
	// Err says how the process ended, with the last lines of its log. It is called after Done.
	Err() error
}

// Death says when a daemon stopped answering.
type Death struct {
	// After is the check that was the first to get no answer. It is empty if no check was running.
	After string `json:"after"`
	// Running are the other checks that were running then.
	Running []string `json:"running,omitempty"`
	// Cause is what the daemon's health check, or its process, said. It may contain lines of the
	// daemon's log.
	Cause string `json:"cause"`
	// Restarted is set if the daemon was started again and the run went on.
	Restarted bool `json:"restarted"`
}

func (d Death) String() string {
	text := "no check was running"
	if d.After != "" {
		text = "during " + d.After
	}
	if len(d.Running) > 0 {
		text += fmt.Sprintf(" (also running: %v)", d.Running)
	}
	return text + ": " + d.Cause
}

// health returns why the daemon does not seem to be alive. A daemon that was healthy at the start
// must be healthy now; any other must send any response.
func (d *target) health(ctx context.Context) (err error) {
	if d.base == "" {
		return d.tools.health(ctx)
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
		status, err = d.healthStatus(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil && d.healthy && status/100 != 2 {
			err = fmt.Errorf("GET /healthz returned %d", status)
		}
		if err == nil {
			return nil
		}
	}
	return err
}

func (d *target) healthStatus(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, healthLimit, errCheckTimeout)
	defer cancel()
	r := daemonRequest(http.MethodGet, "/healthz")
	r.close = true
	res, err := d.send(ctx, r, "")
	if err != nil {
		return 0, err
	}
	return res.status, nil
}
