package replay

import (
	"context"

	"evalctl/harness"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/ingest"
	"evalctl/scorer"
)

// place is where the questions of a replay are answered: in this process, or by workers.
type place interface {
	// daemon returns how this process uses the daemon of an arm.
	daemon(d *daemon) subject
	// prepare fills the brains that this process has to fill. Afterwards the questions can be asked.
	prepare(ctx context.Context, r *armRun, j *journal.Journal) (*ingest.Filled, error)
	// stages sets the stages of an arm's run that are not those of its subject.
	stages(r *armRun, c *harness.Config, filled *ingest.Filled) error
	// together says with which arms the questions were asked at the same time, nil for none.
	together(r *armRun) *result.Together
	// settle ends the accounts of a replay that has finished.
	settle(ctx context.Context) error
}

// here is the place of a replay without workers, and of a worker.
type here struct{}

func (here) daemon(d *daemon) subject { return d }

func (here) prepare(ctx context.Context, r *armRun, j *journal.Journal) (*ingest.Filled, error) {
	return r.fill(ctx, func(c *ingest.Config) {
		c.Seeded, c.MarkSeeded = j.Seeded, j.MarkSeeded
		if r.plan.paid(r.arm) {
			c.Cost = func() *llm.USD { return listCost(r.ledger, r.arm) }
		}
	})
}

func (here) stages(r *armRun, c *harness.Config, filled *ingest.Filled) error {
	c.Pace = pace{r.steps, r.arm.Name}
	sc, err := r.scorer(r.arm.Name, r.cache.Wrap)
	if err == nil {
		c.Scorer = r.grading(scorer.NewDual(sc, r.originals()), filled)
	}
	return err
}

// together leaves out arms whose daemons could not be used, and those that an earlier process has
// finished.
func (here) together(r *armRun) *result.Together {
	t := &result.Together{Started: []string{}, Concurrency: r.plan.Concurrency}
	for _, a := range r.plan.Arms {
		if !r.steps.hasAsked(a.Name) {
			continue
		}
		t.Arms = append(t.Arms, a.Name)
		if a.started() {
			t.Started = append(t.Started, a.Name)
		}
	}
	if t.InFlight = len(t.Arms) * t.Concurrency; len(t.Arms) < 2 {
		return nil
	}
	return t
}

func (here) settle(context.Context) error { return nil }
