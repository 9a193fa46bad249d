package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"evalctl/harness"
	"evalctl/harness/project"
	"evalctl/internal/terminal"
	"evalctl/replay"
)

// options returns the values of the flags, for ledgerOptions to read. The models are kept even if
// the environment gives them: a replay is resumed with the same ones.
func (c *replayCmd) options() (map[string]any, error) {
	options, err := c.Keep(c.addPaths(map[string]string{
		"dataset": c.Dataset, "corpus": c.Corpus, "errata": c.Errata, "ids": strings.TrimPrefix(c.IDs, "@"),
		"exclude-ids": c.ExcludeIDs, "judge-prompts": c.JudgePrompts, "prices": c.Prices,
		"cache-dir": c.CacheDir, "report": c.Report, "history": c.history(),
	}))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"model": c.Model, "judge": c.Judge} {
		if value != "" {
			options[name] = value
		}
	}
	return options, nil
}

// ledgerOptions returns a resolver for the flags of the replay that has the ledger, or that is on
// the queue.
func (c *replayCmd) ledgerOptions(ctx context.Context, p *process) (kong.Resolver, error) {
	s, err := c.store(ctx, p, nil)
	if err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	kept, _, err := s.Find(ctx, c.Resume)
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
	return project.Reopened("replay", options), nil
}

// sameArms returns an error if the command line names other arms than the options of the replay
// that is resumed. Their results would not be found.
func (c *replayCmd) sameArms(kept json.RawMessage) error {
	var of struct{ Target, SDK, Baseline []string }
	if err := json.Unmarshal(kept, &of); err != nil {
		return fmt.Errorf("%s: arms of the replay: %w", c.Resume, err)
	}
	of.Target = append(of.Target, of.SDK...) // as an older version wrote it
	if (c.Target == nil || slices.Equal(c.Target, of.Target)) && (c.Baseline == nil || slices.Equal(c.Baseline, of.Baseline)) {
		return nil
	}
	return fmt.Errorf("%s is a replay of %s; leave out --target and --baseline, or start a new replay",
		c.Resume, strings.Join(slices.Concat(of.Target, of.Baseline), ", "))
}

// end keeps what is needed to continue the replay, and prints how, unless it has finished.
func (c *replayCmd) end(t *terminal.Terminal, running *replay.Running, stopped error) error {
	resumable, err := running.End()
	if !resumable || errors.As(stopped, new(*replay.DifferentError)) { // it would be rejected again
		return err
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
	t.Field("resume", "nothing is lost; %s: %s%s", how, c.onQueue(args...), more)
	return err
}
