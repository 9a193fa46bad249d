package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/harness/plan"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay"
	"evalctl/replay/actor"
	"evalctl/replay/ingest"
	"evalctl/replay/sample"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// plan checks everything that needs neither a daemon nor money. The caller closes the plan's
// benchmark.
func (c *replayCmd) plan(ctx context.Context, p *process) (*replay.Plan, error) {
	config, err := c.config(p)
	if err != nil {
		return nil, err
	}
	drawn, err := dataset.ReadIDs(strings.TrimPrefix(c.IDs, "@"))
	if err != nil {
		return nil, fmt.Errorf("--ids: %w", err)
	}
	excluded, err := dataset.ReadIDs(c.ExcludeIDs)
	if err != nil {
		return nil, fmt.Errorf("--exclude-ids: %w", err)
	}
	config.Sample = sample.Config{
		Size: c.Limit, Seed: c.Seed, MinPerStratum: c.MinPerStratum, IDs: drawn.List, Exclude: excluded.List,
	}
	config.Benchmark, err = source.Open(ctx, c.Dataset, source.Options{
		Format: source.Format(c.Format), Corpus: c.Corpus, ExpectedSHA256: c.ExpectedSHA256, Errata: c.Errata,
	})
	if err != nil {
		return nil, err
	}
	plan, err := newPlan(config, drawn, excluded)
	if err == nil {
		err = c.checkTags(plan)
	}
	if err != nil {
		return nil, errors.Join(err, config.Benchmark.Close())
	}
	return plan, nil
}

// checkTags returns an error for a tag with a floor that no question of the sample has.
func (c *replayCmd) checkTags(r *replay.Plan) error {
	tags := map[string]int{}
	for _, q := range r.Questions {
		for _, tag := range q.Dataset().Tags {
			tags[tag]++
		}
	}
	if err := plan.CheckTagFloors(c.tagFloors, tags); err != nil {
		return fmt.Errorf("%s: %w", c.Dataset, err)
	}
	return nil
}

// config returns the configuration without the benchmark and the sample.
func (c *replayCmd) config(p *process) (replay.Config, error) {
	dir, err := c.cacheDir()
	if err != nil {
		return replay.Config{}, err
	}
	config := replay.Config{
		Ingest: ingest.Mode(c.IngestMode), Shared: c.Shared, Style: actor.Style(c.ActorStyle),
		TopK: c.TopK, Mode: c.Mode, Dialect: result.Dialect(c.Dialect), QuestionDate: c.QuestionDate == "on",
		Scorer: c.scorer, ExactCase: c.exactCase(c.scorer), Cap: c.limit, Prices: c.prices, PricesDate: c.pricesDate, Unmetered: c.Unmetered,
		MaxUnusable: c.MaxUnusable,
		Cache:       replay.Cache{Mode: llm.CacheMode(c.Cache), Dir: dir, MaxBytes: llm.DefaultCacheBytes},
		Concurrency: c.Concurrency, Timeout: c.Timeout, RetryErrors: c.RetryErrors, Gate: c.settings(result.Settings{}), Tool: toolID(),
	}
	if c.Alone != nil {
		config.Alone = *c.Alone
	}
	if err := c.addModels(p, &config); err != nil {
		return config, err
	}
	for i, given := range c.Target {
		arm, err := c.daemonArm(p, given, i)
		if err != nil {
			return config, err
		}
		config.Arms = append(config.Arms, arm)
	}
	for _, b := range c.Baseline {
		config.Arms = append(config.Arms, replay.Arm{Name: b, Baseline: actor.Style(b)})
	}
	return config, nil
}

// addModels adds the reader and the judge.
func (c *replayCmd) addModels(p *process, config *replay.Config) error {
	name := c.actorModel(p)
	if c.scorer.Needs == scorer.NeedGold {
		name = "" // nothing is answered
	}
	if name != "" {
		ref, err := llm.ParseRef(p.env, "model", name)
		if err != nil {
			return err
		}
		model := ref.Config(p.env)
		config.Reader = &replay.Model{Config: model, URL: llm.RecordedURL(model)}
	}
	if c.scorer.Prompts == nil {
		return nil
	}
	judge := cmp.Or(c.Judge, c.actorModel(p))
	if judge == "" {
		return errors.New("the judge needs a model: give --judge MODEL, or use --scorer exact or retrieval")
	}
	ref, err := llm.ParseRef(p.env, "judge", judge)
	if err != nil {
		return err
	}
	model := ref.JudgeConfig(p.env)
	config.Judge = &replay.Model{Config: model, URL: llm.RecordedURL(model)}
	if config.Prompts = scorer.ReplayPrompts(); c.JudgePrompts != "" {
		if config.Prompts, err = scorer.LoadPrompts(c.JudgePrompts); err != nil {
			return fmt.Errorf("--judge-prompts: %w", err)
		}
	}
	return nil
}

// actorModel returns the value of --model, or the offline model if the environment selects it.
func (c *replayCmd) actorModel(p *process) string {
	if c.Model == "" && p.env("SVC_LLM_PROVIDER") == llm.ProviderFake {
		return llm.ProviderFake
	}
	return c.Model
}

