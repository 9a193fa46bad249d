// Package judging prepares judging by a language model: the model and its prompts, and the likely
// and maximum cost.
package judging

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/redact"
	"evalctl/scorer"
)

// ordinaryAnswer is the assumed size of an answer in estimates, in bytes.
const ordinaryAnswer = 400

// Config says how answers are judged.
type Config struct {
	Provider llm.Provider
	Model    string
	// BaseURL is the provider's URL, recorded in results. It must not contain credentials.
	BaseURL string
	// Prompts apply to all questions unless ByType has prompts by question type.
	Prompts scorer.Prompts
	ByType  scorer.PromptSet
	// Recipe is the recipe's name in a panel. Others are the further recipes; only their Recipe,
	// Provider, Model, BaseURL, ByType, Temperature and PricesDate are used. Both are empty for a
	// single judge.
	Recipe string
	Others []Config
	// Temperature is the temperature of requests, from 0 to 2. Options configure how the model is
	// asked and may override or omit the temperature.
	Temperature float64
	Options     llm.Options
	// Judged returns the judge's items for one item. If nil, it is the item itself.
	Judged func(scorer.Item) []scorer.Item
	Prices llm.Prices
	// PricesDate is the date of the model's price, YYYY-MM-DD, empty if unknown.
	PricesDate string
	// Capped is set if the cost is limited. A model without a known price is then rejected.
	Capped bool
	// Secrets are redacted in a check's verdicts.
	Secrets []redact.Secret
}

// Client connects judges to their models.
type Client struct {
	// Account admits the requests and books their cost.
	Account llm.Account
	// Cached returns a caching provider that asks m, at baseURL, for missing replies: for example
	// llm.Cache.Wrap or llm.Cache.Refresh. It is nil without a cache.
	Cached func(m *llm.Meter, baseURL string) llm.Provider
	// MaxUnusable limits consecutive unusable verdicts before a scorer returns scorer.ErrUnusable;
	// 0 means no limit.
	MaxUnusable int
}

// Plan is a checked Config. Its methods are safe for concurrent use.
type Plan struct {
	config Config
	// meter and judge build and price requests without sending any.
	meter *llm.Meter
	judge *scorer.Judge
	// others are the other judges of a panel.
	others []*Plan
}

// New checks c. It returns an error for unusable prompts and, with a cap, for a model without a
// known price.
func New(c Config) (*Plan, error) {
	p := &Plan{config: c}
	var limit *llm.USD
	if c.Capped {
		limit = new(llm.USD)
	}
	var err error
	if p.meter, p.judge, err = p.opened(Client{Account: llm.NewAccount(limit)}); err != nil {
		return nil, err
	}
	for _, other := range c.Others {
		other.Judged, other.Prices, other.Capped, other.Others = c.Judged, c.Prices, c.Capped, nil
		member, err := New(other)
		if err != nil {
			return nil, fmt.Errorf("recipe %s: %w", other.Recipe, err)
		}
		p.others = append(p.others, member)
	}
	if len(p.others) > 0 {
		_, err = p.Open(Client{Account: llm.NewAccount(limit)})
	}
	return p, err
}

// Panel returns the recipes of a panel, the headline first, or nil for a single judge.
func (p *Plan) Panel() []result.Recipe {
	if len(p.others) == 0 {
		return nil
	}
	var out []result.Recipe
	for _, m := range p.members() {
		out = append(out, newRecipe(m.config.Recipe, m.Identity()))
	}
	return out
}

// members returns the plans of all judges.
func (p *Plan) members() []*Plan { return append([]*Plan{p}, p.others...) }

// Open returns the judge or panel as a scorer, which stops with llm.ErrBudgetExceeded when the
// account rejects a request. All judges of a panel share the account.
func (p *Plan) Open(c Client) (scorer.Scorer, error) {
	if len(p.others) == 0 {
		return p.Headline(c)
	}
	var members []scorer.Member
	for _, m := range p.members() {
		_, j, err := m.opened(c)
		if err != nil {
			return nil, fmt.Errorf("recipe %s: %w", m.config.Recipe, err)
		}
		members = append(members, scorer.Member{Recipe: m.config.Recipe, Judge: j})
	}
	return scorer.NewPanel(members...)
}

// Headline is Open for the judge, or for the headline of a panel.
func (p *Plan) Headline(c Client) (*scorer.Judge, error) {
	_, j, err := p.opened(c)
	return j, err
}

// opened returns a judge and its meter.
func (p *Plan) opened(c Client) (*llm.Meter, *scorer.Judge, error) {
	m, err := llm.NewAccountMeter(p.config.Provider, p.config.Prices, c.Account)
	if err == nil {
		err = m.CheckModel(p.config.Model)
	}
	if err != nil {
		return nil, nil, err
	}
	var provider llm.Provider = m
	if c.Cached != nil {
		provider = c.Cached(m, p.config.BaseURL)
	}
	var j *scorer.Judge
	if p.config.ByType != nil {
		j, err = scorer.NewTyped(provider, p.config.Model, p.config.ByType)
	} else {
		j, err = scorer.NewJudge(provider, p.config.Model, p.config.Prompts)
	}
	if err != nil {
		return nil, nil, err
	}
	j.LimitUnusable(c.MaxUnusable)
	j.SetTemperature(p.config.Temperature)
	j.SetOptions(p.config.Options)
	return m, j, nil
}

