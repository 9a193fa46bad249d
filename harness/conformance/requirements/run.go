package requirements

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Run runs a check of All in a brain of its own, or in the one that the checks of the tools share.
func (d *Target) Run(ctx context.Context, of Check) Outcome {
	all := catalog()
	chk := all[slices.IndexFunc(all, func(c check) bool { return c.ID == of.ID })]
	if unmet := d.unmet(chk.needs); unmet != "" {
		return Outcome{Reason: ReasonNeed, Detail: unmet, Cause: Cause{What: unmet, Wide: true, Whole: true}}
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
	out := d.outcome(of.ID, err, c.last())
	out.Duration, out.Failed = took, d.failedRequests(c.failures())
	if x := c.last(); x != nil {
		out.Last = x.requestText(d.Redact)
		out.ServerError = out.ServerError || x.answer != nil && x.answer.status >= 500
	}
	return out
}
