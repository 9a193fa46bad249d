package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"evalctl/internal/postgres"
	"evalctl/internal/terminal"
	"evalctl/replay"
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

// store returns where the replay is kept. The caller must close it.
func (c *replayCmd) store(ctx context.Context, p *process, notice func(string)) (replay.Store, error) {
	if c.Queue == "" {
		return replay.Ledgers{}, nil
	}
	if _, err := os.Stat(c.Resume); err == nil {
		return nil, fmt.Errorf("%s is a file, and with a queue --resume names a run on it: "+
			"leave out --queue and unset SVC_QUEUE to resume from a ledger", c.Resume)
	}
	q, err := openQueue(ctx, p, c.Queue, queue.Options{Wait: c.QueueWait})
	if err != nil {
		return nil, err
	}
	return replay.OnQueue(q, notice), nil
}

// begin begins or resumes the replay.
func (c *replayCmd) begin(
	ctx context.Context, plan *replay.Plan, s replay.Store, files replay.Files,
) (*replay.Running, error) {
	if c.Resume != "" {
		return plan.Resume(ctx, s, files, c.Resume)
	}
	options, err := c.options()
	if err != nil {
		return nil, err
	}
	return plan.Begin(ctx, s, files, options)
}

// onQueue returns a command line with the queue of the replay, unless the environment names it.
func (c *replayCmd) onQueue(args ...string) string {
	if c.Typed("queue") {
		args = append(args, "--queue", c.Queue)
	}
	return terminal.CommandLine(append([]string{"evalctl"}, args...)...)
}

// announce prints how to work for a run on a queue.
func (c *replayCmd) announce(t *terminal.Terminal, id string) {
	if c.Queue != "" {
		t.Field("queue", "run %s  workers on any machine, with the same queue: %s", id, c.onQueue("worker"))
	}
}
