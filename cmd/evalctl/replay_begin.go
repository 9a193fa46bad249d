package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evalctl/internal/llm"
	"evalctl/replay"
	"evalctl/replay/display"
	"evalctl/replay/ledger"
	"evalctl/replay/queue"
)

// begunReplay is a replay that has begun, or is resumed: with a ledger, or on a queue.
type begunReplay struct {
	ledger.Books
	run func(context.Context, replay.Hooks) ([]replay.Outcome, error)
	// resume is the command, without the program, that continues the replay.
	resume []string
	// close keeps what is needed for that, remove deletes it.
	close, remove func() error
	queue         *queue.Run // nil without one
	worker        string     // the command that starts a worker
}

// begin begins or resumes the replay.
func (c *replayCmd) begin(
	ctx context.Context, plan *replay.Plan, files replay.Files, q *queue.Queue, progress *display.Progress,
) (*begunReplay, error) {
	if q != nil {
		return c.beginQueued(ctx, plan, files, q, progress)
	}
	l, err := c.ledger(plan, files)
	if err != nil {
		return nil, err
	}
	return &begunReplay{
		Books: l, close: l.Close, remove: l.Remove, resume: []string{"replay", "--resume", l.Path()},
		run: func(ctx context.Context, h replay.Hooks) ([]replay.Outcome, error) { return plan.Run(ctx, files, l, h) },
	}, nil
}

// ledger creates the ledger of the replay, or opens the one of --resume.
func (c *replayCmd) ledger(plan *replay.Plan, files replay.Files) (*ledger.Ledger, error) {
	if c.Resume == "" {
		options, err := keptJSON(c.options())
		if err != nil {
			return nil, err
		}
		return ledger.Create(files.Ledger(), options, time.Now().UTC(), c.limit)
	}
	l, err := ledger.Open(c.Resume)
	if err != nil {
		return nil, err
	}
	if err := c.continueWith(plan, files, l, l.SetCap); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// continueWith checks that the files belong to the replay that is resumed, and changes its cap.
func (c *replayCmd) continueWith(plan *replay.Plan, files replay.Files, l ledger.Books, setCap func(llm.USD) error) error {
	if err := plan.CheckFiles(files, l); err != nil {
		return err
	}
	if c.limit == nil && l.Cap() != nil {
		return fmt.Errorf("--max-cost-usd %s: the replay has a cap of %s, which can be "+
			"changed and not removed; give an amount", noCap, *l.Cap())
	}
	if c.limit != nil && (l.Cap() == nil || *l.Cap() != *c.limit) {
		return setCap(*c.limit)
	}
	return nil
}
