package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay"
	"evalctl/replay/actor"
	"evalctl/replay/ingest"
	"evalctl/replay/sample"
	"evalctl/replay/source"
)

// plan checks everything that needs neither a daemon nor money. The caller closes the plan.
func (c *replayCmd) plan(ctx context.Context, p *process) (*replay.Plan, error) {
	targets, err := p.targets()
	if err != nil {
		return nil, err
	}
	alone := 0
	if c.Alone != nil {
		alone = *c.Alone
	}
	end, err := c.openExtern(ctx, p, c.Scorer, c.MaxUnusable, &c.scorer)
	if err != nil {
		return nil, err
	}
	plan, err := replay.Open(ctx, replay.Spec{
		Config: replay.Config{
			Sample: sample.Config{Size: c.Limit, Seed: c.Seed, MinPerStratum: c.MinPerStratum},
			Ingest: ingest.Mode(c.IngestMode), Shared: c.Shared, Style: actor.Style(c.ActorStyle),
			TopK: c.TopK, Mode: c.Mode, Dialect: result.Dialect(c.Dialect), QuestionDate: c.QuestionDate == "on",
			Scorer: c.scorer, External: c.external, ExactCase: c.exactCase(c.scorer), Cap: c.limit, Prices: c.prices, PricesDate: c.pricesDate,
			Unmetered: c.Unmetered, MaxUnusable: c.MaxUnusable,
			Cache:       replay.Cache{Mode: llm.CacheMode(c.Cache), Dir: c.CacheDir, MaxBytes: llm.DefaultCacheBytes},
			Concurrency: c.Concurrency, Timeout: c.Timeout, Alone: alone, RetryErrors: c.RetryErrors,
			Gate: c.settings(result.Settings{}), Tool: toolID(),
		},
		Dataset: c.Dataset, IDs: strings.TrimPrefix(c.IDs, "@"), Excluded: c.ExcludeIDs,
		Source: source.Options{
			Format: source.Format(c.Format), Corpus: c.Corpus, ExpectedSHA256: c.ExpectedSHA256, Errata: c.Errata,
		},
		Targets: targets, Target: c.Target, Command: c.DaemonCmd, Endpoint: c.Endpoint, Token: c.Token, Port: c.Port,
		Baselines: c.Baseline, Answers: c.Model, Judges: c.Judge, Instructions: c.JudgePrompts, Recipes: c.JudgePanel,
		Environ: os.Environ(), Passed: c.DaemonEnv,
	})
	if err != nil {
		return nil, errors.Join(err, end())
	}
	if err := c.checkCluster(plan); err != nil {
		return nil, errors.Join(err, plan.Close())
	}
	return plan, nil
}

// checkCluster returns an error if --cluster could show nothing.
func (c *replayCmd) checkCluster(plan *replay.Plan) error {
	clusters := map[string]bool{}
	for _, q := range plan.Questions {
		for _, tag := range q.Dataset().Tags {
			if strings.HasPrefix(tag, c.Cluster+":") {
				clusters[tag] = true
			}
		}
		if c.Cluster == compare.ByBrain {
			clusters[q.Brain] = true
		}
	}
	if n := len(clusters); c.Cluster != "" && n < compare.Testable {
		return fmt.Errorf("--cluster %s: the questions are in %s, and with fewer than %d no difference can be shown",
			c.Cluster, count(n, "cluster"), compare.Testable)
	}
	return nil
}
