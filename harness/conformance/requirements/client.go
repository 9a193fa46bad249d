package requirements

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"evalctl/daemon/mcpclient"
	"evalctl/internal/retry"
)

// client sends the requests of one check to the check's own brain. It is safe for concurrent use by
// the check's steps.
type client struct {
	target *Target
	brain  string
	tools  *mcpclient.Client // instead of the connection that the checks of the tools share
	unique string            // a name for brains and sessions of this check

	mu   sync.Mutex
	sent trail
}

// trail is the record of a client's requests.
type trail struct {
	last    *exchange   // nil before the first
	changed string      // the route of the last request that changed something, or ""
	failed  []*exchange // with a status of 5xx
}

// step is a part of a check. Its error says what was expected and what the daemon did. Only a
// contradiction breaks the check.
type step func(ctx context.Context, c *client) error

// trail returns the record of the requests so far.
func (c *client) trail() trail {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent := c.sent
	sent.failed = slices.Clone(sent.failed)
	return sent
}

func (c *client) remember(x *exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent.last = x
	if x.answer != nil && x.answer.status >= 500 && !slices.Contains(c.sent.failed, x) {
		c.sent.failed = append(c.sent.failed, x)
	}
	if x.changes() {
		c.sent.changed = x.route
	}
}

// runInNewBrain creates the client's brain, runs the steps and deletes the brain.
func (c *client) runInNewBrain(ctx context.Context, steps []step) (err error) {
	c.remember(c.target.exchange(daemonRequest(http.MethodPost, "/v1/brains"), ""))
	if c.brain, err = c.target.createBrain(ctx); err != nil {
		if f, ok := errors.AsType[failure](err); ok && f.seen != nil {
			c.remember(f.seen)
		}
		return err
	}
	defer c.target.deleteBrain(ctx, c.brain)
	return c.run(ctx, steps...)
}

// run runs steps until one returns an error.
func (c *client) run(ctx context.Context, steps ...step) error {
	for _, s := range steps {
		if err := s(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// inOtherBrain runs steps in a second brain, which is deleted afterwards.
func inOtherBrain(steps ...step) step {
	return func(ctx context.Context, c *client) error {
		other := &client{target: c.target}
		err := other.runInNewBrain(ctx, steps)
		c.take(other)
		return err
	}
}

// runIn runs steps in a brain other than the check's own.
func (c *client) runIn(ctx context.Context, brain string, steps ...step) error {
	other := &client{target: c.target, brain: brain}
	err := other.run(ctx, steps...)
	c.take(other)
	return err
}

// take adopts another client's last exchange, if any, and its failed ones.
func (c *client) take(other *client) {
	sent := other.trail()
	for _, x := range sent.failed {
		c.remember(x)
	}
	if sent.last != nil {
		c.remember(sent.last)
	}
}

// do sends a request and reads the response.
func (c *client) do(ctx context.Context, r request) (*response, error) {
	c.remember(c.target.exchange(r, c.brain))
	res, err := c.target.roundTrip(ctx, r, c.brain)
	if err != nil {
		return nil, err
	}
	c.remember(res.seen)
	return res, res.withinRate()
}

// get sends a request and returns the response if verify accepts it.
func (c *client) get(ctx context.Context, r request, status int, assertions ...assertion) (*response, error) {
	res, err := c.do(ctx, r)
	if err == nil {
		err = res.verify(status, assertions...)
	}
	return res, err
}

// leastLooks is the minimum number of tries by poll, even if the daemon answers slowly.
const leastLooks = 3

// poll calls try until it is done, with growing pauses. It returns false when the limit is reached
// or ctx ends.
func poll(ctx context.Context, limit time.Duration, try func() (done bool, err error)) (bool, error) {
	start, pause := time.Now(), 5*time.Millisecond
	for looks := 1; ; looks++ {
		done, err := try()
		if looks > 1 && err != nil && ctx.Err() != nil && TimedOut(err) {
			return false, nil // the answers so far count
		}
		if done || err != nil {
			return done, err
		}
		if looks >= leastLooks && time.Since(start) >= limit {
			return false, nil
		}
		if retry.Sleep(ctx, pause) != nil {
			return false, nil
		}
		pause = min(2*pause, 250*time.Millisecond)
	}
}

// afterChange adds the last change to the cause of a contradiction about its effect.
func (c *client) afterChange(err error) error {
	f, ok := errors.AsType[failure](err)
	changed := c.trail().changed
	if !ok || changed == "" || f.cause.What == "" || !errors.As(err, new(contradiction)) {
		return err
	}
	f.error, f.cause.Route = err, "after "+changed+", "+f.cause.Route
	return f
}
