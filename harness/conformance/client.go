package conformance

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"evalctl/daemon/mcpclient"
)

// client sends the requests of one check to a brain that the check has for itself. It is safe for
// concurrent use by the steps of the check.
type client struct {
	target *target
	brain  string
	tools  *mcpclient.Client // instead of the connection that the checks of the tools share
	unique string            // a name for brains and sessions of this check

	mu      sync.Mutex
	seen    *exchange   // the last one
	changed string      // the route of the last request that changed something
	failed  []*exchange // with a status of 5xx
}

// step is a part of a check. Its error says what was wanted and what the daemon did instead. Only a
// contradiction breaks the check.
type step func(ctx context.Context, c *client) error

// last returns the last exchange, nil before the first.
func (c *client) last() *exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// lastChange returns the route of the last request that changed something, or "".
func (c *client) lastChange() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// failures returns the exchanges with a status of 5xx.
func (c *client) failures() []*exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.failed)
}

func (c *client) remember(x *exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = x
	if x.answer != nil && x.answer.status >= 500 && !slices.Contains(c.failed, x) {
		c.failed = append(c.failed, x)
	}
	if x.changes() {
		c.changed = x.route
	}
}

// runInToolBrain runs the steps of a check of the tools, in the brain that these checks share.
func (c *client) runInToolBrain(ctx context.Context, steps []step) (err error) {
	if c.brain, err = c.target.toolBrain(ctx); err != nil {
		return err
	}
	return c.run(ctx, steps...)
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

// runIn runs steps in a brain that is not the check's own.
func (c *client) runIn(ctx context.Context, brain string, steps ...step) error {
	other := &client{target: c.target, brain: brain}
	err := other.run(ctx, steps...)
	c.take(other)
	return err
}

// take remembers the last exchange of another client, if it has one, and those that failed.
func (c *client) take(other *client) {
	for _, x := range other.failures() {
		c.remember(x)
	}
	if x := other.last(); x != nil {
		c.remember(x)
	}
}

// do sends a request and reads the response.
func (c *client) do(ctx context.Context, r request) (*response, error) {
	c.remember(c.target.exchange(r, c.brain))
	res, err := c.target.send(ctx, r, c.brain)
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

// withinRate returns an error if the daemon's rate limit was reached.
func (r *response) withinRate() error {
	if r.status != http.StatusTooManyRequests {
		return nil
	}
	return unjudged{ReasonRateLimit, r.wantStatus("2xx",
		errors.New("the daemon's rate limit was reached: run fewer checks in parallel"))}
}

// leastLooks is how often poll tries at least, also if the daemon answers slowly.
const leastLooks = 3

// poll calls try until it is done, with growing pauses. It returns false when the limit is reached
// or ctx ends.
func poll(ctx context.Context, limit time.Duration, try func() (done bool, err error)) (bool, error) {
	start, pause := time.Now(), 5*time.Millisecond
	for looks := 1; ; looks++ {
		done, err := try()
		if looks > 1 && err != nil && ctx.Err() != nil && timedOut(err) {
			return false, nil // the answers so far count
		}
		if done || err != nil {
			return done, err
		}
		if looks >= leastLooks && time.Since(start) >= limit {
			return false, nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false, nil
		}
		pause = min(2*pause, 250*time.Millisecond)
	}
}

// need is what a check needs in addition to the run's endpoint.
type need int

const (
	needNothing need = iota
	needToken
	needReadOnlyToken
	needOtherTenant
	needSlow // Options.Slow
	needMCP
	needLocalMCP // a server that can read the files of this machine
)

// requiring returns the checks with a need.
func requiring(need need, checks ...check) []check {
	for i := range checks {
		checks[i].needs = need
	}
	return checks
}

// unmet returns why a check cannot be judged, or "".
func (d *target) unmet(need need, slow bool) string {
	switch {
	case need == needToken && d.token == "":
		return "needs a token"
	case need == needReadOnlyToken && (d.token == "" || d.readOnly == ""):
		return "needs a token, and a read-only token"
	case need == needOtherTenant && (d.token == "" || d.otherTenant == ""):
		return "needs a token, and a token of another tenant"
	case (need == needMCP || need == needLocalMCP) && d.tools == nil:
		return "needs an MCP server"
	case need == needLocalMCP && !d.tools.local:
		return "needs an MCP server that is a command on this machine"
	case need == needSlow && !slow:
		return "takes half a minute: include it with the option for slow checks"
	}
	return ""
}
