package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"evalctl/harness/judging"
	"evalctl/harness/plan"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// moneyFlags say what all models together may cost. All commands that call models have them.
type moneyFlags struct {
	MaxCostUSD string   `name:"max-cost-usd" aliases:"budget-usd" env:"SVC_EVAL_BUDGET_USD" default:"${default_cap}" placeholder:"USD" help:"Maximum cost of all models together, or off (${default})." group:"gate"`
	Price      []string `placeholder:"MODEL=IN/OUT" sep:"none" help:"Price of a model in dollars per million tokens. Repeatable." group:"advanced"`
	Prices     string   `placeholder:"FILE" help:"File of prices, which are added to those in this program, or replace them." group:"advanced"`

	money     plan.Money
	byDefault string // the cap of the command, which a variable that is set and empty stands for
}

// daemonMoneyFlags are the flags of commands whose daemons may call models too.
type daemonMoneyFlags struct {
	moneyFlags
	Unmetered bool `name:"unmetered-daemon" help:"Accept that a daemon pays for models beyond the cap: with the gateway's key, named by --daemon-env, with a reranker over HTTP, or, in a replay, one that is running already." group:"advanced"`
}

// judgingFlags say how a judge is asked, and when to give up.
type judgingFlags struct {
	JudgeOption   []string      `name:"judge-option" sep:"," placeholder:"NAME=VALUE" help:"How the judge is asked, such as max_tokens=4000,temperature=none,response_format=none,system=none. The rest is found out from what the endpoint refuses." group:"advanced"`
	JudgePatience time.Duration `name:"judge-patience" default:"5m" placeholder:"DURATION" help:"How long a request to the judge is repeated while its endpoint is busy or down. 0: up to 4 requests (${default})." group:"advanced"`
	MaxUnusable   int           `name:"max-unusable" default:"20" placeholder:"N" help:"Stop when N answers in a row get no usable verdict of the judge. 0: no limit (${default})." group:"advanced"`

	asking llm.Options
}

func (f *judgingFlags) validateJudging() error {
	if f.MaxUnusable < 0 {
		return fmt.Errorf("--max-unusable %d: must not be negative; 0 means no limit", f.MaxUnusable)
	}
	if f.JudgePatience < 0 {
		return fmt.Errorf("--judge-patience %s: must not be negative; 0 means up to %d requests", f.JudgePatience, llm.DefaultMaxAttempts)
	}
	var err error
	if f.asking, err = llm.ParseOptions(f.JudgeOption); err != nil {
		return fmt.Errorf("--judge-option: %w", err)
	}
	return nil
}

// validateMoney parses the flags. A price of --price replaces the file's, which replaces the
// program's. byDefault is the cap of the command.
func (m *moneyFlags) validateMoney(byDefault string) error {
	m.money = plan.Money{Prices: llm.DefaultPrices(), PricesDate: llm.PricesDate}
	if m.Prices != "" {
		file, err := llm.ReadPrices(m.Prices)
		if err != nil {
			return fmt.Errorf("--prices: %w", err)
		}
		maps.Copy(m.money.Prices, file.Prices)
		m.money.PricesDate = file.Date
	}
	for _, v := range m.Price {
		model, price, err := llm.ParsePrice(v)
		if err != nil {
			return fmt.Errorf("--price: %w", err)
		}
		m.money.Prices[model] = price
		m.money.Priced = append(m.money.Priced, model)
	}
	m.byDefault = byDefault
	var err error
	// MaxCostUSD itself stays empty, so that project.CheckTyped can refuse a flag without a
	// value.
	if m.money.Cap, err = llm.ParseCap(cmp.Or(m.MaxCostUSD, byDefault)); err != nil {
		return fmt.Errorf("--max-cost-usd (%s): %w", budgetVariable, err)
	}
	return nil
}

// validateMoney is moneyFlags.validateMoney.
func (m *daemonMoneyFlags) validateMoney(byDefault string) error {
	err := m.moneyFlags.validateMoney(byDefault)
	m.money.Unmetered = m.Unmetered
	return err
}

