package replay

import (
	"context"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/ingest"
	"evalctl/scorer"
)

// place is where the questions of a replay are answered: in this process, or by workers.
type place interface {
	// watch returns a context that also ends with a daemon that this process needs.
	watch(ctx context.Context, s *harness.Session) (context.Context, context.CancelFunc)
	// prepare fills the brains that this process has to fill. Afterwards the questions can be asked.
	prepare(ctx context.Context, r *armRun, j *journal.Journal) (*ingest.Filled, error)
	// seeding says who knows which brains are seeded, and what filling them costs.
	seeding(r *armRun, j *journal.Journal, c *ingest.Config)
	// stages sets the stages of an arm's run, and returns what answers in this process.
	stages(r *armRun, c *harness.Config, brains []dataset.Brain, filled *ingest.Filled) (answers, error)
	// together says with which arms the questions were asked at the same time, nil for none.
	together(r *armRun) *result.Together
	// settle ends the accounts of a replay that has finished.
	settle(ctx context.Context) error
}

// here is the place of a replay without workers, and of a worker.
type here struct{}

func (here) watch(ctx context.Context, s *harness.Session) (context.Context, context.CancelFunc) {
	return s.Watch(ctx)
}

func (here) prepare(ctx context.Context, r *armRun, j *journal.Journal) (*ingest.Filled, error) {
	if r.session == nil {
		return nil, nil
	}
	filled, err := r.fillAll(ctx, j)
	if err == nil {
		return filled, nil
	}
	r.awaitDeath(ctx)
	if stop := r.money.stopped(); stop != nil {
		return nil, stop // which the daemon passed on as a failure of its own
	}
	return nil, asDaemonError(ctx, err)
}

func (here) seeding(r *armRun, j *journal.Journal, c *ingest.Config) {
	c.Seeded, c.MarkSeeded = j.Seeded, j.MarkSeeded
	if r.plan.paid(r.arm) {
		c.Cost = func() *llm.USD { return listCost(r.ledger, r.arm) }
	}
}

func (here) stages(r *armRun, c *harness.Config, brains []dataset.Brain, filled *ingest.Filled) (answers, error) {
	c.Pace = pace{r.steps, r.arm.Name}
	sc, err := r.scorer(r.arm.Name, r.cache.Wrap)
	if err != nil {
		return answers{}, err
	}
	c.Scorer = r.grading(scorer.NewDual(sc, r.originals()), filled)
	asked, err := r.answers(filled)
	c.Asker = r.asker(asked, brains, filled)
	return asked, err
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
