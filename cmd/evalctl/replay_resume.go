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
	"evalctl/internal/terminal"
	"evalctl/replay"
	"evalctl/replay/ledger"
	"evalctl/replay/queue"
)

// options returns the values of the flags, for ledgerOptions to read. The models are kept even if
// the environment gives them: a replay is resumed with the same ones.
func (c *replayCmd) options() (map[string]any, error) {
	options, err := c.kept(c.addPaths(map[string]string{
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
	kept, err := c.resumed(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	options := map[string]any{}
	if err := json.Unmarshal(kept, &options); err != nil {
		return nil, fmt.Errorf("%s: options of the replay: %w", c.Resume, err)
	}
	if err := c.sameArms(kept); err != nil {
		return nil, err
	}
	return resolverOf("replay", options), nil
}

// resumed returns the options of the replay that is resumed.
func (c *replayCmd) resumed(ctx context.Context, p *process) (json.RawMessage, error) {
	_, missing := os.Stat(c.Resume)
	if c.Queue != "" {
		if missing == nil {
			return nil, fmt.Errorf("%s is a file, and with a queue --resume names a run on it: "+
				"leave out --queue and unset SVC_QUEUE to resume from a ledger", c.Resume)
		}
		q, err := openQueue(ctx, p, c.Queue, queue.Options{})
		if err != nil {
			return nil, err
		}
		kept, _, err := q.Find(ctx, c.Resume)
		return kept, errors.Join(err, q.Close())
	}
	l, err := ledger.Open(c.Resume)
	if missing != nil && !strings.HasSuffix(c.Resume, ".ledger") {
		return nil, fmt.Errorf("%w; a run on a queue is resumed with --queue or SVC_QUEUE", err)
	}
	if err != nil {
		return nil, err
	}
	return l.Options(), l.Close()
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

// printResumeReplay prints how to continue a replay that did not finish.
func printResumeReplay(t *terminal.Terminal, b *begunReplay, stopped error) {
	if errors.As(stopped, new(*replay.DifferentError)) {
		return // it would be rejected again
	}
	how, more := continuing(stopped, "judge")
	if errors.Is(stopped, harness.ErrDaemonDied) && !storageFailed(stopped) && more == "" {
		how = "once the daemon is in order, continue with"
	}
	t.Field("resume", "nothing is lost; %s: %s%s", how, terminal.CommandLine(append([]string{"evalctl"}, b.resume...)...), more)
}
