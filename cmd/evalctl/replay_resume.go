package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"evalctl/harness"
	"evalctl/harness/project"
	"evalctl/internal/postgres"
	"evalctl/internal/terminal"
	"evalctl/replay"
	"evalctl/replay/queue"
)

// options returns the values of the flags, for ledgerOptions to read. The models are kept even if
// the environment gives them: a replay is resumed with the same ones.
func (c *replayCmd) options() (map[string]any, error) {
	options, err := c.Keep(c.addPaths(map[string]string{
		"dataset": c.Dataset, "corpus": corpusPath(c.Corpus), "errata": c.Errata, "ids": strings.TrimPrefix(c.IDs, "@"),
		"exclude-ids": c.ExcludeIDs, "judge-prompts": c.JudgePrompts, "prices": c.Prices,
		"cache-dir": c.CacheDir, "report": c.Report, "history": c.History,
	}))
	if err != nil {
		return nil, err
	}
	c.keepFloor(options, &c.KeptFlags)
	for name, value := range map[string]string{"model": c.Model, "judge": c.Judge} {
		if value != "" {
			options[name] = value
		}
	}
	c.keepCap(options, c.Given("max-cost-usd"))
	return options, nil
}

// ledgerOptions returns a resolver for the flags of the replay that has the ledger, or that is on
// the queue.
func (c *replayCmd) ledgerOptions(ctx context.Context, p *process) (kong.Resolver, error) {
	s, err := c.store(ctx, p, nil)
	if err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	kept, last, _, err := s.Find(ctx, c.Resume)
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	options := map[string]any{}
	if err := json.Unmarshal(kept, &options); err != nil {
		return nil, fmt.Errorf("%s: options of the replay: %w", c.Resume, err)
	}
	if err := c.sameArms(kept); err != nil {
		return nil, err
	}
	inheritCap(options, last, p.env)
	return project.Reopened("replay", options), nil
}

// sameArms returns an error if the command line names other arms than the options of the replay
// that is resumed. Their results would not be found.
func (c *replayCmd) sameArms(kept json.RawMessage) error {
	var of struct {
		Target, SDK, Baseline []string
		WithoutMemory         []string `json:"without-memory"`
	}
	if err := json.Unmarshal(kept, &of); err != nil {
		return fmt.Errorf("%s: arms of the replay: %w", c.Resume, err)
	}
	of.Target = append(of.Target, of.SDK...) // as an older version wrote it
	of.WithoutMemory = append(of.WithoutMemory, of.Baseline...)
	if (c.Target == nil || slices.Equal(c.Target, of.Target)) && (c.Baseline == nil || slices.Equal(c.Baseline, of.WithoutMemory)) {
		return nil
	}
	return fmt.Errorf("%s is a replay of %s; leave out --target and --without-memory, or start a new replay",
		c.Resume, strings.Join(slices.Concat(of.Target, of.WithoutMemory), ", "))
}

// end keeps the data for continuing a replay that has not finished, and prints the command.
func (c *replayCmd) end(t *terminal.Terminal, running *replay.Session, stopped error) (next string, err error) {
	resumable, err := running.End()
	if !resumable || errors.As(stopped, new(*replay.DifferentError)) { // it would be rejected again
		return "", err
	}
	judge := "judge"
	if c.external != nil {
		judge = "scorer"
	}
	how, more := continuing(stopped, judge)
	if errors.Is(stopped, harness.ErrDaemonDied) && !storageFailed(stopped) && more == "" {
		how = "once the daemon is in order, continue with"
	}
	args := []string{"replay", "--resume", running.ID()}
	if c.Queue != "" && c.Output != "" {
		args = append(args, "--output", c.Output)
	}
	next = c.onQueue(args...) + more
	t.Field("resume", "nothing is lost; %s: %s", how, next)
	return next, err
}

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
) (*replay.Session, error) {
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
		t.Field("queue", "run %s  workers on any machine, with the same queue: %s", id, c.onQueue("serve", "worker"))
	}
}
