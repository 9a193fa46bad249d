// Package judging prepares the judgement of answers by a language model: which model judges with
// which prompts, what that is likely to cost, and what it may cost at most.
package judging

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/redact"
	"evalctl/scorer"
)

// ordinaryAnswer is the length of an answer in estimates, in bytes.
const ordinaryAnswer = 400

// Config says how answers are judged.
type Config struct {
	Provider llm.Provider
	Model    string
	// BaseURL is the provider's URL, which is recorded in results. It must not contain credentials.
	BaseURL string
	// Prompts are those of all questions, unless ByType has prompts for each type of question.
	Prompts scorer.Prompts
	ByType  scorer.PromptSet
	// Recipe is the name of the recipe in a panel, and Others are the further ones, of which only
	// Recipe, Provider, Model, BaseURL, ByType, Temperature and PricesDate count. Both are empty for one
	// judge.
	Recipe string
	Others []Config
	// Temperature is that of requests, from 0 to 2. Options say how the model is asked, also at another
	// temperature or none.
	Temperature float64
	Options     llm.Options
	// Judged returns the items that the judge gets for one item. If it is nil, that is the item itself.
	Judged func(scorer.Item) []scorer.Item
	Prices llm.Prices
	// PricesDate is the day of the model's price, YYYY-MM-DD; empty if that is not known.
	PricesDate string
	// Capped is set if there is a limit on the cost. A model whose price is not known is then refused.
	Capped bool
	// Secrets are replaced in the verdicts of a check.
	Secrets []redact.Secret
}

// Client says how judges reach their models.
type Client struct {
	// Account admits the requests and keeps their books.
	Account llm.Account
	// Cached returns a provider that asks m only for replies that it does not have, which is at
	// baseURL. It is nil without a cache. llm.Cache.Wrap and llm.Cache.Refresh are two.
	Cached func(m *llm.Meter, baseURL string) llm.Provider
	// MaxUnusable is how many verdicts in a row may be unusable before a scorer returns
	// scorer.ErrUnusable; 0 is any number.
	MaxUnusable int
}

// Plan is a checked Config. Its methods may be called concurrently.
type Plan struct {
	config Config
	// meter and judge build requests and price them, and send none.
	meter *llm.Meter
	judge *scorer.Judge
	// others are the further judges of a panel.
	others []*Plan
}

// New checks c. It returns an error for prompts that cannot be used, and for a model whose price is
// not known if there is a cap.
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

// Panel returns the recipes of a panel, the headline first, and nil for one judge.
func (p *Plan) Panel() []result.Recipe {
	if len(p.others) == 0 {
		return nil
	}
	var out []result.Recipe
	for _, m := range p.members() {
		out = append(out, result.NewRecipe(m.config.Recipe, m.Identity()))
	}
	return out
}

// members returns the plans of all judges.
func (p *Plan) members() []*Plan { return append([]*Plan{p}, p.others...) }

// Open returns the judge, or the panel, as a scorer that stops with llm.ErrBudgetExceeded when the
// account admits no request. All judges of a panel share the account.
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

// Headline is Open for the judge, or the headline of a panel.
func (p *Plan) Headline(c Client) (*scorer.Judge, error) {
	_, j, err := p.opened(c)
	return j, err
}

// opened returns a judge and the meter that it calls.
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

// longestAnswer is how long an answer that is not known is in the worst case of an estimate, in
// bytes.
const longestAnswer = 8 << 10

// Longest returns an item whose answer is not known, with one that is as long as it may be.
func Longest(item scorer.Item) scorer.Item {
	item.Answer = strings.Repeat("x", longestAnswer)
	return item
}

// judged returns the items that the judge gets for an item.
func (p *Plan) judged(item scorer.Item) []scorer.Item {
	if p.config.Judged == nil {
		return []scorer.Item{item}
	}
	return p.config.Judged(item)
}

// Worst returns what judging item can cost at most, all attempts and the repair of a bad reply
// included, if no reply is cut. Those that are cut are asked for again with a higher limit, and an
// outage may charge more attempts: the cap also holds for them. It is 0 if the price is not known.
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

// WorstCall returns what the dearest single request of judging item can cost, without a repair. It is 0
// if the price is not known.
func (p *Plan) WorstCall(item scorer.Item) (most llm.USD) {
	for _, part := range p.judged(item) {
		for _, m := range p.members() {
			most = max(most, m.meter.WorstCase(m.judge.Request(part)))
		}
	}
	return most
}

// Estimate returns what judging item is likely to cost if its answer has an ordinary length. The
// item's own answer is ignored.
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

// Identity identifies the judge in results, or the headline of a panel.
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

// UnpricedModel returns the first model whose price is not known, else "". Its cost is missing from
// estimates and results.
func (p *Plan) UnpricedModel() string {
	for _, m := range p.members() {
		if _, ok := p.config.Prices.Of(m.config.Provider.Name(), m.config.Model); !ok {
			return m.config.Model
		}
	}
	return ""
}

// Free reports whether the judge is known to cost nothing.
func (p *Plan) Free() bool {
	return !slices.ContainsFunc(p.members(), func(m *Plan) bool {
		price, ok := p.config.Prices.Of(m.config.Provider.Name(), m.config.Model)
		return !ok || price != llm.Price{}
	})
}

// PricesDate returns the day of the models' prices, "" if the day or a price is not known, if they
// are of several days, and for models that cost nothing.
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
