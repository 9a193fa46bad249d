package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/extern"
	"evalctl/harness/judging"
	"evalctl/harness/key"
	"evalctl/harness/plan"
	"evalctl/harness/project"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
	"evalctl/internal/postgres"
	"evalctl/replay"
	"evalctl/replay/actor"
	"evalctl/replay/ingest"
	"evalctl/replay/sample"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// replayCmd has the flags of evalctl replay.
type replayCmd struct {
	Dataset        string `placeholder:"FILE" help:"${about_dataset}" group:"questions"`
	Format         string `name:"input-format" aliases:"format" enum:"auto,jsonl,${benchmarks}" default:"auto" help:"${about_input_format}: ${enum}." group:"advanced"`
	Corpus         string `placeholder:"PATH" help:"${about_corpus}" group:"questions"`
	ExpectedSHA256 string `name:"expected-sha256" placeholder:"HEX" help:"SHA-256 that the benchmark file must have." group:"advanced"`
	OptionSeed     uint64 `name:"option-seed" placeholder:"N" help:"Seed of the order of options in multiple-choice questions. Default: 0." group:"advanced"`
	Errata         string `placeholder:"FILE" help:"${about_errata}" group:"advanced"`

	Target    []string `aliases:"sdk" sep:"none" placeholder:"TARGET" help:"${about_target}" group:"target"`
	Baseline  []string `name:"without-memory" aliases:"baseline" sep:"none" placeholder:"NAME" help:"Baseline without a memory: the reader gets nothing (no-memory), random sessions (random-session), all (full-context) or the gold ones (oracle). Repeatable." group:"target"`
	Context   int      `name:"context-tokens" placeholder:"N" help:"Most tokens of sessions that full-context gives to --model. Older sessions are left out. Default: 128000." group:"advanced"`
	Endpoint  string   `placeholder:"URL" help:"${about_endpoint}" group:"target"`
	Token     string   `env:"SVC_TOKEN" placeholder:"TOKEN" help:"${about_token}" group:"advanced"`
	DaemonCmd string   `name:"daemon-cmd" placeholder:"CMD" help:"${about_daemon_cmd}" group:"target"`
	Port      int      `default:"0" placeholder:"N" help:"${about_port}" group:"advanced"`
	Dialect   string   `enum:"auto,snake,camel" default:"auto" help:"Spelling of request keys: ${enum}." group:"advanced"`

	IngestMode string `name:"ingest-mode" enum:"bulk,replay,none" default:"bulk" help:"How brains are filled: with a document a session (bulk), with the messages of sessions (replay), or not at all (none) (${default})." group:"advanced"`
	Shared     bool   `name:"shared-brain" help:"Put all haystacks into one brain." group:"advanced"`

	Limit         int    `name:"sample-size" aliases:"limit" default:"0" placeholder:"N" help:"${about_sample_size}" group:"questions"`
	Seed          uint64 `default:"42" placeholder:"N" help:"${about_seed} (${default})." group:"advanced"`
	MinPerStratum int    `name:"min-per-stratum" default:"0" placeholder:"N" help:"${about_min_per_stratum} (${default})." group:"advanced"`
	IDs           string `name:"ids" aliases:"sample-ids" placeholder:"@FILE" help:"${about_ids}" group:"questions"`
	ExcludeIDs    string `name:"exclude-ids" placeholder:"FILE" help:"Leave out the questions with these ids, one on a line." group:"advanced"`

	ActorStyle   string `name:"actor-style" enum:"retrieve-only,full" default:"retrieve-only" help:"Who answers: --model from the daemon's passages (retrieve-only), or the daemon (full) (${default})." group:"scoring"`
	Model        string `aliases:"actor" env:"SVC_LLM_MODEL" placeholder:"[PROVIDER/]MODEL" help:"${about_model}" group:"scoring"`
	TopK         int    `name:"top-k" default:"10" placeholder:"N" help:"${about_top_k} (${default})." group:"scoring"`
	Mode         string `enum:"${modes}" default:"auto" placeholder:"MODE" help:"${about_mode} (${default})." group:"scoring"`
	QuestionDate string `name:"question-date" enum:"on,off" default:"on" help:"Whether daemon and reader receive the date of a question (${default})." group:"advanced"`

	Scorer scorerText `default:"judge" placeholder:"SCORER" help:"${about_scorer} (${default})." group:"scoring"`
	Judge  string     `env:"SVC_EVAL_JUDGE_MODEL" placeholder:"[PROVIDER/]MODEL" help:"${about_judge}" group:"scoring"`
	exactFlag
	externFlags
	JudgePanel   []string `name:"judge-panel" sep:"," placeholder:"RECIPE" help:"Judge each answer by several recipes: strict, benchmark, generous, or files. The first is the headline." group:"scoring"`
	JudgePrompts string   `name:"judge-prompts" placeholder:"DIR" help:"${about_judge_prompts}" group:"advanced"`

	daemonMoneyFlags `set:"default_cap=20"`
	judgingFlags
	daemonEnvFlag
	Estimate bool   `help:"Print the likely cost and time of the replay, and exit." group:"output"`
	Cache    string `enum:"off,read,write,only" default:"write" help:"Use of cached replies of models: off, read, write (read and store), or only (a missing one is an error) (${default})." group:"advanced"`
	CacheDir string `name:"cache-dir" env:"SVC_CACHE_DIR" placeholder:"DIR" help:"Folder for cached replies and filled brains. Default: evalctl in the user's cache folder." group:"advanced"`

	Concurrency int           `default:"16" placeholder:"N" help:"${about_concurrency} (${default})." group:"advanced"`
	Timeout     time.Duration `default:"120s" placeholder:"DURATION" help:"${about_timeout} (${default})." group:"advanced"`
	Alone       *int          `name:"latency-alone" placeholder:"N" help:"Afterwards ask each daemon N questions again while the others are idle, and report these latencies too. Only the search, unless the daemon answers." group:"advanced"`
	gateFlags   `set:"default_floor=none"`
	Accept      []string `placeholder:"KEY" help:"${about_accept}" group:"advanced"`
	Primary     []string `placeholder:"MEASURE" help:"${about_primary}" group:"advanced"`
	Cluster     string   `placeholder:"TAG" help:"${about_cluster}" group:"advanced"`
	Output      string   `placeholder:"PATH" help:"${about_output}." group:"output"`
	Report      string   `placeholder:"FILE" help:"Also write a Markdown report of quality and cost, with the trend of the last 14 nights." group:"output"`
	History     string   `placeholder:"DIR" help:"Folder with the results of earlier nights, for --report. Default: results." group:"advanced"`
	resultFlags
	Queue       string        `env:"SVC_QUEUE" placeholder:"URL" help:"${about_queue}" group:"advanced"`
	QueueWait   time.Duration `name:"queue-wait" default:"10m" placeholder:"DURATION" help:"How long a replay with --queue waits for a worker before it ends (${default})." group:"advanced"`
	Resume      string        `placeholder:"JOURNAL|LEDGER" help:"${about_resume}" group:"output"`
	RetryErrors bool          `name:"retry-errors" help:"With --resume: also retry questions that failed because the daemon or judge did not answer." group:"advanced"`
	Quiet       bool          `help:"${about_quiet}" group:"output"`
	JSON        bool          `name:"json" help:"${about_json}" group:"output"`

	project.KeptFlags
	scorer scorer.Kind
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *replayCmd) Validate() error {
	if c.Queue != "" && !postgres.IsURL(c.Queue) {
		return errQueueURL
	}
	if c.Resume != "" && c.Output != "" && c.Queue == "" {
		return errors.New("--output and --resume exclude each other: a replay is continued where its ledger is")
	}
	if c.RetryErrors && c.Resume == "" {
		return errors.New("--retry-errors needs the ledger of an earlier replay: add --resume LEDGER")
	}
	if c.Context < 0 {
		return fmt.Errorf("--context-tokens %d: must be at least 1", c.Context)
	}
	if c.QueueWait <= 0 {
		return fmt.Errorf("--queue-wait %v: must be above 0", c.QueueWait)
	}
	if err := c.keepInputs("output", c.Output); err != nil {
		return err
	}
	if c.Resume != "" && (c.Dataset == "" || len(c.Target)+len(c.Baseline) == 0) {
		return nil // the ledger, which has the other flags, is not read yet
	}
	for _, check := range []func() error{c.validateArms, c.validateSample, c.validateLimits, c.validateJudging, c.validateCap, c.validateReport, c.validateResult} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *replayCmd) validateCap() error { return c.validateMoney(replayCap) }

