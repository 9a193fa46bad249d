package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"evalctl/daemon/protocol"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// runCmd holds the flags of evalctl run (spec 4.4 and our own).
type runCmd struct {
	targetFlags
	Scenario string `enum:"${scenarios}" default:"${default_scenario}" help:"Shared scenario: ${enum}."`
	Mode     string `enum:"${modes}" default:"auto" help:"Retrieval mode, forwarded unchanged: ${enum}."`
	Scorer   string `enum:"${scorers}" default:"judge" help:"Scorer: ${scorer_help}."`
	Floor    string `default:"0.90" placeholder:"RATE" help:"Minimum pass rate; below it the exit code is 1 (${default})."`
	TopK     int    `name:"top-k" default:"5" help:"top-k passed to /ask or /search (${default})."`

	CandidateK  int    `name:"candidate-k" default:"0" help:"Retrieve-only; 0 defers to the daemon."`
	RerankTopN  int    `name:"rerank-top-n" default:"0" help:"Retrieve-only; 0 defers to the daemon."`
	RequireMode string `name:"require-mode" placeholder:"MODE" help:"Stop with exit code 4 at the first answer that was not retrieved in this mode; same is that of --mode."`

	LLMProvider string   `name:"llm-provider" env:"SVC_LLM_PROVIDER" placeholder:"NAME" help:"Model provider of judge and reader: openai, ollama or fake."`
	LLMModel    string   `name:"llm-model" env:"SVC_LLM_MODEL" placeholder:"MODEL" help:"Reader model, and judge model unless that is given."`
	JudgeModel  string   `name:"judge-model" env:"SVC_EVAL_JUDGE_MODEL" placeholder:"MODEL" help:"Judge model."`
	JudgeRPS    float64  `name:"judge-rps" default:"20" placeholder:"N" help:"Judge requests a second at most; 0 for no limit (${default})."`
	BudgetUSD   string   `name:"budget-usd" env:"SVC_EVAL_BUDGET_USD" placeholder:"USD" help:"What the judge may cost at most."`
	Price       []string `placeholder:"MODEL=IN/OUT" sep:"none" help:"Price of a model in dollars per million tokens; may be repeated."`

	Resume string `placeholder:"JOURNAL" help:"Go on with a run that stopped; other flags are taken from it."`

	given    map[string]bool // flags whose value came from the command line or the journal
	floor    float64
	budget   *llm.USD
	prices   llm.Prices
	scenario target.Scenario
	scorer   scorer.Kind
}

func (runCmd) Help() string {
	return `Examples:

  evalctl run --sdk go --dataset datasets/smoke.jsonl --scorer exact
  evalctl run --sdk go --dataset datasets/core.jsonl --llm-provider openai --llm-model gpt-4o-mini --budget-usd 2
  evalctl run --sdk ts --dataset datasets/core.jsonl --scorer exact --daemon-cmd 'npx tsx daemon.ts serve --addr {addr}'
  evalctl run --sdk py --dataset q.jsonl --endpoint http://127.0.0.1:8080 --brain notes --scorer exact
  evalctl run --sdk go --dataset datasets/core.jsonl --scorer retrieval --scenario search-retrieve-only --top-k 10
  evalctl run --resume results/2026-01-31/go.journal

` + exitTable()
}

// budgetVariable is what --budget-usd is when it is not given.
const budgetVariable = "SVC_EVAL_BUDGET_USD"

// inheritedCap is where the journal keeps a cap that no flag gave. A resume takes
// it where neither a flag nor the variable says another: no cap is ever lost.
const inheritedCap = "inherited-budget-usd"

// AfterApply notes which flags were given. kong calls it.
func (c *runCmd) AfterApply(k *kong.Context) error {
	c.given = map[string]bool{}
	for _, step := range k.Path {
		if step.Flag != nil {
			c.given[step.Flag.Name] = true
		}
	}
	return nil
}

// journalOptions makes a resolver of the flags that the journal's run was given.
func (c *runCmd) journalOptions(p *process) (kong.Resolver, error) {
	j, err := journal.Open(c.Resume)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	told := map[string]any{}
	if err := json.Unmarshal(j.Options(), &told); err != nil {
		return nil, fmt.Errorf("%s: options of the run: %w", c.Resume, err)
	}
	if told["budget-usd"] == nil && p.env(budgetVariable) == "" {
		told["budget-usd"] = told[inheritedCap]
	}
	return kong.ResolverFunc(func(_ *kong.Context, parent *kong.Path, f *kong.Flag) (any, error) {
		if parent.Command == nil || parent.Command.Name != "run" {
			return nil, nil
		}
		return told[f.Name], nil
	}), nil
}