// daemonArm returns the arm of the i-th target, from 0.
func (c *replayCmd) daemonArm(p *process, given string, i int) (arm replay.Arm, err error) {
	port := c.Port
	if port != 0 {
		port += i
	}
	d, err := findTarget(p, given, c.DaemonCmd, c.Endpoint)
	if err != nil {
		return arm, err
	}
	arm = replay.Arm{Name: d.Name, Mode: d.Settings.Mode, Dialect: d.Settings.Dialect}
	if arm.Session, err = sessionOf(p, d, c.Token, port); err != nil {
		return arm, err
	}
	arm.Session.Concurrency = c.Concurrency
	switch {
	case d.Endpoint == "" && c.IngestMode == string(ingest.None):
		return arm, fmt.Errorf("--ingest-mode none is for a running daemon with filled brains: give --target %s=URL", d.Name)
	case d.Endpoint == "":
		return arm, c.daemonModels(p.environment(d), &arm)
	case len(c.DaemonEnv) > 0:
		return arm, fmt.Errorf("--daemon-env is for a daemon that is started; the one of %s has its own environment", d.Name)
	}
	return arm, nil
}

// daemonModels configures the models of a started daemon. It reads, extracts and reranks with the
// model of --model if it has to.
func (c *replayCmd) daemonModels(p *process, arm *replay.Arm) error {
	generates := c.ActorStyle == string(actor.Full) || c.IngestMode == string(ingest.Replay)
	reranks := p.env("SVC_RERANK_PROVIDER") == llm.RerankLLM
	ref := llm.Ref{Provider: llm.ProviderFake, Name: llm.FakeModel}
	if name := c.actorModel(p); (generates || reranks) && name != "" {
		var err error
		if ref, err = llm.ParseRef(p.env, "model", name); err != nil {
			return err
		}
	} else if generates {
		return errors.New("the daemon needs a model to extract and to answer: give --model MODEL")
	} else if reranks {
		return errors.New("SVC_RERANK_PROVIDER is llm, and the daemon has no model to rerank with: " +
			"give --model MODEL, or unset it")
	}
	model := ref.Config(p.env)
	arm.Session.Profile.Env = append([]string{"SVC_LLM_PROVIDER=" + ref.Provider, "SVC_LLM_MODEL=" + ref.Name},
		arm.Session.Profile.Env...)
	if generates {
		arm.Reader = &result.ModelID{Provider: ref.Provider, BaseURL: llm.RecordedURL(model), Model: ref.Name}
	}
	arm.Models = []string{
		ref.String(), llm.RecordedURL(model), p.env("SVC_EMBED_PROVIDER") + "/" + p.env("SVC_EMBED_MODEL"), p.env("SVC_EMBED_BASE_URL"),
	}
	return errors.Join(c.addUpstream(p, arm, ref), c.withholdInReplay(p, arm, ref.Provider))
}

// addUpstream has the calls of a daemon to OpenAI-compatible models counted, if it could make any:
// it is configured for them, or there is a key that it would find in its environment.
func (c *replayCmd) addUpstream(p *process, arm *replay.Arm, ref llm.Ref) error {
	embedding := llm.EmbedConfig{
		Provider: p.env("SVC_EMBED_PROVIDER"), Model: p.env("SVC_EMBED_MODEL"),
		BaseURL: p.env("SVC_EMBED_BASE_URL"), APIKey: p.env("SVC_EMBED_API_KEY"), LLM: ref.Config(p.env),
	}
	if embedding.Provider == llm.ProviderOpenAI {
		where, err := embedding.Upstream()
		if err != nil {
			return fmt.Errorf("models of the daemon: %w", err)
		}
		arm.Embedding = &where
	}
	switch p.env("SVC_RERANK_PROVIDER") {
	case llm.RerankHTTP:
		arm.Uncounted = true
	case llm.RerankLLM:
		if ref.Provider == llm.ProviderOpenAI {
			arm.Reranker = cmp.Or(p.env("SVC_RERANK_MODEL"), ref.Name)
		}
	}
	if ref.Provider != llm.ProviderOpenAI && p.env("OPENAI_API_KEY") == "" && p.env("OPENAI_BASE_URL") == "" {
		return nil
	}
	upstream := llm.Ref{Provider: llm.ProviderOpenAI, Name: ref.Name}.Config(p.env)
	arm.Upstream = &upstream
	if _, err := llm.Open(upstream); err != nil {
		return fmt.Errorf("models of the daemon: %w", err)
	}
	return nil
}

// cacheDir returns the folder for cached replies and filled brains.
func (c *replayCmd) cacheDir() (string, error) {
	if c.CacheDir != "" {
		return filepath.Abs(c.CacheDir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder: %w; give --cache-dir", err)
	}
	return filepath.Join(dir, "evalctl"), nil
}

// checkFolder creates the cache folder if it does not exist, and returns an error unless files can
// be created in it.
func checkFolder(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	var probe *os.File
	if err == nil {
		probe, err = os.CreateTemp(dir, ".probe-*")
	}
	if err != nil {
		return fmt.Errorf("cache folder: %w; give another one with --cache-dir", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// newPlan returns the plan, and checks the lists of ids first.
func newPlan(config replay.Config, drawn, excluded dataset.IDs) (*replay.Plan, error) {
	known := make(map[string]bool, len(config.Benchmark.Questions))
	for _, q := range config.Benchmark.Questions {
		known[q.ID] = true
	}
	if err := drawn.Check(known, config.Benchmark.Path); err != nil {
		return nil, fmt.Errorf("--ids: %w", err)
	}
	if err := excluded.Check(known, config.Benchmark.Path); err != nil {
		return nil, fmt.Errorf("--exclude-ids: %w", err)
	}
	return replay.New(config)
}