// validateArms checks the targets and baselines.
func (c *replayCmd) validateArms() error {
	if c.Dataset == "" {
		return errors.New("--dataset is missing; evalctl dataset fetch downloads a benchmark")
	}
	if len(c.Target)+len(c.Baseline) == 0 {
		return fmt.Errorf("nothing to measure: give --target (%s, NAME=URL or NAME='COMMAND') or --without-memory (%s)",
			strings.Join(target.SDKs, ", "), baselineNames())
	}
	for _, b := range c.Baseline {
		if !actor.Style(b).Baseline() {
			return fmt.Errorf("--without-memory %s: must be one of %s", b, baselineNames())
		}
	}
	if err := distinct("--target and --without-memory", slices.Concat(targetNames(c.Target), c.Baseline)); err != nil {
		return err
	}
	if err := key.CheckNames(key.Arms, c.Accept); err != nil {
		return fmt.Errorf("--accept: %w", err)
	}
	switch {
	case c.Endpoint != "" && c.DaemonCmd != "":
		return errors.New("--endpoint and --daemon-cmd exclude each other: " +
			"the daemon is either running already or started")
	case c.Endpoint != "" && c.Port != 0:
		return plan.ErrPort
	case c.Endpoint != "" && len(c.Target) != 1, c.DaemonCmd != "" && len(c.Target) != 1:
		return errors.New("--endpoint and --daemon-cmd are for one daemon: give one --target, " +
			"or --target NAME=URL and NAME='COMMAND' for each")
	case c.Port < 0 || c.Port+max(0, len(c.Target)-1) > 65535:
		return fmt.Errorf("--port %d: must be from 0 to 65535, also for the last daemon", c.Port)
	case c.Corpus != "" && c.Format != "auto" && c.Format != string(dataset.JSONL):
		return fmt.Errorf("--corpus is for questions in JSONL; a file of %s has its documents", c.Format)
	}
	return c.validateDaemonEnv(c.Endpoint)
}