// options is what journalOptions reads back. The token is a secret, where the
// run writes is known from the journal's place, and what the environment says
// is asked anew when the run goes on, but for its cap. Paths are absolute, so that
// it goes on from any folder.
func (c *runCmd) options() (map[string]any, error) {
	dataset, err := filepath.Abs(c.Dataset)
	if err != nil {
		return nil, fmt.Errorf("--dataset %s: %w", c.Dataset, err)
	}
	corpus := c.Corpus
	if corpus != "" && corpus != noCorpus {
		if corpus, err = filepath.Abs(corpus); err != nil {
			return nil, fmt.Errorf("--corpus %s: %w", c.Corpus, err)
		}
	}
	o := map[string]any{
		"sdk": c.SDK, "dataset": dataset, "scenario": c.Scenario, "mode": c.Mode, "scorer": c.Scorer,
		"floor": c.Floor, "brain": c.Brain, "dialect": c.Dialect, "max-unscored": c.MaxUnscored,
		"port": strconv.Itoa(c.Port), "top-k": strconv.Itoa(c.TopK), "candidate-k": strconv.Itoa(c.CandidateK),
		"rerank-top-n": strconv.Itoa(c.RerankTopN), "concurrency": strconv.Itoa(c.Concurrency), "judge-rps": strconv.FormatFloat(c.JudgeRPS, 'g', -1, 64), "timeout": c.Timeout.String(),
	}
	for k, v := range map[string]string{
		"endpoint": c.Endpoint, "daemon-cmd": c.DaemonCmd, "corpus": corpus, "brain-tag": c.BrainTag, "require-mode": c.RequireMode,
	} {
		if v != "" {
			o[k] = v
		}
	}
	for k, v := range map[string]string{"llm-provider": c.LLMProvider, "llm-model": c.LLMModel, "judge-model": c.JudgeModel} {
		if c.given[k] {
			o[k] = v
		}
	}
	switch {
	case c.given["budget-usd"]:
		o["budget-usd"] = c.BudgetUSD
	case c.BudgetUSD != "":
		o[inheritedCap] = c.BudgetUSD
	}
	if c.Limit != nil {
		o["limit"] = strconv.Itoa(*c.Limit)
	}
	if len(c.Price) > 0 {
		o["price"] = c.Price
	}
	return o, nil
}

// Validate checks what the grammar cannot say. kong calls it.
func (c *runCmd) Validate() error {
	if c.Resume != "" && c.Output != defaultOutput {
		return errors.New("--output and --resume exclude each other: a run goes on where its journal lies")
	}
	if c.Resume != "" && c.SDK == "" {
		return nil // the first look at the command line; the journal tells the rest
	}
	if err := c.validate(); err != nil {
		return err
	}
	var err error
	if c.scenario, err = target.ScenarioOf(result.Scenario(c.Scenario)); err != nil {
		return err
	}
	switch {
	case c.TopK < 1 || c.TopK > c.scenario.MaxTopK:
		return fmt.Errorf("--top-k %d: must be from 1 to %d, the protocol's limit for %s", c.TopK, c.scenario.MaxTopK, c.Scenario)
	case !slices.Contains(requirable, c.RequireMode):
		return fmt.Errorf("--require-mode %s: must be one of %s", c.RequireMode, strings.Join(requirable[1:], ", "))
	case c.RequireMode == sameMode && c.Mode == protocol.ModeAuto:
		return errors.New("--require-mode same needs a --mode: auto leaves the choice to the daemon")
	case c.CandidateK < 0 || c.RerankTopN < 0:
		return errors.New("--candidate-k and --rerank-top-n must not be negative")
	case !(c.JudgeRPS >= 0):
		return fmt.Errorf("--judge-rps %v: must not be negative; 0 is no limit", c.JudgeRPS)
	case (c.CandidateK > 0 || c.RerankTopN > 0) && c.scenario.Reads:
		return fmt.Errorf("--candidate-k and --rerank-top-n go with --scenario %s", result.SearchOnly)
	}
	if c.scorer, err = scorer.Find(c.Scorer); err != nil {
		return err
	}
	if c.floor, err = strconv.ParseFloat(c.Floor, 64); err != nil || !(c.floor >= 0 && c.floor <= 1) {
		return fmt.Errorf("--floor %s: must be a rate from 0 to 1, such as 0.90", c.Floor)
	}
	return c.validateMoney()
}

// sameMode is the value of --require-mode that stands for the one of --mode.
const sameMode = "same"

// requirable is what --require-mode may be, nothing first.
var requirable = slices.Concat([]string{""}, protocol.EffectiveModes, []string{sameMode})

func (c *runCmd) requiredMode() string {
	if c.RequireMode == sameMode {
		return c.Mode
	}
	return c.RequireMode
}

func (c *runCmd) validateMoney() error {
	c.prices = llm.DefaultPrices()
	for _, p := range c.Price {
		model, price, err := llm.ParsePrice(p)
		if err != nil {
			return fmt.Errorf("--price: %w", err)
		}
		c.prices[model] = price
	}
	if c.BudgetUSD == "" {
		return nil
	}
	limit, err := llm.ParseUSD(c.BudgetUSD)
	if err != nil {
		return fmt.Errorf("--budget-usd (%s): %w", budgetVariable, err)
	}
	c.budget = &limit
	return nil
}

var providers = []string{llm.ProviderOpenAI, llm.ProviderOllama, llm.ProviderFake}

// known tells whether a model provider's name is one that judge and reader take.
func known(provider string) bool {
	return slices.Contains(providers, provider)
}
