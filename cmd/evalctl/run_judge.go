package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/judging"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// judgeFlags select the judge of a run and limit its cost. run and rescore have them.
type judgeFlags struct {
	LLMProvider string   `name:"llm-provider" hidden:"" env:"SVC_LLM_PROVIDER" placeholder:"NAME" help:"Provider of models without one: openai, ollama or fake."`
	Model       string   `aliases:"llm-model" env:"SVC_LLM_MODEL" placeholder:"[PROVIDER/]MODEL" help:"Model that answers, and judges unless --judge is given. The provider is openai, ollama or fake. Default: SVC_LLM_PROVIDER, else openai." group:"scoring"`
	Judge       string   `aliases:"judge-model" env:"SVC_EVAL_JUDGE_MODEL" placeholder:"[PROVIDER/]MODEL" help:"Model that judges." group:"scoring"`
	JudgeRPS    float64  `name:"judge-rps" default:"20" placeholder:"N" help:"Maximum number of judge requests per second. 0: no limit (${default})." group:"advanced"`
	MaxCostUSD  string   `name:"max-cost-usd" aliases:"budget-usd" env:"SVC_EVAL_BUDGET_USD" placeholder:"USD" help:"Maximum cost of the judge, or off. Default: off." group:"scoring"`
	Price       []string `placeholder:"MODEL=IN/OUT" sep:"none" help:"Price of a model in dollars per million tokens. May be repeated." group:"advanced"`
	unusableFlag

	budget *llm.USD
	prices llm.Prices
	reader llm.Ref // without a name if the daemon chooses the model
	judge  llm.Ref
}

// validateMoney checks the flags.
func (c *judgeFlags) validateMoney() error {
	if !(c.JudgeRPS >= 0) {
		return fmt.Errorf("--judge-rps %v: must not be negative; 0 means no limit", c.JudgeRPS)
	}
	if err := c.validateUnusable(); err != nil {
		return err
	}
	c.prices = llm.DefaultPrices()
	if err := addPrices(c.prices, c.Price); err != nil {
		return err
	}
	if c.MaxCostUSD == "" || c.MaxCostUSD == noCap {
		return nil
	}
	limit, err := llm.ParseUSD(c.MaxCostUSD)
	if err != nil {
		return fmt.Errorf("--max-cost-usd (%s): %w, or off for no cap", budgetVariable, err)
	}
	c.budget = &limit
	return nil
}

// findModels sets the reader and the judge to the models that the flags name.
func (c *judgeFlags) findModels(p *process) error {
	if c.LLMProvider != "" && !slices.Contains(llm.Providers, c.LLMProvider) {
		return fmt.Errorf("SVC_LLM_PROVIDER %q: must be openai, ollama or fake", c.LLMProvider)
	}
	c.reader = llm.RefOf(p.env, c.LLMProvider, c.Model)
	if c.judge = c.reader; c.Judge != "" {
		c.judge = llm.RefOf(p.env, c.LLMProvider, c.Judge)
	}
	if c.judge.Provider == llm.ProviderFake {
		c.judge.Name = llm.FakeModel
	}
	return nil
}

// planJudging opens the judge's model for a scorer of this kind. It makes no request.
func (c *judgeFlags) planJudging(p *process, kind scorer.Kind) (*judging.Plan, error) {
	switch {
	case c.judge.Provider == "":
		return nil, fmt.Errorf("the judge needs a model: give --model or --judge, set SVC_LLM_PROVIDER to openai, ollama or fake, "+
			"or use --scorer %s", strings.Join(offlineScorers(), " or "))
	case c.judge.Name == "":
		return nil, errors.New("the judge needs a model: give --model or --judge, or set SVC_EVAL_JUDGE_MODEL or SVC_LLM_MODEL")
	}
	model, config := c.judge.Name, c.judge.Config(p.env)
	config.PerSecond = c.JudgeRPS
	provider, err := llm.Open(config)
	if err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	return judging.New(judging.Config{
		Provider: provider, Model: model, BaseURL: llm.RecordedURL(config),
		Prompts: kind.Prompts(), Judged: kind.Judged, Prices: c.prices, Cap: c.budget, MaxUnusable: c.MaxUnusable,
		PricesDate: c.pricesDate(model),
	})
}

// pricesDate returns the day of a model's price, "" if --price gives it.
func (c *judgeFlags) pricesDate(model string) string {
	for _, v := range c.Price {
		if named, _, err := llm.ParsePrice(v); err == nil && strings.HasPrefix(model, named) {
			return ""
		}
	}
	return llm.PricesDate
}

// readerPrices are those of the models that the daemon reports. A daemon that is running already
// does not say who provides them. The offline reader of the reference daemon costs nothing.
func (c *runCmd) readerPrices() *result.ReaderPrices {
	provider := llm.ProviderOpenAI
	if c.Endpoint == "" {
		provider = cmp.Or(c.reader.Provider, provider)
	}
	date := llm.PricesDate
	if len(c.Price) > 0 || provider != llm.ProviderOpenAI {
		date = "" // some may be given
	}
	return &result.ReaderPrices{Date: date, Of: func(model string) (llm.Price, bool) {
		if model == llm.ProviderFake {
			return llm.Price{}, true
		}
		return c.prices.Of(provider, model)
	}}
}

// newScorer returns the scorer of a run that has spent money already.
func (c *runCmd) newScorer(pl *runPlan, spent llm.USD) (scorer.Scorer, error) {
	return judging.OpenScorer(c.scorer, scorer.Options{TopK: c.TopK, ExactCase: c.ExactCase}, pl.judging, spent)
}