// targetNames returns the names of the values of --target.
func targetNames(given []string) (names []string) {
	for _, t := range given {
		name, _, _ := strings.Cut(t, "=")
		names = append(names, name)
	}
	return names
}

func baselineNames() string {
	var names []string
	for _, b := range actor.Baselines {
		names = append(names, string(b))
	}
	return strings.Join(names, ", ")
}

func (c *replayCmd) validateSample() error {
	switch {
	case c.Limit < 0:
		return fmt.Errorf("--sample-size %d: must be at least 1, or 0 for all questions", c.Limit)
	case c.MinPerStratum < 0:
		return fmt.Errorf("--min-per-stratum %d: must not be negative", c.MinPerStratum)
	case c.IDs != "" && (c.Limit != 0 || c.MinPerStratum != 0):
		return errors.New("--ids names the questions; leave out --sample-size and --min-per-stratum")
	case c.IDs != "" && !strings.HasPrefix(c.IDs, "@"):
		if _, err := os.Stat(c.IDs); err != nil {
			return fmt.Errorf("--ids %s: a replay reads the ids from a file: write them into one, each on a line, "+
				"and give --ids @FILE", c.IDs)
		}
	}
	return nil
}

func (c *replayCmd) validateLimits() (err error) {
	switch {
	case c.Concurrency < 1 || c.Concurrency > maxConcurrency:
		return fmt.Errorf("--concurrency %d: must be from 1 to %d", c.Concurrency, maxConcurrency)
	case c.Timeout <= 0:
		return fmt.Errorf("--timeout %v: must be above 0", c.Timeout)
	case c.Alone != nil && *c.Alone < 1:
		return fmt.Errorf("--latency-alone %d: must be at least 1", *c.Alone)
	case c.Alone != nil && c.Queue != "":
		return errors.New("--latency-alone and --queue exclude each other: on a queue, workers on any machine ask, " +
			"and this process does not know when they are idle")
	}
	if err := c.validateGate(); err != nil {
		return err
	}
	if c.scorer, err = extern.Find(string(c.Scorer)); err != nil {
		return err
	}
	if (c.scorer.Prompts == nil || c.scorer.Offline != nil) && c.JudgePrompts != "" {
		return fmt.Errorf("--judge-prompts is for --scorer judge, and --scorer %s asks no model so", c.Scorer)
	}
	return errors.Join(c.validatePanel(), c.validateExtern(c.Scorer), c.validateExact(c.scorer))
}

