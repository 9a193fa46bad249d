package main

import (
	"fmt"
	"maps"

	"evalctl/harness/judging"
	"evalctl/harness/plan"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// moneyFlags has the flags about money that replay and judge check share.
type moneyFlags struct {
	MaxCostUSD string   `name:"max-cost-usd" default:"20" placeholder:"USD" help:"Maximum cost of all models together, or off (${default})." group:"scoring"`
	Price      []string `placeholder:"MODEL=IN/OUT" sep:"none" help:"Price of a model in dollars per million tokens. May be repeated." group:"advanced"`
	Prices     string   `placeholder:"FILE" help:"File of prices, instead of those in this program." group:"advanced"`

	unusableFlag

	limit  *llm.USD // nil for none
	prices llm.Prices
	// pricesDate is the day of the prices, but for those of --price.
	pricesDate string
}

// unusableFlag ends the spending on a judge that gives no verdicts.
type unusableFlag struct {
	MaxUnusable int `name:"max-unusable" default:"20" placeholder:"N" help:"Stop when N answers in a row get no usable verdict of the judge. 0: no limit (${default})." group:"advanced"`
}

func (f *unusableFlag) validateUnusable() error {
	if f.MaxUnusable < 0 {
		return fmt.Errorf("--max-unusable %d: must not be negative; 0 means no limit", f.MaxUnusable)
	}
	return nil
}

// validateMoney parses the flags. A price of --price replaces that of the file, which replaces that
// of the program.
func (m *moneyFlags) validateMoney() error {
	if err := m.validateUnusable(); err != nil {
		return err
	}
	m.prices, m.pricesDate = llm.DefaultPrices(), llm.PricesDate
	if m.Prices != "" {
		file, err := llm.ReadPrices(m.Prices)
		if err != nil {
			return fmt.Errorf("--prices: %w", err)
		}
		maps.Copy(m.prices, file.Prices)
		m.pricesDate = file.Date
	}
	if err := addPrices(m.prices, m.Price); err != nil {
		return err
	}
	var err error
	if m.limit, err = llm.ParseCap(m.MaxCostUSD); err != nil {
		return fmt.Errorf("--max-cost-usd: %w", err)
	}
	return nil
}

// addPrices adds the values of --price to a table.
func addPrices(prices llm.Prices, values []string) error {
	for _, v := range values {
		model, price, err := llm.ParsePrice(v)
		if err != nil {
			return fmt.Errorf("--price: %w", err)
		}
		prices[model] = price
	}
	return nil
}

// judgeFlags select the judge of a run and limit its cost. run and rescore have them.
type judgeFlags struct {
	LLMProvider string   `name:"llm-provider" hidden:"" env:"SVC_LLM_PROVIDER" placeholder:"NAME" help:"${about_llm_provider}"`
	Model       string   `aliases:"llm-model" empty:"" env:"SVC_LLM_MODEL" placeholder:"[PROVIDER/]MODEL" help:"${about_model}" group:"scoring"`
	Judge       string   `aliases:"judge-model" empty:"" env:"SVC_EVAL_JUDGE_MODEL" placeholder:"[PROVIDER/]MODEL" help:"${about_judge}" group:"scoring"`
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
	err := judging.AbsoluteFiles(c.JudgePanel)
	if err != nil {
		return err
	}
	if c.panel, err = judging.Recipes(c.JudgePanel); err != nil {
		return fmt.Errorf("--judge-panel: %w", err)
	}
	c.prices = llm.DefaultPrices()
	if err := addPrices(c.prices, c.Price); err != nil {
		return err
	}
	if c.MaxCostUSD == "" {
		return nil
	}
	if c.budget, err = llm.ParseCap(c.MaxCostUSD); err != nil {
		return fmt.Errorf("--max-cost-usd (%s): %w", budgetVariable, err)
	}
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
