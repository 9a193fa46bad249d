package main

import (
	"fmt"

	"evalctl/harness/judging"
	"evalctl/harness/plan"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// judgeFlags select the judge of a run and limit its cost. run and rescore have them.
type judgeFlags struct {
	LLMProvider string   `name:"llm-provider" hidden:"" env:"SVC_LLM_PROVIDER" placeholder:"NAME" help:"Provider of models without one: openai, ollama or fake."`
	Model       string   `aliases:"llm-model" env:"SVC_LLM_MODEL" placeholder:"[PROVIDER/]MODEL" help:"Model that answers, and judges unless --judge is given. The provider is openai, ollama or fake. Default: SVC_LLM_PROVIDER, else openai." group:"scoring"`
	Judge       string   `aliases:"judge-model" env:"SVC_EVAL_JUDGE_MODEL" placeholder:"[PROVIDER/]MODEL" help:"Model that judges." group:"scoring"`
	JudgePanel  []string `name:"judge-panel" sep:"," placeholder:"RECIPE,…" help:"Judge each answer by several recipes: strict, benchmark, generous, or files. The first is the headline." group:"advanced"`
	JudgeCache  string   `name:"judge-cache" placeholder:"DIR" help:"Keep the replies of judges in a folder, and use them again for the same requests." group:"advanced"`
	JudgeRPS    float64  `name:"judge-rps" default:"20" placeholder:"N" help:"Maximum number of judge requests per second. 0: no limit (${default})." group:"advanced"`
	MaxCostUSD  string   `name:"max-cost-usd" aliases:"budget-usd" env:"SVC_EVAL_BUDGET_USD" placeholder:"USD" help:"Maximum cost of the judge, or off. Default: off." group:"scoring"`
	Price       []string `placeholder:"MODEL=IN/OUT" sep:"none" help:"Price of a model in dollars per million tokens. May be repeated." group:"advanced"`
	unusableFlag

	panel  []judging.Recipe
	budget *llm.USD
	prices llm.Prices
}

// validateMoney checks the flags.
func (c *judgeFlags) validateMoney() error {
	if !(c.JudgeRPS >= 0) {
		return fmt.Errorf("--judge-rps %v: must not be negative; 0 means no limit", c.JudgeRPS)
	}
	if err := c.validateUnusable(); err != nil {
		return err
	}
	var err error
	if c.panel, err = judging.Recipes(c.JudgePanel); err != nil {
		return fmt.Errorf("--judge-panel: %w", err)
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

// validatePanel rejects a panel for a scorer by which no judge decides on answers.
func (c *judgeFlags) validatePanel(k scorer.Kind) error {
	if len(c.JudgePanel) > 0 && (k.Prompts == nil || k.Offline != nil) {
		return fmt.Errorf("--judge-panel needs --scorer judge: the %s scorer has no judge of whole answers", k.Name)
	}
	return nil
}

// models returns the models that the flags name.
func (c *judgeFlags) models() plan.Models {
	m := plan.Models{
		Provider: c.LLMProvider, Reader: c.Model, Judge: c.Judge, PerSecond: c.JudgeRPS, MaxUnusable: c.MaxUnusable,
		Prices: c.prices, Cap: c.budget, Panel: c.panel, CacheDir: c.JudgeCache,
	}
	for _, v := range c.Price {
		if named, _, err := llm.ParsePrice(v); err == nil {
			m.Priced = append(m.Priced, named)
		}
	}
	return m
}
