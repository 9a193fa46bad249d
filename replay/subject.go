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

// subject is the measured system: a daemon or a baseline. close is called exactly once, in any
// case.
type subject interface {
	// open starts or connects to the subject and calls healthy with its session. The returned
	// context ends with ctx, or when the process of a started daemon ends.
	open(ctx context.Context, healthy func(*harness.Session)) (context.Context, error)
	// program identifies the opened program; build is as in ingest.Daemon.
	program() (id result.DaemonID, build string)
	// fill makes the brains of haystacks ready. with completes the configuration. Safe for
	// concurrent use.
	fill(ctx context.Context, with func(*ingest.Config), haystacks []string) (*ingest.FilledBrains, error)
	// admit checks whether a canary is found beside the filled documents, nil if no canary is used.
	// The process that fills brains calls it at most once, before the first question about them.
	admit(ctx context.Context, filled *ingest.FilledBrains) *result.Admission
	// harnessSubject returns a harness.Subject that answers from filled brains with a reader. Safe
	// for concurrent use.
	harnessSubject(reader llm.Provider, filled *ingest.FilledBrains) (harness.Subject, error)
	// report adds the subject's own data to the result after the questions. Its remaining requests
	// follow p, and nothing is asked afterwards.
	report(ctx context.Context, res *result.Result, filled *ingest.FilledBrains, p pace) error
	close() error
}

// baseline is the subject of an arm without a daemon. It has no brains and nothing to open.
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

func (b baseline) harnessSubject(reader llm.Provider, _ *ingest.FilledBrains) (s harness.Subject, err error) {
	s.Answerer, err = actor.New(b.plan.actorConfig(b.arm, reader, nil, nil))
	return s, err
}

func (baseline) admit(context.Context, *ingest.FilledBrains) *result.Admission { return nil }

func (baseline) report(context.Context, *result.Result, *ingest.FilledBrains, pace) error { return nil }

func (baseline) close() error { return nil }

// sharedDaemon is a running daemon that all workers ask.
type sharedDaemon struct {
	*daemon
	run *queue.Run // has the observations of the workers
}

func (d sharedDaemon) report(ctx context.Context, res *result.Result, filled *ingest.FilledBrains, p pace) error {
	err := d.daemon.report(ctx, res, filled, p)
	if err == nil {
		res.Replay.Restarts, err = d.run.Restarts(ctx, d.arm.Name)
	}
	return err
}

// describedDaemon is a daemon that each worker starts for itself. This process starts it only to
// identify it.
type describedDaemon struct {
	*daemon
	run *queue.Run // has the observations of the workers
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

func (describedDaemon) harnessSubject(llm.Provider, *ingest.FilledBrains) (harness.Subject, error) {
	return harness.Subject{}, nil
}

func (describedDaemon) admit(context.Context, *ingest.FilledBrains) *result.Admission { return nil }

func (d describedDaemon) report(ctx context.Context, res *result.Result, _ *ingest.FilledBrains, _ pace) (err error) {
	res.Admission, err = d.run.Admission(ctx, d.arm.Name)
	return err
}