// longestAnswer is the size of an unknown answer in a worst-case estimate, in bytes.
const longestAnswer = 8 << 10

// Longest returns an item with an unknown answer replaced by one of the maximum length.
func Longest(item scorer.Item) scorer.Item {
	item.Answer = strings.Repeat("x", longestAnswer)
	return item
}

// judged returns the judge's items for an item.
func (p *Plan) judged(item scorer.Item) []scorer.Item {
	if p.config.Judged == nil {
		return []scorer.Item{item}
	}
	return p.config.Judged(item)
}

// Worst returns the maximum cost of judging item, including all attempts and the repair of a bad
// reply, if no reply is cut off. A reply that is cut off is requested again with a higher limit,
// and an outage may charge more attempts; the cap still holds for these. It is 0 if the price is
// unknown.
func (p *Plan) Worst(item scorer.Item) llm.USD {
	// A repair's request is longer by one reply, which costs less than another request.
	const requests = 3 * llm.DefaultMaxAttempts
	var sum llm.USD
	for _, part := range p.judged(item) {
		for _, m := range p.members() {
			sum = sum.Plus(m.meter.WorstCase(m.judge.Request(part)).Times(requests))
		}
	}
	return sum
}

// WorstCall returns the maximum cost of a single request for judging item, without a repair. It is
// 0 if the price is unknown.
func (p *Plan) WorstCall(item scorer.Item) (most llm.USD) {
	for _, part := range p.judged(item) {
		for _, m := range p.members() {
			most = max(most, m.meter.WorstCase(m.judge.Request(part)))
		}
	}
	return most
}

// Estimate returns the likely cost of judging item with an answer of ordinary length. The item's
// own answer is ignored.
func (p *Plan) Estimate(item scorer.Item) llm.USD {
	item.Answer = strings.Repeat("x", ordinaryAnswer)
	var sum llm.USD
	for _, part := range p.judged(item) {
		for _, m := range p.members() {
			sum = sum.Plus(m.meter.Likely(m.judge.Request(part)))
		}
	}
	return sum
}

// Identity identifies the judge or the panel's headline in results.
func (p *Plan) Identity() result.JudgeModel {
	id := result.JudgeModel{
		Provider: p.config.Provider.Name(), Model: p.config.Model, BaseURL: p.config.BaseURL,
		PromptVersion: p.config.Prompts.Name, PromptSHA256: p.config.Prompts.SHA256(),
	}
	if byType := p.config.ByType; byType != nil {
		id.PromptVersion, id.PromptSHA256 = byType.Name(), byType.SHA256()
	}
	options := p.config.Options
	if t, ok := options.Degrees(); ok {
		id.Temperature, options.Temperature = &t, ""
	} else if options.Temperature == "" && !llm.IsReasoningModel(p.config.Model) {
		id.Temperature = new(p.config.Temperature)
	}
	id.Options = options.String()
	return id
}

// UnpricedModel returns the first model without a known price, else "". Its cost is missing from
// estimates and results.
func (p *Plan) UnpricedModel() string {
	for _, m := range p.members() {
		if _, ok := p.config.Prices.Of(m.config.Provider.Name(), m.config.Model); !ok {
			return m.config.Model
		}
	}
	return ""
}

// Free reports whether the judge is known to be free of charge.
func (p *Plan) Free() bool {
	return !slices.ContainsFunc(p.members(), func(m *Plan) bool {
		price, ok := p.config.Prices.Of(m.config.Provider.Name(), m.config.Model)
		return !ok || price != llm.Price{}
	})
}

// PricesDate returns the date of the models' prices. It is "" if the date or a price is unknown, if
// the prices have different dates, and for models that are free.
func (p *Plan) PricesDate() string {
	var dates []string
	for _, m := range p.members() {
		price, ok := p.config.Prices.Of(m.config.Provider.Name(), m.config.Model)
		if !ok {
			return ""
		}
		if price != (llm.Price{}) && !slices.Contains(dates, m.config.PricesDate) {
			dates = append(dates, m.config.PricesDate)
		}
	}
	if len(dates) == 1 {
		return dates[0]
	}
	return ""
}

// newRecipe returns a recipe with its digest.
func newRecipe(name string, j result.JudgeModel) result.Recipe {
	j.PromptVersion = strings.TrimSpace(j.PromptVersion)
	data, err := json.Marshal(j)
	if err != nil {
		panic(fmt.Sprintf("encode a judge: %v", err)) // plain fields only
	}
	sum := sha256.Sum256(data)
	return result.Recipe{Name: name, SHA256: hex.EncodeToString(sum[:]), Judge: j}
}
