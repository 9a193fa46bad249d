package seed

import (
	"context"
	"errors"

	"evalctl/harness/result"
	"evalctl/harness/target"
)

// Canary is a text of evalctl's own that a run writes and searches for, to check that the target
// stores and finds texts. It gets its own brain if the target separates brains and allows another
// one. Otherwise it is stored in a brain of the run, and deleted after each check if the target can
// delete. Its methods must not be called concurrently.
type Canary struct {
	current func() target.Service
	service target.Service // of brain and text
	dialect result.Dialect
	brain   *Brain
	text    marker
	kept    bool // it is written and not deleted
	seen    result.Admission
}

// NewCanary returns a canary without writing it. current returns the service under test, which a
// restart replaces. among is its id of a brain of the run.
func NewCanary(ctx context.Context, current func() target.Service, d result.Dialect, among string) *Canary {
	unique := NewMark()
	mark := unique
	s := current()
	c := &Canary{
		current: current, service: s, dialect: d,
		seen: result.Admission{Brain: result.CanaryAmong, Before: result.Sighting{State: result.CanaryUnknown}, After: result.Sighting{State: result.CanaryUnknown}},
	}
	c.brain = NewBrain(s, d, among)
	c.brain.id = among
	if s.Lacks(target.Brains) == "" {
		own := NewBrain(s, d, "evalctl-canary-"+unique)
		if own.Create(ctx) == nil {
			c.brain, c.seen.Brain = own, result.CanaryAlone
			if s.Lacks(target.Protocol) == "" {
				mark = sameMark
			}
		}
	}
	c.text = newMarker(c.brain.store, c.brain.id, "canary", mark)
	c.text.query = string(c.text.doc.Data)
	return c
}

// sameMark is the mark for daemons that speak the protocol, where the canary has its own brain. It
// is the same in every run, so that a daemon that caches vectors embeds it once.
const sameMark = "zqcanary7hk2m9"

// Before writes the canary and searches for it. The target is then ready for its first question.
func (c *Canary) Before(ctx context.Context) { c.seen.Before = c.look(ctx) }

// After searches for the canary after the last question, unless Before failed.
func (c *Canary) After(ctx context.Context) {
	if c.seen.Before.Problem == "" {
		c.seen.After = c.look(ctx)
	}
}

// Seen returns the observations. held is the number of texts at the target before the run, nil if
// unknown.
func (c *Canary) Seen(held *int) *result.Admission {
	seen := c.seen
	seen.Held = held
	return &seen
}

// follow makes the next requests go to the service that runs now. There is none after a restart that
// failed.
func (c *Canary) follow() {
	s := c.current()
	if s == nil || s == c.service {
		return
	}
	c.service, c.brain.store = s, s.Store(c.dialect)
	c.text.store = c.brain.store
}

// look writes the canary unless it exists, and searches for it.
func (c *Canary) look(ctx context.Context) result.Sighting {
	c.follow()
	failed := func(what string, err error) result.Sighting {
		return result.Sighting{State: result.CanaryUnknown, Problem: what + ": " + err.Error()}
	}
	if !c.kept {
		if err := c.text.write(ctx); err != nil {
			return failed("it could not be written", err)
		}
		c.kept = true
	}
	var s result.Sighting
	switch _, err := c.text.await(ctx, true); {
	case ctx.Err() != nil:
		return failed("the run ended", context.Cause(ctx))
	case errors.Is(err, errNotFound):
		s.State = result.CanaryMissing
	case err != nil:
		s = failed("it could not be looked for", err)
	default:
		s.State = result.CanaryFound
	}
	if c.seen.Brain == result.CanaryAmong && c.service.Lacks(target.Delete) == "" {
		c.kept = c.text.remove(ctx) != nil
	}
	return s
}

// Remove removes the brain of the canary, if it has its own.
func (c *Canary) Remove(ctx context.Context) {
	if c.seen.Brain == result.CanaryAlone {
		c.follow()
		_ = c.brain.Remove(ctx) // its name says that it can be deleted
	}
}
