package requirements

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"evalctl/harness/census"
)

// ErrDied is the cause of a context that ends because the daemon stopped answering, so that no
// request is worth waiting for.
var ErrDied = errors.New("the daemon died")

const (
	// cleanupTimeout limits the deletion of a check's brain by a fast daemon. Brains are deleted
	// even after an interrupted run.
	cleanupTimeout = 10 * time.Second
	// cleanupTries is the number of deletion requests, with pauses, before a brain is left behind.
	cleanupTries = 3
	cleanupPause = 100 * time.Millisecond
)

// deleteBrain deletes a check's brain, even after ctx has ended. A brain that cannot be deleted is
// listed in the report, but does not change the verdict.
func (d *Target) deleteBrain(ctx context.Context, id string) {
	d.quirks.forget(id)
	if d.before.Had(id) {
		return // it is not a check's
	}
	if d.deletes {
		var failed []*exchange
		for try := 0; try < cleanupTries; try++ {
			time.Sleep(time.Duration(try) * cleanupPause)
			res, err := d.requestDeletion(ctx, id)
			switch {
			// The check may have deleted the brain. The daemon then returns 404, or 403 if it does
			// not reveal to the token which brains exist.
			case err == nil && (res.status/100 == 2 || slices.Contains([]int{403, 404}, res.status)):
				d.routes.strayed(failed)
				d.mu.Lock()
				d.deleted = append(d.deleted, id)
				d.mu.Unlock()
				return
			case err != nil && !TimedOut(err) && ctx.Err() == nil:
			case err == nil && mayPass(res.status):
				failed = append(failed, res.seen)
			default:
				try = cleanupTries // another try would not help
			}
		}
	}
	d.leave(id)
}

// CleanUp returns the brains that the run created and could not delete. If the daemon is alive, it
// first tries again, because a restarted daemon may no longer have them. The tools cannot delete
// the brain shared by their checks.
func (d *Target) CleanUp(ctx context.Context, alive bool) []string {
	if d.tools != nil && d.tools.brain != "" {
		d.leave(d.tools.brain)
	}
	if alive {
		d.mu.Lock()
		left := d.left
		d.left = nil
		d.mu.Unlock()
		for _, id := range left {
			d.deleteBrain(ctx, id)
		}
		d.leaveListed(ctx)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	left := make([]string, len(d.left))
	for i, id := range d.left {
		left[i] = d.Redact(id)
	}
	slices.Sort(left)
	return left
}

// leaveListed adds the brains that the daemon still lists and serves although it has confirmed
// their deletion.
func (d *Target) leaveListed(ctx context.Context) {
	if len(d.deleted) == 0 {
		return
	}
	now, err := census.Take(ctx, d.list)
	if err != nil {
		return
	}
	for _, id := range d.deleted {
		if !now.Had(id) {
			continue
		}
		if list, err := d.list(ctx, id); list != nil || err != nil {
			d.leave(id)
		}
	}
}

func (d *Target) requestDeletion(ctx context.Context, id string) (*response, error) {
	run := ctx
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), d.patience(cleanupTimeout), errCheckTimeout)
	defer cancel()
	defer context.AfterFunc(run, func() {
		if errors.Is(context.Cause(run), ErrDied) {
			cancel() // no use to wait for a dead daemon
		}
	})()
	r := brainRequest(http.MethodDelete, "").withHeader("X-Confirm-Delete", "yes")
	r.close = true // some daemons drop the connection after this response
	res, err := d.roundTrip(ctx, r, id)
	if err != nil {
		return nil, fmt.Errorf("delete the check's brain: %w", err)
	}
	return res, nil
}

// probeDeletion deletes the probe's brain and finds out whether brains can be deleted.
func (d *Target) probeDeletion(ctx context.Context, id string) error {
	res, err := d.patiently(ctx, cleanupPause, func() (*response, error) { return d.requestDeletion(ctx, id) })
	switch {
	case err != nil:
		d.leave(id)
		return err
	case res.status/100 == 2:
		d.deletes = true
		return nil
	}
	d.leave(id)
	d.undeletable = fmt.Sprintf("DELETE /v1/brains/{id} returned %d", res.status)
	if res.status == http.StatusUnauthorized || res.status == http.StatusForbidden {
		return fmt.Errorf("delete the check's brain: %s", res)
	}
	return nil
}
