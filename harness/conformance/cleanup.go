package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

const (
	// cleanupTimeout bounds the deletion of a check's brain by a fast daemon, which also happens after
	// the run was interrupted.
	cleanupTimeout = 10 * time.Second
	// cleanupTries requests are made, with pauses, before a brain is left behind.
	cleanupTries = 3
	cleanupPause = 100 * time.Millisecond
)

// deleteBrain deletes a check's brain, even after ctx has ended. A brain that cannot be deleted is
// named in the report. It does not change the verdict.
func (d *target) deleteBrain(ctx context.Context, id string) {
	d.quirks.forget(id)
	if d.deletes {
		var failed []*exchange
		for try := 0; try < cleanupTries; try++ {
			time.Sleep(time.Duration(try) * cleanupPause)
			res, err := d.requestDeletion(ctx, id)
			switch {
			// The check may have deleted the brain. Then the daemon returns 404, or 403 if it does
			// not reveal to the token which brains exist.
			case err == nil && (res.status/100 == 2 || slices.Contains([]int{403, 404}, res.status)):
				d.strayed(failed)
				return
			case err != nil && !timedOut(err) && ctx.Err() == nil:
			case err == nil && mayPass(res.status):
				failed = append(failed, res.seen)
			default:
				try = cleanupTries // another try would not help
			}
		}
	}
	d.leave(id)
}

func (d *target) leave(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = append(d.left, id)
}

// brainsLeft returns the brains that the run created and could not delete.
func (d *target) brainsLeft() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := make([]string, len(d.left))
	for i, id := range d.left {
		left[i] = d.redactor.Text(id)
	}
	slices.Sort(left)
	return left
}

// deleteLeft deletes the brains that could not be deleted because the daemon was dead. A restarted
// daemon need not have them.
func (d *target) deleteLeft(ctx context.Context) {
	d.mu.Lock()
	left := d.left
	d.left = nil
	d.mu.Unlock()
	for _, id := range left {
		d.deleteBrain(ctx, id)
	}
}

func (d *target) requestDeletion(ctx context.Context, id string) (*response, error) {
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
	res, err := d.send(ctx, r, id)
	if err != nil {
		return nil, fmt.Errorf("delete the check's brain: %w", err)
	}
	return res, nil
}

// probeDeletion deletes the probe's brain and finds out whether brains can be deleted.
func (d *target) probeDeletion(ctx context.Context, id string) error {
	res, err := d.requestDeletion(ctx, id)
	var failed []*exchange
	for try := 1; try < cleanupTries && err == nil && mayPass(res.status); try++ {
		failed = append(failed, res.seen)
		time.Sleep(time.Duration(try) * cleanupPause)
		res, err = d.requestDeletion(ctx, id)
	}
	switch {
	case err != nil:
		d.leave(id)
		return err
	case res.status/100 == 2:
		d.deletes = true
		d.strayed(failed)
		return nil
	}
	d.leave(id)
	d.undeletable = fmt.Sprintf("DELETE /v1/brains/{id} returned %d", res.status)
	if res.status == http.StatusUnauthorized || res.status == http.StatusForbidden {
		return fmt.Errorf("delete the check's brain: %s", res)
	}
	return nil
}
