package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"evalctl/internal/llm"
	"evalctl/internal/postgres"
	"evalctl/internal/terminal"
	"evalctl/replay"
	"evalctl/replay/display"
	"evalctl/replay/queue"
)

// errQueueURL is the error of a --queue that is not the URL of a database.
var errQueueURL = errors.New("--queue must be a URL such as postgres://user@host:5432/database")

// openQueue joins the queue at url, the value of --queue. A database that cannot be reached is a
// daemonError.
func openQueue(ctx context.Context, p *process, url string, o queue.Options) (*queue.Queue, error) {
	if err := postgres.CheckFlag(url, "--queue", "SVC_QUEUE", p.args, p.env); err != nil {
		return nil, err
	}
	q, err := queue.Open(ctx, url, o)
	return q, databaseError(err)
}

// joinQueue joins the queue of --queue, nil without one, and finds the run of --resume there.
func (c *replayCmd) joinQueue(ctx context.Context, p *process) (*queue.Queue, error) {
	if c.Queue == "" {
		return nil, nil
	}
	q, err := openQueue(ctx, p, c.Queue, queue.Options{Wait: c.QueueWait})
	if err != nil || c.Resume == "" {
		return q, err
	}
	if _, c.begun, err = q.Find(ctx, c.Resume); err != nil {
		return nil, errors.Join(err, q.Close())
	}
	return q, nil
}

// beginQueued puts the replay on the queue, or takes it over from a process that has ended.
func (c *replayCmd) beginQueued(
	ctx context.Context, plan *replay.Plan, files replay.Files, q *queue.Queue, progress *display.Progress,
) (*begunReplay, error) {
	run, err := c.queuedRun(ctx, plan, q, progress)
	if err != nil {
		return nil, err
	}
	if c.Resume != "" {
		setCap := func(limit llm.USD) error { return run.SetCap(ctx, limit) }
		if err := c.continueWith(plan, files, run, setCap); err != nil {
			return nil, errors.Join(err, run.Close())
		}
	}
	resume := []string{"replay", "--resume", run.ID()}
	if c.typed["queue"] {
		resume = append(resume, "--queue", c.Queue)
	}
	if c.Output != "" {
		resume = append(resume, "--output", c.Output)
	}
	worker := []string{"evalctl", "worker"}
	if c.typed["queue"] {
		worker = append(worker, "--queue", c.Queue)
	}
	return &begunReplay{
		Books: run, close: run.Close, remove: run.Remove, resume: resume, queue: run, worker: terminal.CommandLine(worker...),
		run: func(ctx context.Context, h replay.Hooks) ([]replay.Outcome, error) {
			return plan.RunQueued(ctx, files, run, h)
		},
	}, nil
}

func (c *replayCmd) queuedRun(
	ctx context.Context, plan *replay.Plan, q *queue.Queue, progress *display.Progress,
) (*queue.Run, error) {
	if c.Resume != "" {
		return q.Resume(ctx, c.Resume, progress.Notice)
	}
	flags, err := c.options()
	if err != nil {
		return nil, err
	}
	// Workers must use the models of this process, whatever their environment says.
	for name, model := range map[string]*replay.Model{"actor": plan.Reader, "judge": plan.Judge} {
		if model != nil && flags[name] == nil {
			flags[name] = model.Provider + "/" + model.Model
		}
	}
	options, err := json.Marshal(flags)
	if err != nil {
		return nil, err
	}
	return q.Create(ctx, options, time.Now().UTC(), c.limit, progress.Notice)
}

// announce prints how to work for a run on a queue.
func (b *begunReplay) announce(t *terminal.Terminal) {
	if b.queue != nil {
		t.Field("queue", "run %s  workers on any machine, with the same queue: %s", b.queue.ID(), b.worker)
	}
}
