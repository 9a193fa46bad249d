package main

import (
	"context"
	"errors"
	"slices"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/lifecycle"
	"evalctl/harness/target"
	"evalctl/scorer"
)

// unchanging returns the brains that no operation changes, which are seeded before the first
// question.
func unchanging(brains []dataset.Brain) []dataset.Brain {
	return slices.DeleteFunc(slices.Clone(brains), func(b dataset.Brain) bool { return b.Changes })
}

// live lets what happens before questions happen, if anything does. The caller calls done when the
// last question has been asked.
func (c *runCmd) live(
	config *harness.Config, plan *runPlan, session *harness.Session, asked *target.Target,
) (done func()) {
	if !plan.Dataset.Lifecycle() {
		return func() {}
	}
	sc, err := c.newScorer(plan, 0)
	run := lifecycle.New(lifecycle.Config{
		Dataset: plan.Dataset, Brains: plan.Brains, Target: asked,
		Skips: func(q dataset.Question) bool {
			return err == nil && errors.Is(sc.Check(q.Item()), scorer.ErrNoGold)
		},
	})
	if session.CanRestart() {
		run.Restart = func(ctx context.Context) (target.Service, error) {
			if err := session.Restart(ctx); err != nil {
				return nil, err
			}
			return session.Service(), nil
		}
	}
	config.Asker = run.Around(harness.NewDaemon(harness.Daemon{
		Answerer: run, Timeout: c.Timeout, TopK: c.TopK, Brains: harness.Asked(plan.Brains), Documents: run, Watched: session.Started(),
	}))
	config.Pace = run
	return func() { run.Close(context.Background()) }
}