// validatePanel checks the flags of a panel.
func (c *replayCmd) validatePanel() error {
	switch {
	case len(c.JudgePanel) > 0 && (c.scorer.Prompts == nil || c.scorer.Offline != nil):
		return fmt.Errorf("--judge-panel needs --scorer judge: the %s scorer has no judge of whole answers", c.Scorer)
	case len(c.JudgePanel) > 0 && c.JudgePrompts != "":
		return errors.New("--judge-panel and --judge-prompts exclude each other: a recipe file has prompts of your own")
	}
	return judging.AbsoluteFiles(c.JudgePanel)
}

// plan checks everything that needs neither a daemon nor money. The caller closes the plan.
func (c *replayCmd) plan(ctx context.Context, p *process) (*replay.Plan, error) {
	if (c.Typed("accept") || c.Typed("primary")) && len(c.Target)+len(c.Baseline) < 2 {
		return nil, errors.New("--accept and --primary need a comparison: give a second --target or --without-memory")
	}
	targets, err := c.targets(p)
	if err != nil {
		return nil, err
	}
	settings, err := c.settings(result.Settings{}, &c.KeptFlags)
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
			TopK: c.TopK, Mode: c.Mode, Dialect: result.Dialect(c.Dialect), QuestionDate: c.QuestionDate == "on", ContextTokens: c.Context,
			Scorer: c.scorer, External: c.external, ExactCase: c.exactCase(c.scorer), Cap: c.money.Cap, CapOptions: c.capOptions(c.Typed("max-cost-usd")), Prices: c.money.Prices, PricesDate: c.money.PricesDate,
			Unmetered: c.Unmetered, MaxUnusable: c.MaxUnusable, Options: c.asking, Patience: c.JudgePatience,
			Cache:       replay.Cache{Mode: llm.CacheMode(c.Cache), Dir: c.CacheDir, MaxBytes: llm.DefaultCacheBytes},
			Concurrency: c.Concurrency, Timeout: c.Timeout, Alone: alone, RetryErrors: c.RetryErrors,
			Gate: settings, Cluster: c.Cluster, Tool: toolID(),
			Secrets: targets.Secrets,
		},
		Dataset: c.Dataset, IDs: strings.TrimPrefix(c.IDs, "@"), Excluded: c.ExcludeIDs,
		Source: source.Options{
			Format: dataset.Format(strings.TrimPrefix(c.Format, "auto")), Corpus: c.Corpus, ExpectedSHA256: c.ExpectedSHA256, Errata: c.Errata,
			OptionSeed: c.OptionSeed,
		},
		Targets: targets, Target: c.Target, Command: c.DaemonCmd, Endpoint: c.Endpoint, Token: c.Token, Port: c.Port,
		Baselines: c.Baseline, Answers: c.Model, Judges: c.Judge, Instructions: c.JudgePrompts, Recipes: c.JudgePanel,
	})
	if err != nil {
		return nil, errors.Join(err, end())
	}
	if c.Queue != "" {
		err = plan.CheckQueue()
	}
	if err != nil {
		return nil, errors.Join(err, plan.Close())
	}
	return plan, nil
}
