package replay

import (
	"context"

	"evalctl/harness"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/ingest"
)

// subject is what an arm measures: a daemon, or a baseline. Its close is called once, whatever else
// was.
type subject interface {
	// open starts or reaches it. The context that it returns ends with ctx, and with the process of a
	// daemon that was started.
	open(ctx context.Context) (context.Context, error)
	// program identifies what was opened; build is that of ingest.Daemon.
	program() (id result.DaemonID, build string)
	// fill makes the brains of haystacks ready, and may be called concurrently. with completes how.
	fill(ctx context.Context, with func(*ingest.Config), haystacks []string) (*ingest.Filled, error)
	// asks has a configuration ask it as d says, about what was filled. It may be called concurrently.
	asks(c *harness.Config, d harness.Daemon, reader llm.Provider, filled *ingest.Filled) error
	// report adds what it has to say after the questions to the result of an arm. Nothing is asked
	// afterwards.
	report(ctx context.Context, res *result.Result, filled *ingest.Filled) error
	close() error
}

// subjectOf returns what an arm measures.
func (r *replaying) subjectOf(a Arm) subject {
	if a.daemon() {
		return r.place.daemon(&daemon{replaying: r, arm: a})
	}
	return baseline{r.plan, a}
}

// baseline is the subject of an arm without a daemon. It has no brains, and nothing to open.
type baseline struct {
	plan *Plan
	arm  Arm
}

func (baseline) open(ctx context.Context) (context.Context, error) { return ctx, nil }

func (baseline) program() (id result.DaemonID, build string) { return id, "" }

func (baseline) fill(context.Context, func(*ingest.Config), []string) (*ingest.Filled, error) {
	return &ingest.Filled{}, nil
}

func (b baseline) asks(c *harness.Config, d harness.Daemon, reader llm.Provider, _ *ingest.Filled) (err error) {
	d.Answerer, err = actor.New(b.plan.actorConfig(b.arm, reader, nil, nil))
	c.Asker = harness.NewDaemon(d)
	return err
}

func (baseline) report(context.Context, *result.Result, *ingest.Filled) error { return nil }

func (baseline) close() error { return nil }
