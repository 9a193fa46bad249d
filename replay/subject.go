package replay

import (
	"context"
	"errors"

	"evalctl/harness"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/ingest"
	"evalctl/replay/queue"
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
	fill(ctx context.Context, with func(*ingest.Config), haystacks []string) (*ingest.FilledBrains, error)
	// admit sees whether a canary is found beside what was filled, and returns nil if that is not asked. It
	// is called once at most, by the process that fills brains, before the first question about them.
	admit(ctx context.Context, filled *ingest.FilledBrains) *result.Admission
	// asked returns what answers about what was filled, with a reader. It may be called concurrently.
	asked(reader llm.Provider, filled *ingest.FilledBrains) (harness.Subject, error)
	// report adds what it has to say after the questions to the result of an arm. What it still asks
	// keeps to p. Nothing is asked afterwards.
	report(ctx context.Context, res *result.Result, filled *ingest.FilledBrains, p pace) error
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

func (baseline) fill(context.Context, func(*ingest.Config), []string) (*ingest.FilledBrains, error) {
	return &ingest.FilledBrains{}, nil
}

func (b baseline) asked(reader llm.Provider, _ *ingest.FilledBrains) (s harness.Subject, err error) {
	s.Answerer, err = actor.New(b.plan.actorConfig(b.arm, reader, nil, nil))
	return s, err
}

func (baseline) admit(context.Context, *ingest.FilledBrains) *result.Admission { return nil }

func (baseline) report(context.Context, *result.Result, *ingest.FilledBrains, pace) error { return nil }

func (baseline) close() error { return nil }

// describedDaemon is a daemon that each worker starts for itself. This process starts it only to identify
// it.
type describedDaemon struct {
	*daemon
	run *queue.Run // with what the workers have seen
}

func (d describedDaemon) open(ctx context.Context, healthy func(*harness.Session)) (context.Context, error) {
	_, err := d.daemon.open(ctx, healthy)
	return ctx, errors.Join(err, d.close())
}

func (d describedDaemon) fill(
	ctx context.Context, with func(*ingest.Config), haystacks []string,
) (*ingest.FilledBrains, error) {
	config := d.ingest
	with(&config)
	filled, err := ingest.Describe(ctx, config, d.plan.Benchmark, haystacks)
	return filled, asDaemonError(ctx, err)
}

func (describedDaemon) asked(llm.Provider, *ingest.FilledBrains) (harness.Subject, error) {
	return harness.Subject{}, nil
}

func (describedDaemon) admit(context.Context, *ingest.FilledBrains) *result.Admission { return nil }

func (d describedDaemon) report(ctx context.Context, res *result.Result, _ *ingest.FilledBrains, _ pace) (err error) {
	res.Admission, err = d.run.Admission(ctx, d.arm.Name)
	return err
}
