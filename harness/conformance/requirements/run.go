package requirements

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Run runs a check, which must be one of All, in its own brain, or in the one shared by the tool
// checks. It returns early when ctx ends.
func (d *Target) Run(ctx context.Context, of Check) Outcome {
	all := catalog()
	return d.run(ctx, all[slices.IndexFunc(all, func(c check) bool { return c.ID == of.ID })])
}

func (d *Target) run(ctx context.Context, chk check) Outcome {
	for _, n := range chk.needs {
		if !n.isMet(d) {
			return Outcome{Reason: ReasonNeed, Detail: n.unmet, Cause: Cause{What: n.unmet, Wide: true, Whole: true}}
		}
	}
	start := time.Now()
	limited, cancel := patient(ctx, d.config.Timeout)
	defer cancel()
	c := &client{target: d, unique: newBrainName()}
	run := c.runInNewBrain
	if chk.Group == GroupMCP {
		run = c.runInToolBrain
	}
	err := run(limited, chk.steps)
	if err != nil && errors.Is(err, context.Canceled) && errors.Is(context.Cause(limited), errCheckTimeout) {
		err = fmt.Errorf("%w: %w", errCheckTimeout, err)
	}
	took := time.Since(start)
	sent := c.trail()
	out := d.outcome(chk.ID, err, sent.last)
	out.Duration, out.Failed = took, d.failedRequests(sent.failed)
	if x := sent.last; x != nil {
		out.Last = x.requestText(d.Redact)
		out.ServerError = out.ServerError || x.answer != nil && x.answer.status >= 500
	}
	return out
}

// FailedRequest is a request answered with a status of 5xx. Request and Response are the evidence,
// without tokens.
type FailedRequest struct {
	Route             string // as in a Cause
	Status            int
	Request, Response string
	// Same is equal for the same request in another run of the check.
	Same string
}

func (d *Target) failedRequests(of []*exchange) []FailedRequest {
	var all []FailedRequest
	for _, x := range of {
		all = append(all, FailedRequest{x.route, x.answer.status, x.requestText(d.Redact), x.responseText(d.Redact), x.same})
	}
	return all
}

// Strays returns the requests outside of checks that failed and then succeeded when repeated.
func (d *Target) Strays() []FailedRequest {
	d.routes.mu.Lock()
	defer d.routes.mu.Unlock()
	return d.failedRequests(d.routes.strays)
}

// Statuses counts the statuses returned by a route.
func (d *Target) Statuses(route string) map[int]int {
	d.routes.mu.Lock()
	defer d.routes.mu.Unlock()
	return maps.Clone(d.routes.statuses[route])
}

// Outcome is the outcome of running a check. The check is kept if it is not Broken and has no
// Reason. The texts may contain text from the daemon, without tokens.
type Outcome struct {
	// Broken is set if an answer of the daemon contradicts the requirement.
	Broken bool
	// Reason says why the check is not judged.
	Reason Reason
	// Blames is the id of the check whose requirement keeps this one from completing, or "". That
	// check is broken, with the same evidence.
	Blames string
	// Detail explains why the check is not kept, Cause is what it shares with other checks, and
	// Request and Response are the evidence. They are empty for a kept check.
	Detail, Request, Response string
	Cause                     Cause
	// Again is set if the outcome counts only after the check has run alone. Late is set if
	// something did not come in time.
	Again, Late bool
	// Failed are the failed requests, whatever their consequences.
	Failed []FailedRequest
	// Last is the last request, also for a kept check.
	Last string
	// ServerError is set if the status of the last response, or of Response, was 5xx.
	ServerError bool
	Duration    time.Duration
}

// outcome returns the outcome of a check whose steps returned err. The evidence is the error's
// exchange, or else the last one.
func (d *Target) outcome(id string, err error, last *exchange) Outcome {
	if err == nil {
		return Outcome{}
	}
	out := Outcome{Detail: d.Redact(err.Error()), Again: countsAlone(err), Late: TimedOut(err)}
	out.Broken, out.Reason = verdict(err)
	if b, ok := errors.AsType[misplacedError](err); ok && !out.Broken {
		if out.Blames = b.check; b.check == id {
			out.Broken, out.Reason = true, ""
		}
	}
	cause, seen := causeOf(err, last)
	cause.What = shown(cause.What, lineBytes, d.Redact)
	out.Cause = cause
	if seen != nil {
		out.Request, out.Response = seen.requestText(d.Redact), seen.responseText(d.Redact)
		out.ServerError = strings.HasPrefix(out.Response, "HTTP 5")
	}
	return out
}

// Deviation is a difference from the specification or from other daemons that was found once. Only
// the check for the deviation itself fails because of it.
type Deviation struct {
	Text string
	// Check is the id of the check for the deviation, or "", in which case there is no Outcome. The
	// check is broken even if it did not see the deviation, since a file may appear late.
	Check   string
	Outcome Outcome
}

// Deviations returns the findings so far: what is removed from responses, how brains are created,
// and why they remain.
func (d *Target) Deviations() []Deviation {
	var all []Deviation
	d.quirks.mu.Lock()
	defer d.quirks.mu.Unlock()
	for _, s := range d.quirks.seen {
		all = append(all, Deviation{s.text, s.check, d.outcome(s.check, s.err, nil)})
	}
	if text := d.creation.text(); text != "" && d.base != "" {
		all = append(all, Deviation{Text: text})
	}
	if d.undeletable != "" {
		all = append(all, Deviation{Text: "brains cannot be deleted and remain: " + d.undeletable})
	}
	return all
}
