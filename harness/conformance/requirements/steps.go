package requirements

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evalctl/internal/retry"
)

// setup runs steps that prepare a check. Their failures are not the check's requirement, so they
// leave the check not judged.
func setup(steps ...step) step { return withoutVerdict(ReasonSetup, "prepare the check", steps) }

func withoutVerdict(reason Reason, what string, steps []step) step {
	return func(ctx context.Context, c *client) error {
		err := c.run(ctx, steps...)
		if errors.As(err, new(contradiction)) {
			// Without the chain: a contradiction in it would be a verdict.
			f, _ := errors.AsType[failure](err)
			f.error = fmt.Errorf("%s: %s", what, err.Error())
			return unjudgedError{reason, f}
		}
		return err
	}
}

// expect sends a request and checks the response. A status of 0 accepts any status. A response that
// differs breaks the check.
func expect(r request, status int, assertions ...assertion) step {
	return func(ctx context.Context, c *client) error {
		_, err := c.get(ctx, r, status, assertions...)
		return err
	}
}

// expect2xx sends a request and accepts any status from 200 to 299.
func expect2xx(r request) step { return expect(r, 0, isSuccess) }

// observe is expect for a request that only shows the effect of the requests under test.
func observe(r request, status int, assertions ...assertion) step {
	seen := expect(r, 0, append([]assertion{unobservable, hasStatus(status)}, assertions...)...)
	return func(ctx context.Context, c *client) error { return c.afterChange(seen(ctx, c)) }
}

// inspect is expect for a check about a part of a response. Another status leaves the check not
// judged, since another check requires the request to succeed.
func inspect(r request, status int, assertions ...assertion) step {
	return expect(r, 0, append([]assertion{given(status)}, assertions...)...)
}

// send sends a request that prepares a check and must succeed.
func send(r request) step { return setup(expect2xx(r)) }

// attempt sends a request that may fail.
func attempt(r request) step { return expect(r, 0) }

func put(path, text string) step      { return send(putOf(path, text)) }
func appendTo(path, text string) step { return send(appendOf(path, text)) }
func remove(path string) step         { return send(deleteOf(path)) }

// removed deletes a document and makes sure that it is gone, for checks of the consequences.
func removed(path string) step { return setup(remove(path), expectAbsent(path)) }

// written writes a document and makes sure that it has the content.
func written(path, text string) step { return setup(put(path, text), expectContent(path, text)) }

// extended appends to a document and makes sure that it has the new content.
func extended(path, text, whole string) step {
	return setup(appendTo(path, text), expectContent(path, whole))
}

// renamedTo renames a document and makes sure that it is at the new path only.
func renamedTo(from, to, text string) step {
	return setup(rename(from, to), expectAbsent(from), expectContent(to, text))
}

// applied sends a batch and makes sure that it had its effect.
func applied(r request, effect ...step) step { return setup(append([]step{send(r)}, effect...)...) }

func rename(from, to string) step { return send(renameOf(from, to)) }
func batch(ops ...object) step    { return send(batchOf(ops...)) }

// expectContent requires a document to have a content.
func expectContent(path, text string) step {
	return observe(readOf(path), 0, isSuccess, bodyIs(text))
}

// expectAbsent requires a document not to exist.
func expectAbsent(path string) step { return observe(readOf(path), 404) }

// expectNoBrain sends a request about a brain that does not exist. It accepts 404, and also 403 if
// a token is sent, because a daemon need not reveal to it which brains exist (spec 5).
func expectNoBrain(r request) step {
	return lazily(func(c *client) step {
		if c.target.tokenFor(r) != "" {
			return inNoBrain(r, statusIn(404, 403))
		}
		return inNoBrain(r, statusIn(404))
	})
}

// inNoBrain sends a request about a brain that does not exist, which some daemons create.
func inNoBrain(r request, assertions ...assertion) step {
	return func(ctx context.Context, c *client) error {
		brain := newBrainName()
		created := func(res *response) error {
			if res.status/100 == 2 && r.method != "GET" {
				c.target.deleteBrain(ctx, brain)
			}
			return nil
		}
		return c.runIn(ctx, brain, expect(r, 0, append([]assertion{created}, assertions...)...))
	}
}

func pause(while time.Duration) step {
	return func(ctx context.Context, _ *client) error {
		_ = retry.Sleep(ctx, while)
		return nil
	}
}

// inTurn combines several steps into one.
func inTurn(steps ...step) step {
	return func(ctx context.Context, c *client) error { return c.run(ctx, steps...) }
}

// lazily makes a step when it runs, for values known only then, such as the id of the brain, or to
// keep large texts out of the catalog.
func lazily(make func(c *client) step) step {
	return func(ctx context.Context, c *client) error { return make(c)(ctx, c) }
}

// await calls look until its result satisfies enough. late returns the error for the last result at
// the limit.
func await[T any](limit time.Duration, look func(context.Context, *client) (T, error), enough func(T) bool,
	late func(c *client, last T) error) step {
	return func(ctx context.Context, c *client) error {
		var last T
		done, err := poll(ctx, c.target.within(limit), func() (bool, error) {
			seen, err := look(ctx, c)
			if err != nil {
				return false, err
			}
			last = seen
			return enough(last), nil
		})
		if err == nil && !done {
			err = late(c, last)
		}
		return err
	}
}

// dueTo runs steps and gives their contradictions one cause, on whatever route they appear.
func dueTo(what string, steps ...step) step {
	return func(ctx context.Context, c *client) error {
		err := c.run(ctx, steps...)
		if !errors.As(err, new(contradiction)) {
			return err
		}
		f, _ := errors.AsType[failure](err)
		if f.seen == nil {
			f.seen = c.trail().last
		}
		route := ""
		if f.seen != nil {
			route = f.seen.route
		}
		f.error, f.cause = err, Cause{Route: route, What: what, Wide: true}
		return f
	}
}
