package replay

import (
	"context"
	"errors"

	"evalctl/harness"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/ingest"
)

// subject is what an arm measures: a daemon, or a baseline. Its close is called once, whatever else
// was.
type subject interface {
	// open starts or reaches it, and passes on its session once it is healthy. The context that it
	// returns ends with ctx, and with the process of a daemon that was started.
	open(ctx context.Context, healthy func(*harness.Session)) (context.Context, error)
	// program identifies what was opened; build is that of ingest.Daemon.
	program() (id result.DaemonID, build string)
	// fill makes the brains of haystacks ready, and may be called concurrently. with completes how.
	fill(ctx context.Context, with func(*ingest.Config), haystacks []string) (*ingest.Filled, error)
	// asked returns what answers about what was filled, with a reader. It may be called concurrently.
	asked(reader llm.Provider, filled *ingest.Filled) (harness.Subject, error)
	// report adds what it has to say after the questions to the result of an arm. What it still asks
	// keeps to p. Nothing is asked afterwards.
	report(ctx context.Context, res *result.Result, filled *ingest.Filled, p pace) error
	close() error
}

// baseline is the subject of an arm without a daemon. It has no brains, and nothing to open.
type baseline struct {
	plan *Plan
	arm  Arm
}

func (baseline) open(ctx context.Context, _ func(*harness.Session)) (context.Context, error) {
	return ctx, nil
}

func (baseline) program() (id result.DaemonID, build string) { return id, "" }

func (baseline) fill(context.Context, func(*ingest.Config), []string) (*ingest.Filled, error) {
	return &ingest.Filled{}, nil
}

func (b baseline) asked(reader llm.Provider, _ *ingest.Filled) (s harness.Subject, err error) {
	s.Answerer, err = actor.New(b.plan.actorConfig(b.arm, reader, nil, nil))
	return s, err
}

func (baseline) report(context.Context, *result.Result, *ingest.Filled, pace) error { return nil }

func (baseline) close() error { return nil }

// described is a daemon that each worker starts for itself. This process starts it only to identify
// it.
type described struct{ *daemon }

func (d described) open(ctx context.Context, healthy func(*harness.Session)) (context.Context, error) {
	_, err := d.daemon.open(ctx, healthy)
	return ctx, errors.Join(err, d.close())
}

func (d described) fill(
	ctx context.Context, with func(*ingest.Config), haystacks []string,
) (*ingest.Filled, error) {
	config := d.ingest
	with(&config)
	filled, err := ingest.Describe(ctx, config, d.plan.Benchmark, haystacks)
	return filled, asDaemonError(ctx, err)
}

func (described) asked(llm.Provider, *ingest.Filled) (harness.Subject, error) {
	return harness.Subject{}, nil
}

func (described) report(context.Context, *result.Result, *ingest.Filled, pace) error { return nil }
