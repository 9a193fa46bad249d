package seed

import (
	"context"
	"errors"

	"evalctl/harness/result"
	"evalctl/harness/target"
)

// Canary is a text of evalctl's own that a run writes and looks for, to see that the target stores
// and finds what it is given. It has a brain of its own if the target keeps brains apart and permits
// another one; else it is among the corpus of the run, and deleted after each look if the target
// can. Its methods are called one after the other.
type Canary struct {
	service target.Service
	brain   *Brain
	text    marker
	kept    bool // it is written and not deleted
	seen    result.Admission
}

// NewCanary returns a canary, which is not written yet. among is the service's id of a brain of the
// run.
func NewCanary(ctx context.Context, s target.Service, d result.Dialect, among string) *Canary {
	unique := NewMark()
	mark := unique
	c := &Canary{
		service: s,
		seen:    result.Admission{Brain: result.CanaryAmong, Before: result.Sighting{State: result.CanaryUnknown}, After: result.Sighting{State: result.CanaryUnknown}},
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

// sameMark is the mark in a brain of its own of a daemon that speaks the protocol, whose brains are
// apart. It is the same in each run, so that a daemon that keeps vectors embeds it once.
const sameMark = "zqcanary7hk2m9"

// Before writes the canary and looks for it. Afterwards the target is ready for its first question.
func (c *Canary) Before(ctx context.Context) { c.seen.Before = c.look(ctx) }

// After looks for the canary after the last question, unless that was of no use before.
func (c *Canary) After(ctx context.Context) {
	if c.seen.Before.Problem == "" {
		c.seen.After = c.look(ctx)
	}
}

// Seen returns what was seen of the target. held is how many texts it had before the run, nil if
// that is not known.
func (c *Canary) Seen(held *int) *result.Admission {
	seen := c.seen
	seen.Held = held
	return &seen
}

// look writes the canary unless it is there, and searches for it.
func (c *Canary) look(ctx context.Context) result.Sighting {
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

// Remove removes the brain of the canary, or what is left of it.
func (c *Canary) Remove(ctx context.Context) {
	if c.seen.Brain == result.CanaryAlone {
		_ = c.brain.Remove(ctx) // its name says that it can be deleted
	}
}