// budgetVariable is the environment variable of --max-cost-usd.
const budgetVariable = "SVC_EVAL_BUDGET_USD"

// The caps of commands, which also are in the tags of their flags. Those that ask thousands of
// questions have one that nobody must think of.
const (
	noCap     = "off"
	replayCap = "20"
)

// inheritedCap is the option of a journal or a ledger for a cap that no flag gave. A resume uses it
// unless a flag or the variable gives another one, so that no cap is lost.
const inheritedCap = "inherited-budget-usd"

// keepCap adds the cap to the options that are kept, unless a flag gave it.
func (m *moneyFlags) keepCap(options map[string]any, given bool) {
	if !given {
		options[inheritedCap] = cmp.Or(m.MaxCostUSD, m.byDefault)
	}
}

// inheritCap gives options that were kept the cap of a resumed command. last is the cap of the last
// process, nil if it had none or has left no ledger. Only the variable takes precedence, unless a
// flag ever gave a cap.
func inheritCap(options map[string]any, last *llm.USD, env func(string) string) {
	given := options["max-cost-usd"] != nil || options["budget-usd"] != nil
	switch {
	case !given && env(budgetVariable) != "":
	case last != nil:
		options["max-cost-usd"] = last.Exact()
	case !given:
		options["max-cost-usd"] = options[inheritedCap]
	}
}

// capOptions returns the options that a resumed command keeps of a cap, nil unless its command line
// gives it.
func (m *moneyFlags) capOptions(typed bool) json.RawMessage {
	if !typed {
		return nil
	}
	data, _ := json.Marshal(map[string]string{"max-cost-usd": m.MaxCostUSD}) // a string is always valid
	return data
}

// judgeFlags select the judge of a run. run and rescore have them.
type judgeFlags struct {
	LLMProvider string   `name:"llm-provider" hidden:"" env:"SVC_LLM_PROVIDER" placeholder:"NAME" help:"${about_llm_provider}"`
	Model       string   `aliases:"llm-model" empty:"" env:"SVC_LLM_MODEL" placeholder:"[PROVIDER/]MODEL" help:"${about_model}" group:"scoring"`
	Judge       string   `aliases:"judge-model" empty:"" env:"SVC_EVAL_JUDGE_MODEL" placeholder:"[PROVIDER/]MODEL" help:"${about_judge}" group:"scoring"`
	JudgePanel  []string `name:"judge-panel" sep:"," placeholder:"RECIPE" help:"Judge each answer by several recipes: strict, benchmark, generous, or files. The first is the headline." group:"advanced"`
	JudgeCache  string   `name:"judge-cache" placeholder:"DIR" help:"Folder in which replies of judges are kept for the same requests." group:"advanced"`
	JudgeRPS    float64  `name:"judge-rps" default:"20" placeholder:"N" help:"Maximum number of judge requests per second. 0: no limit (${default})." group:"advanced"`
	judgingFlags

	panel []judging.Recipe
}

// validateJudge checks the flags.
func (c *judgeFlags) validateJudge() error {
	if !(c.JudgeRPS >= 0) {
		return fmt.Errorf("--judge-rps %v: must not be negative; 0 means no limit", c.JudgeRPS)
	}
	if err := c.validateJudging(); err != nil {
		return err
	}
	err := judging.AbsoluteFiles(c.JudgePanel)
	if err != nil {
		return err
	}
	if c.panel, err = judging.Recipes(c.JudgePanel); err != nil {
		return fmt.Errorf("--judge-panel: %w", err)
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

// models returns the models that the flags name, with what they may cost.
func (c *judgeFlags) models(m plan.Money) plan.Models {
	return plan.Models{
		Provider: c.LLMProvider, Reader: c.Model, Judge: c.Judge, PerSecond: c.JudgeRPS, MaxUnusable: c.MaxUnusable,
		Options: c.asking, Patience: c.JudgePatience,
		Money: m, Panel: c.panel, CacheDir: c.JudgeCache,
	}
}
